// Is anything wrong, and what does today cost?
import { html, useMemo } from '../app/view.js';
import { Link, path } from '../app/router.js';
import { useApi } from '../app/data.js';
import { useLive } from '../app/live.js';
import { DataTable } from '../app/table.js';
import { Bar, Card, Empty, ErrorBox, Money, Num, PageHead, Skeleton, Stat, Stats, Status, Time } from '../app/ui.js';
import { bytes, compact, count, duration, exactMoney, money, number, percent, plain, share, today, weekday } from '../app/format.js';
import { Attention, LiveTraffic, rate, SpendByOrg, Today } from './overview-cards.js';
import { ofNamespace, resourceHref } from './limits-data.js';
import { Model, ModelBar, budgetStatus } from './budgets-shared.js';

export default function Overview() {
  const { data, error, reload, loading } = useApi('/v1/overview', { every: 15 });
  if (error && !data) return html`<${PageHead} title="Overview" /><${ErrorBox} error=${error} retry=${reload} />`;
  const { keeper, limiter } = data ?? {};
  const isLoading = loading && !data;
  return html`<${PageHead} title="Overview" sub=${data ? html`Today so far, as of <${Time} at=${data.at} />` : 'Today so far'} />
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    <${Figures} data=${data} isLoading=${isLoading} />
    ${(isLoading || keeper) && html`<div class="columns wide-left">
      <div class="stack">
        <${Card} title="Budgets today" sub="The fullest first, by model" actions=${html`<${Link} href="/budgets">All budgets<//>`}>
          <${Budgets} orgs=${keeper?.top} total=${keeper?.orgs} />
        <//>
        <${Today} orgs=${keeper?.top} />
        <${SpendByOrg} orgs=${keeper?.top} total=${keeper?.orgs} />
      </div>
      <div class="stack">
        <${Attention} data=${data} />
        <${Card} title="Models today" sub="All orgs together"><${Models} models=${keeper?.models} /><//>
        ${(isLoading || limiter) && html`<${LiveTraffic} />`}
      </div>
    </div>`}
    ${!isLoading && !keeper && html`<${Attention} data=${data} />${limiter && html`<${LiveTraffic} />`}`}
    ${limiter && html`<${Resources} limiter=${limiter} />`}`;
}

/** Today so far against the whole of the same day a week ago. */
function since({ spent_usd_micros: now, spent_7_days_ago_usd_micros: before }) {
  const day = weekday(today());
  if (!before) return `no spend last ${day}`;
  return `${now >= before ? '+' : '−'}${percent((Math.abs(now - before) / before) * 100, 0)} on last ${day}`;
}

function Figures({ data, isLoading }) {
  const { keeper, limiter, jobs, store } = data ?? {};
  const bad = (jobs?.failed.length ?? 0) + (jobs?.late.length ?? 0);
  const asked = limiter && limiter.granted + limiter.refused;
  return html`<${Stats}>
    ${(isLoading || keeper) && html`<${Stat} label="Spend today" href="/budgets" loading=${isLoading}
      value=${html`<span title=${exactMoney(keeper?.spent_usd_micros)}>${money(keeper?.spent_usd_micros)}</span>`}
      sub=${keeper && html`of ${money(keeper.quota_usd_micros)} · <span title=${`last ${weekday(today())}, the whole day: ${money(keeper.spent_7_days_ago_usd_micros)}`}>${since(keeper)}</span>`}>
      ${keeper && html`<${Bar} used=${keeper.spent_usd_micros} max=${keeper.quota_usd_micros} label="Spend of all quotas" />`}<//>`}
    ${(isLoading || limiter) && html`<${Stat} label="Requests to the limiter" href="/limits" loading=${isLoading} value=${html`<span title=${number(asked)}>${compact(asked)}</span>`}
      sub=${limiter && html`${asked ? share(limiter.refused, asked) : 'none'} refused · since <${Time} at=${limiter.since} />`} />`}
    ${(isLoading || keeper) && html`<${Stat} label="Budgets above 80 %" href="/budgets?state=tight" loading=${isLoading}
      kind=${keeper?.above_80_pct ? 'warn' : ''} value=${number(keeper?.above_80_pct)}
      sub=${keeper && `of ${number(keeper.orgs)}${keeper.is_complete ? '' : '+'} · ${number(keeper.exceeded)} spent in full`} />`}
    ${jobs && html`<${Stat} label="Background jobs" href="/settings/jobs" kind=${bad ? 'warn' : ''} value=${bad ? `${bad} behind` : 'All current'}
      sub=${`${number(jobs.total)} jobs · ${jobs.failed.length} failed · ${jobs.late.length} late`} />`}
    ${store && html`<${Stat} label="Store" href="/settings" kind=${store.status === 'ready' ? '' : 'bad'} value=${store.status === 'ready' ? duration(store.latency_ms) : store.status.replaceAll('_', ' ')}
      sub=${store.detail ?? (store.disk_free_bytes === undefined ? store.backend : `${store.backend} · ${bytes(store.disk_free_bytes)} free`)} />`}
  <//>`;
}

const COLUMNS = [
  { key: 'org', label: 'Org', render: (row) => html`<span class="clip" title=${plain(row.org_name)}>${plain(row.org_name)}</span>` },
  { key: 'bar', label: 'Spend by model', render: (row) => html`<${ModelBar} org=${row} />` },
  { key: 'spent', label: 'Spent', align: 'right', phone: false, render: (row) => html`<${Money} micros=${row.spent_usd_micros} />` },
  { key: 'quota', label: 'Quota', align: 'right', phone: false, render: (row) => html`<${Money} micros=${row.quota_usd_micros} />` },
  { key: 'used', label: 'Used', align: 'right', render: (row) => html`<${Status} ...${budgetStatus(row)}>${percent(row.used_pct)}<//>` },
];
const Budgets = ({ orgs, total }) => html`<${DataTable} id="top" label="budgets" search=${false} foot=${false} columns=${COLUMNS} items=${orgs}
  skeletonRows=${8} rowKey=${(row) => row.org_id} href=${(row) => path`/budgets/${row.org_id}`}
  empty=${total ? { title: 'No spend today yet', text: `${count(total, 'budgets')} without a request.` } : { title: 'No budgets yet', text: 'An org has a chain of models with a daily quota for each.', command: 'weir keeper org apply org.yaml' }} />`;

function Models({ models }) {
  if (!models) return html`<${Skeleton} width="80%" />`;
  if (!models.length) return html`<${Empty} title="No spend today" />`;
  return html`<ul class="rows">${[...models].sort((a, b) => b.spent_usd_micros - a.spent_usd_micros).map((one) => html`<li>
    <div class="row-line"><${Model} label=${one.label} /><span class="muted"><${Money} micros=${one.spent_usd_micros} /> of <${Money} micros=${one.quota_usd_micros} /></span></div>
    <${Bar} used=${one.spent_usd_micros} max=${one.quota_usd_micros} label=${`Quota of ${one.label}`} />
  </li>`)}</ul>`;
}

const RESOURCES = [
  { key: 'resource', label: 'Resource', render: (row) => row.resource },
  { key: 'namespace', label: 'Namespace', render: (row) => row.namespace },
  { key: 'now', label: 'Granted/s now', align: 'right', render: (row) => rate(row.now?.granted_per_sec) },
  { key: 'refused-now', label: 'Refused/s now', align: 'right', render: (row) => rate(row.now?.refused_per_sec) },
  { key: 'asked', label: 'Requests', align: 'right', render: (row) => html`<${Num} value=${row.granted + row.refused} />` },
  { key: 'refused', label: 'Refused', align: 'right', render: (row) => html`<${Num} value=${row.refused} />` },
  { key: 'share', label: 'Refused %', align: 'right', render: (row) => share(row.refused, row.granted + row.refused) },
];
function rowNow(tick, { namespace, resource }) {
  const { rows, none } = ofNamespace(tick, namespace);
  return rows.find((one) => one.resource === resource) ?? { granted_per_sec: none, refused_per_sec: none };
}

function Resources({ limiter }) {
  const { tick } = useLive();
  const rows = useMemo(() => limiter.top.slice(0, 7).map((row) => ({
    ...row, now: tick && rowNow(tick, row),
  })), [limiter, tick]);
  return html`<${Card} title="Busiest resources" sub=${html`Counted since <${Time} at=${limiter.since} />`} actions=${html`<${Link} href="/limits">All limits<//>`}>
    <${DataTable} id="resources" label="resources" search=${false} foot=${false} columns=${RESOURCES} items=${rows}
      rowKey=${(row) => `${row.namespace}/${row.resource}`} href=${(row) => resourceHref(row.namespace, row.resource)}
      empty=${{ title: 'No requests yet', text: 'A program takes tokens before it calls a resource.', command: 'weir limiter acquire user-1 gpt-4 --take rpm=1' }} /><//>`;
}
