// Usage of the service by day, active users, and who uses most today, against their plans.
import { html, useMemo } from '../app/view.js';
import { useApi } from '../app/data.js';
import { withQuery } from '../app/api.js';
import { useRange } from '../app/range.js';
import { addDays, number, percent, dayName } from '../app/format.js';
import { Card, Stats, Stat, Num, Empty } from '../app/ui.js';
import { Link } from '../app/router.js';
import { DataTable } from '../app/table.js';
import { Chart } from '../app/chart.js';
import { Commands, weir } from '../app/command.js';
import { Against, userHref } from './practice-data.js';
import { Loaded, Name } from './shared.js';

const day = (secs) => new Date(secs * 1000).toISOString().slice(0, 10);
const noon = (date) => Date.parse(`${date}T12:00:00Z`) / 1000;

/** How today stands against the same day of last week. */
function since(days, field) {
  const [now, before] = [days.at(-1)?.[field], days.at(-8)?.[field]];
  if (now === undefined || !before) return 'so far';
  const change = ((now - before) / before) * 100;
  return `${change >= 0 ? '+' : '−'}${percent(Math.abs(change), 0)} on ${dayName(noon(days.at(-8).date) * 1000, 'UTC')}, so far`;
}

function Today({ days }) {
  const today = days.at(-1);
  const stat = (label, field) => html`<${Stat} label=${label} value=${html`<${Num} value=${today?.[field]} />`} sub=${since(days, field)} />`;
  return html`<${Stats} label=${`Today, ${today?.date}`}>${stat('Hints today', 'hints')}${stat('Executions today', 'executions')}${stat('Active users today', 'active_users')}
    <${Stat} label="Busiest day" value=${html`<${Num} value=${Math.max(0, ...days.map((one) => one.hints + one.executions))} />`} sub="actions on one day of the range" /><//>`;
}

const dateOf = (at) => `${dayName(at * 1000, 'UTC')} ${new Date(at * 1000).getUTCFullYear()}`;

function Charts({ days, zoom }) {
  const x = useMemo(() => days.map((one) => noon(one.date)), [days]);
  const of = (field) => days.map((one) => one[field]);
  const actions = useMemo(() => [
    { label: 'executions', values: of('executions'), color: 'series-1', kind: 'bar', stacked: true },
    { label: 'hints', values: of('hints'), color: 'series-2', kind: 'bar', stacked: true },
  ], [days]);
  const active = useMemo(() => [{ label: 'active users', values: of('active_users'), color: 'series-3', kind: 'bar' }], [days]);
  const common = { x, zone: 'UTC', xFormat: dateOf, xLabel: 'Day', format: number, onZoom: zoom, height: 220 };
  return html`<div class="columns">
    <${Card} title="Actions by day"><${Chart} ...${common} label="Hints and executions by day" unit="actions" series=${actions} /><//>
    <${Card} title="Active users by day"><${Chart} ...${common} label="Active users by day" unit="users" series=${active} /><//>
  </div>`;
}

function usageOf(row, action) {
  const usage = row.actions.find((one) => one.action === action);
  return usage ? html`<${Against} usage=${usage} />` : html`<span class="muted">–</span>`;
}

const topColumns = [
  { key: 'user', label: 'User', render: (row) => (row.name === null ? html`<code title="This user was deleted">${row.user_id}</code>` : html`<${Name} text=${row.name} max=${60} />`) },
  { key: 'total', label: 'Actions', align: 'right', sort: (row) => row.total, render: (row) => html`<span class="num">${number(row.total)}</span>` },
  { key: 'hints', label: 'Hints against the plan', align: 'right', render: (row) => usageOf(row, 'hint') },
  { key: 'executions', label: 'Executions against the plan', align: 'right', render: (row) => usageOf(row, 'execution') },
];

function TopUsers({ date }) {
  const { data, error, reload } = useApi(withQuery('/v1/practice/stats/top-users', { date }), { every: 30 });
  return html`<${Card} title="Most active today" sub=${`${date}; a refusal counts nothing`} actions=${html`<${Link} href="/practice/users">All users<//>`}>
    <${DataTable} id="top" label="users" columns=${topColumns} list=${{ items: data?.users, error, reload, loading: !data }} sort="-total" search=${false} rowKey=${(row) => row.user_id} href=${(row) => userHref(row.user_id)} skeletonRows=${4}
      empty=${{ title: 'Nobody did anything today yet', text: 'A job sums usage every few seconds.', command: weir('practice', 'usage', 'take', 'USER', 'hint') }} /><//>`;
}

export function Usage() {
  const range = useRange('30d');
  const from = range.isCustom ? day(range.fromSecs) : addDays(day(range.toSecs), -Math.max(1, Math.round((range.toSecs - range.fromSecs) / 86400)) + 1);
  const query = { from, to: range.isCustom ? day(range.toSecs) : undefined };
  const source = useApi(withQuery('/v1/practice/stats', query), { every: 30 });
  return html`<${Loaded} source=${source} lines=${4}>${(data) => html`
    <${Today} days=${data.days} />
    ${data.hints + data.executions === 0 && html`<${Card}><${Empty} title="No usage in this time" text="A user takes an action, and the plan decides." command=${weir('practice', 'usage', 'take', 'USER', 'hint')} /><//>`}
    ${data.hints + data.executions > 0 && html`<${Charts} days=${data.days} zoom=${range.zoom} />`}
    <${TopUsers} date=${data.to} />`}<//>
    <${Commands} command=${weir('practice', 'stats', '--from', from, ...(query.to ? ['--to', query.to] : []))} request=${{ path: withQuery('/v1/practice/stats', query) }} />`;
}
