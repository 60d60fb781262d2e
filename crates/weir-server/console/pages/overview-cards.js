// Cards of the overview: what needs attention, worst first; spend of the last days; requests per second as they come.
import { html, useMemo, useState } from '../app/view.js';
import { Link, path, useQuery } from '../app/router.js';
import { useApi } from '../app/data.js';
import { withQuery } from '../app/api.js';
import { hourSeries, hourTimes, wholeDay } from './budgets-shared.js';
import { Choice } from './shared.js';
import { Card, ErrorBox, Skeleton, Status, Time } from '../app/ui.js';
import { resourceHref } from './limits-data.js';
import { number, percent, plain, addDays, axisMoney, clock, dayName, money, MISSING } from '../app/format.js';
import { Chart } from '../app/chart.js';
import { createStore, useStore } from '../app/store.js';
import { live } from '../app/live.js';

const MANY = 6;
const REFUSED_SHARE = 0.05;

function findings({ store, jobs, keeper, limiter }) {
  const all = [];
  const add = (kind, text, href, more) => all.push({ kind, text, href, more });
  if (store && store.status !== 'ready') add('bad', `The store reports ${store.status.replaceAll('_', ' ')}`, '/settings');
  for (const name of jobs?.failed ?? []) add('bad', `Job ${name} failed`, '/settings/jobs');
  for (const org of keeper?.top ?? []) {
    if (org.status === 'EXCEEDED') add('bad', `${plain(org.org_name)} has spent every quota`, path`/budgets/${org.org_id}`);
  }
  if (keeper?.webhooks_failing) add('bad', `${number(keeper.webhooks_failing)} webhook${keeper.webhooks_failing > 1 ? 's' : ''} failing`, keeper.orgs === 1 && keeper.top[0] ? path`/budgets/${keeper.top[0].org_id}/webhooks` : '/budgets');
  for (const org of keeper?.top ?? []) {
    if (org.status === 'EXCEEDED' || org.used_pct < 80) continue;
    add('warn', `${plain(org.org_name)} is at ${percent(org.used_pct)}`, path`/budgets/${org.org_id}`,
      org.projected_exhaustion_at && html`runs out <${Time} at=${org.projected_exhaustion_at} zone=${org.timezone} />`);
  }
  for (const name of jobs?.late ?? []) add('warn', `Job ${name} is late`, '/settings/jobs');
  for (const one of limiter?.top ?? []) {
    const refused = one.refused / Math.max(1, one.granted + one.refused);
    if (refused > REFUSED_SHARE) add('warn', `${percent(refused * 100)} of requests to ${one.resource} are refused`, resourceHref(one.namespace, one.resource));
  }
  return all;
}

/** Only what the session sees is said to be in order. */
function AllWell({ data: { store, jobs, keeper, limiter } }) {
  const seen = [keeper && 'budgets', jobs && 'jobs', keeper && 'webhooks', limiter && 'requests', store && 'the store'].filter(Boolean);
  if (!seen.length) return html`<p>Your token's scopes reach none of the figures of this page.</p>`;
  const text = new Intl.ListFormat('en-GB').format(seen);
  return html`<p><${Status} kind="good">Nothing.<//> ${text[0].toUpperCase()}${text.slice(1)} ${text === 'the store' ? 'is' : 'are'} in order.</p>`;
}

const WORDS = { bad: 'now', warn: 'soon' };
export function Attention({ data }) {
  const [isWhole, setWhole] = useState(false);
  const all = data ? findings(data) : null;
  const shown = isWhole ? all : all?.slice(0, MANY);
  return html`<${Card} title="Needs attention" sub=${all?.length > shown?.length ? `${MANY} of ${all.length}` : undefined}
      actions=${all?.length > MANY && html`<button type="button" class="small" onClick=${() => setWhole(!isWhole)}>${isWhole ? 'Show fewer' : 'Show all'}</button>`}>
    ${!all && html`<ul class="rows">${[1, 2, 3].map(() => html`<li><${Skeleton} width="80%" /></li>`)}</ul>`}
    ${all?.length === 0 && html`<${AllWell} data=${data} />`}
    ${all?.length > 0 && html`<ul class="rows attention">${shown.map((one) => html`<li>
      <${Status} kind=${one.kind}>${WORDS[one.kind]}<//><span><${Link} href=${one.href}>${one.text}<//>${one.more && html`<span class="sub"> ${one.more}</span>`}</span></li>`)}</ul>`}
  <//>`;
}

const SHOWN = 7;
const dayAt = (date) => Date.parse(`${date}T00:00:00Z`) / 1000;

export function SpendByOrg({ orgs, total }) {
  const { x, series } = useMemo(() => {
    if (!orgs) return { series: [] };
    const size = orgs[0]?.last_14_days.length ?? 0;
    const biggest = [...orgs].map((org) => ({ org, sum: org.last_14_days.reduce((a, b) => a + b, 0) }))
      .filter(({ sum }) => sum > 0).sort((a, b) => b.sum - a.sum);
    const rest = biggest.slice(SHOWN);
    // Orgs of different zones meet by day: the last entry is each org's own today.
    const days = Array.from({ length: size }, (_, i) => dayAt(addDays(orgs[0].day, i - size + 1)));
    const all = biggest.slice(0, SHOWN).map(({ org }, i) => ({
      label: plain(org.org_name), kind: 'bar', color: `series-${i + 1}`, stacked: true, values: org.last_14_days,
    }));
    if (rest.length) {
      const values = days.map((_, i) => rest.reduce((sum, { org }) => sum + org.last_14_days[i], 0));
      all.push({ label: `${rest.length} more`, kind: 'bar', color: 'series-8', stacked: true, values });
    }
    return { x: biggest.length ? days : [], series: all };
  }, [orgs]);
  return html`<${Card} class="grow" title="Spend of 14 days" sub=${orgs?.length && total > orgs.length ? `The ${orgs.length} fullest budgets of ${number(total)}` : 'By org; the last day is today so far'}>
    <${Chart} label="Spend of 14 days by org" x=${x} series=${series} format=${axisMoney} exact=${money} unit="a day" zone="UTC" height=${288}
      xFormat=${(at) => dayName(at * 1000, 'UTC')} xLabel="Day" empty="No spend in the last 14 days" />
  <//>`;
}

/** Today of one of the fullest budgets, summed up hour by hour, against its quotas. */
export function Today({ orgs }) {
  const [asked, setOrg] = useQuery('org');
  const org = orgs?.find((one) => one.org_id === asked) ?? orgs?.[0];
  const api = org && path`/api/v1/orgs/${org.org_id}/aggregates`;
  const hours = useApi(org ? `${api}/${org.day}/hours` : null, { every: 60 });
  const day = useApi(org ? withQuery(api, { from: org.day, to: org.day }) : null, { every: 60 });
  const { x, series } = useMemo(() => {
    if (!hours.data || !org) return { x: orgs?.length === 0 ? [] : undefined, series: [] };
    const config = { model_ordering: org.models.map((one) => one.label), quotas: Object.fromEntries(org.models.map((one) => [one.label, one.quota_usd_micros])) };
    return { x: hourTimes(hours.data), series: hourSeries(hours.data, config, 'sum') };
  }, [hours.data, org?.org_id, orgs]);
  const sticky = day.data?.items[0]?.sticky;
  const marks = useMemo(() => (sticky ? [{ at: Date.parse(sticky.activated_at) / 1000 - 1800, label: `${clock(sticky.activated_at, org.timezone)} last to ${sticky.active_model_label}` }] : []), [sticky]);
  const error = hours.error ?? day.error;
  return html`<${Card} title="Today by the hour" class="with-tools" sub=${org ? html`Since midnight in ${org.timezone}, by model, against the quotas of <${Link} href=${path`/budgets/${org.org_id}`}>${plain(org.org_name)}<//>` : ' '}
      actions=${orgs?.length > 1 && html`<${Choice} label="Budget" value=${org.org_id} onChange=${setOrg} options=${orgs.map((one) => [one.org_id, plain(one.org_name)])} />`}>
    ${error && html`<${ErrorBox} error=${error} retry=${() => { hours.reload(); day.reload(); }} />`}
    ${(hours.data || !error) && html`<${Chart} label="Spend of today by the hour" x=${x} series=${series} marks=${marks} markLabel="last fallback" format=${axisMoney} exact=${money} unit="since midnight"
      zone=${org?.timezone} height=${220} xRange=${wholeDay} xLabel="Hour" xFormat=${(at) => `until ${clock(at * 1000 + 3600000, org.timezone)}`} empty="No spend today yet" />`}
  <//>`;
}

const KEEP_SECS = 300;
const GAP_SECS = 8;
const traffic = createStore([]);

function keep({ tick }) {
  const at = tick && Date.parse(tick.at) / 1000;
  const all = traffic.get();
  const last = all.at(-1);
  if (!at || !tick.limiter_totals || (last && at <= last.at)) return;
  const point = { at, granted: tick.limiter_totals.granted_per_sec, refused: tick.limiter_totals.refused_per_sec };
  // A lost connection is a gap in the chart, not a line across it.
  const gap = last && at - last.at > GAP_SECS ? [{ at: last.at + 1, granted: null, refused: null }] : [];
  traffic.set([...all, ...gap, point].filter((one) => one.at > at - KEEP_SECS));
}
keep(live.get());
live.subscribe(keep);

/** No more than a minute before the first reading: a new page is not an empty chart. */
const lastMinutes = () => {
  const now = Date.now() / 1000;
  return [Math.max(now - KEEP_SECS, Math.min(traffic.get()[0]?.at ?? now, now - 60)), now];
};
export const rate = (value) => (value === null || value === undefined ? MISSING : value.toLocaleString('en-US', { maximumFractionDigits: value < 1 ? 2 : value < 10 ? 1 : 0 }));

export function LiveTraffic() {
  const points = useStore(traffic);
  const { x, series } = useMemo(() => ({
    x: points.map((one) => one.at),
    series: [
      { label: 'granted', kind: 'area', color: 'accent', values: points.map((one) => one.granted) },
      { label: 'refused', kind: 'line', color: 'bad', dash: true, values: points.map((one) => one.refused) },
    ],
  }), [points]);
  const last = points.at(-1);
  return html`<${Card} title="Limiter, live" sub=${last?.granted !== null && last ? `${rate(last.granted)} granted and ${rate(last.refused)} refused per second now` : 'Waiting for the first values'}>
    <${Chart} label="Requests per second, live" x=${x} series=${series} format=${rate} unit="requests/s" height=${220} xRange=${lastMinutes}
      xFormat=${(at) => new Date(at * 1000).toLocaleTimeString('en-GB')} empty="Waiting for the first values" />
  <//>`;
}
