// One org, or one app of it: head, key figures, and a tab for each subject.
import { html } from '../app/view.js';
import { path } from '../app/router.js';
import { useApi } from '../app/data.js';
import { session, appsOf } from '../app/session.js';
import { withQuery } from '../app/api.js';
import { Bar, ErrorBox, NoPage, PageHead, Price, Stat, Stats, Status, Tabs, Time } from '../app/ui.js';
import { clock, exactMoney, money, number, percent, plain, today } from '../app/format.js';
import { Model } from './budgets-shared.js';
import { SpendTab } from './budgets-spend.js';
import { WhatIfTab } from './budgets-whatif.js';
import { AppsTab, AuditTab } from './budgets-lists.js';
import { CredentialsTab } from './budgets-credentials.js';
import { WebhooksTab } from './budgets-webhooks.js';

const TABS = [
  ['', 'Spend', SpendTab], ['what-if', 'What if', WhatIfTab], ['apps', 'Apps', AppsTab],
  ['credentials', 'Credentials', CredentialsTab], ['webhooks', 'Webhooks', WebhooksTab], ['audit', 'Audit', AuditTab],
];
const APP_TABS = new Set(['', 'credentials', 'audit']);

export function OrgPage({ org, app, tab = '' }) {
  const api = app ? path`/api/v1/orgs/${org}/apps/${app}` : path`/api/v1/orgs/${org}`;
  const href = app ? path`/budgets/${org}/apps/${app}` : path`/budgets/${org}`;
  const config = useApi(api);
  const date = config.data && today(config.data.timezone);
  // A range has an entry for a day without usage; the day by itself is not found.
  const page = useApi(date ? withQuery(`${api}/aggregates`, { from: date, to: date }) : null, { every: 15 });
  const day = { ...page, data: page.data?.items[0] };
  const budget = useApi(app ? null : withQuery('/api/v1/budgets', { org }), { every: 15 });
  // The server lists webhooks for administrators only; their address says so to others.
  const tabs = TABS.filter(([key]) => (app ? APP_TABS.has(key) : key !== 'webhooks' || tab === key || session.get().admin));
  const Tab = tabs.find(([key]) => key === tab)?.[2];
  const crumbs = [['Budgets', '/budgets'], ...(app ? [[plain(config.data?.org_name ?? org), path`/budgets/${org}`], ['Apps', path`/budgets/${org}/apps`]].slice(appsOf(session.get()).length ? 2 : 0) : [])];
  if (!Tab) return html`<${NoPage} path=${`${href}/${tab}`} home=${[app ?? org, href]} />`;
  if (config.error && !config.data) return html`<${PageHead} title=${app ?? org} crumbs=${crumbs} /><${ErrorBox} error=${config.error} retry=${config.reload} />`;
  const name = plain((app ? config.data?.app_name : config.data?.org_name) ?? app ?? org);
  const scope = { org, app, api, href, client: app ? [org, app] : [org], name, config: config.data, day, reload: () => { config.reload(); day.reload(); budget.reload(); } };
  return html`<${PageHead} title=${name} needs="admin" crumbs=${crumbs} sub=${config.data ? html`<code>${app ?? org}</code> · days end at midnight in ${config.data.timezone}, now ${clock(Date.now(), config.data.timezone)}` : ' '} />
    <${Figures} day=${day.data} budget=${budget.data?.items[0]} config=${config.data} isOrg=${!app} error=${page.error ?? budget.error} />
    ${[page, budget].map((one) => one.error && html`<${ErrorBox} error=${one.error} retry=${one.reload} />`)}
    <${Tabs} label="Views of the budget" items=${tabs.map(([key, label]) => [key ? `${href}/${key}` : href, label])} current=${tab ? `${href}/${tab}` : href} />
    ${config.data ? html`<${Tab} scope=${scope} />` : html`<div class="tab-space"></div>`}`;
}

function Figures({ day, budget, config, isOrg, error }) {
  const isLoading = (!day || !config) && !error;
  const current = day?.current_active_model;
  const used = day?.total_quota_pct;
  const isSpent = day && Object.values(day.models).every((one) => one.quota_status === 'EXCEEDED');
  return html`<${Stats}>
    <${Stat} label="Spent today" loading=${isLoading} value=${html`<span title=${exactMoney(day?.total_cost_usd_micros)}>${money(day?.total_cost_usd_micros)}</span>`}
      sub=${`of ${money(day?.total_quota_usd_micros)}${config?.quota_scope === 'APP' ? ', counted for each app' : ''}`}>
      ${day && html`<${Bar} used=${day.total_cost_usd_micros} max=${day.total_quota_usd_micros} label="Spend of the quota" />`}<//>
    <${Stat} label="Current model" loading=${isLoading} value=${isSpent ? html`<${Status} kind="bad">none left<//>` : current ? html`<${Model} label=${current} />` : '–'}
      sub=${isSpent ? 'every quota is spent' : day?.sticky_fallback_active ? html`fell back <${Time} at=${day.sticky?.activated_at} zone=${config?.timezone} />` : 'first of the chain with quota left'} />
    ${isOrg && html`<${Stat} label="Runs out" loading=${(isLoading || !budget) && !error} value=${isSpent ? 'Already' : budget?.projected_exhaustion_at ? clock(budget.projected_exhaustion_at, config?.timezone) : budget ? 'Not today' : '–'}
      kind=${isSpent ? 'bad' : budget?.projected_exhaustion_at ? 'warn' : ''} sub=${isSpent ? 'every quota is spent' : budget?.projected_exhaustion_at ? html`<${Time} at=${budget.projected_exhaustion_at} zone=${config?.timezone} />, at today's pace` : budget ? 'at today\'s pace' : 'not known: the request failed'} />`}
    <${Stat} label="Requests today" loading=${isLoading} value=${number(day?.totals.requests)}
      sub=${day?.totals.requests ? html`<${Price} micros=${day.total_cost_usd_micros / day.totals.requests} /> each on average` : 'none yet'} />
    <${Stat} label="Quota used" loading=${isLoading} kind=${used >= 100 ? 'bad' : used >= 80 ? 'warn' : ''} value=${percent(used)} sub=${day?.updated_at ? html`totals as of <${Time} at=${day.updated_at} zone=${config?.timezone} />` : 'no spend yet'} />
  <//>`;
}
