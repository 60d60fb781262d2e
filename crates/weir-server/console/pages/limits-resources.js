// The resources of a namespace: their limits, and what is granted and refused now; and one of them with its buckets.
import { html, useMemo } from '../app/view.js';
import { useStore } from '../app/store.js';
import { useLive } from '../app/live.js';
import { useApi, useList } from '../app/data.js';
import { Card, Stats, Stat, Num, PageHead, ErrorBox, Bar, Button, NotKnown } from '../app/ui.js';
import { Link, navigate } from '../app/router.js';
import { DataTable } from '../app/table.js';
import { Chart } from '../app/chart.js';
import { weir } from '../app/command.js';
import { share, number, compact, percent } from '../app/format.js';
import { api, ofNamespace, rates, useHistory, useLadder, resourceHref, editHref, Limits, to, entityHref, levelPath, Ladder } from './limits-data.js';
import { Loaded } from './shared.js';
import { withQuery } from '../app/api.js';
import { useRange } from '../app/range.js';
import { act } from '../app/dialog.js';
import { AuditTable } from './limits-lists.js';

export const perSecond = (value) => (value === undefined || value === null ? '–' : value.toLocaleString('en-US', { maximumFractionDigits: value < 1 ? 2 : value < 10 ? 1 : 0 }));

/** At most the last three minutes, and no more than a minute before the first reading: a new page is not an empty chart. */
const lastMinutes = () => {
  const now = Date.now() / 1000;
  const first = Date.parse(rates.get()[0]?.at) / 1000 || now;
  return [Math.max(now - 180, Math.min(first, now - 60)), now];
};

/** Granted and refused requests a second over the last minutes. */
export function RateChart({ ns, resource, height = 180 }) {
  const ticks = useStore(rates);
  const { x, granted, refused } = useHistory(ticks, ns, resource);
  return html`<${Chart} label=${`Requests a second${resource ? ` of ${resource}` : ''}, live`} unit="requests / s" height=${height} x=${x} format=${perSecond}
    empty="Waiting for the first reading" xRange=${lastMinutes} series=${[
    { label: 'granted', values: granted, color: 'accent', kind: 'area' },
    { label: 'refused', values: refused, color: 'bad', kind: 'area' },
  ]} />`;
}

/** Limits of a resource in a list: one request for a row that is shown. */
function RowLimits({ ns, name }) {
  const { data, error } = useApi(api`${ns}/limits/resources/${name}`);
  if (error && !data) return html`<${NotKnown} error=${error} />`;
  return data ? html`<${Limits} limits=${data.limits} />` : html`<span class="muted">…</span>`;
}

/** Resources with limits, and those that are used without any of their own. */
export function rowsOf(names, { rows, none }) {
  const live = new Map(rows.map((row) => [row.resource, row]));
  const all = new Set([...names, ...live.keys()]);
  return [...all].sort().map((name) => ({
    id: name, hasLimits: names.includes(name), granted: live.get(name)?.granted_per_sec ?? none, refused: live.get(name)?.refused_per_sec ?? none,
  }));
}

const columns = (ns) => [
  { key: 'resource', label: 'Resource', sort: (row) => row.id, render: (row) => row.id },
  { key: 'limits', label: 'Limits', render: (row) => (row.hasLimits ? html`<${RowLimits} ns=${ns} name=${row.id} />` : html`<span class="muted">those of the system</span>`) },
  { key: 'granted', label: 'Granted / s', align: 'right', sort: (row) => row.granted, render: (row) => html`<span class="num">${perSecond(row.granted)}</span>` },
  { key: 'refused', label: 'Refused / s', align: 'right', sort: (row) => row.refused, render: (row) => html`<span class=${`num ${row.refused > 0 ? 'bad-text' : ''}`}>${perSecond(row.refused)}</span>` },
  { key: 'share', label: 'Refused', align: 'right', sort: (row) => row.refused / (row.granted + row.refused || 1), render: (row) => html`<span class="num">${share(row.refused, row.granted + row.refused)}</span>` },
];

function SystemLimits({ ns }) {
  const source = useLadder(ns, null, '_default_');
  return html`<${Card} title="Limits of the system" sub="They apply where no entity and no resource has limits" actions=${html`<${Link} class="button" href=${editHref(ns, { level: 'system' })}>Edit<//>`}>
    <${Loaded} source=${source} lines=${1}>${([system]) => html`<${Limits} limits=${system.now?.limits} />`}<//>
  <//>`;
}

export function Resources({ ns }) {
  const { tick } = useLive();
  const names = useApi(api`${ns}/resources`);
  const limiter = useMemo(() => ofNamespace(tick ?? { limiter: [] }, ns), [tick, ns]);
  const rows = useMemo(() => names.data && rowsOf(names.data.items, limiter), [names.data, limiter]);
  const { granted, refused } = limiter;
  const table = useMemo(() => columns(ns), [ns]);
  return html`<${Stats}>
      <${Stat} label="Granted now" value=${perSecond(granted)} sub="requests a second" loading=${!tick} />
      <${Stat} label="Refused now" value=${perSecond(refused)} sub=${refused ? `${share(refused, granted + refused)} of requests` : refused === null ? 'not known: others are busier' : 'no request is refused'} kind=${refused > 0 ? 'bad' : ''} loading=${!tick} />
      <${Stat} label="Resources" value=${html`<${Num} value=${rows?.length} />`} sub=${`${names.data?.items.length ?? '–'} with limits of their own`} loading=${!rows && !names.error} />
    <//>
    <${Card} title="Traffic" sub="Live, all resources of the namespace"><${RateChart} ns=${ns} /><//>
    <${Card}><${DataTable} id="resources" label="resources" columns=${table} list=${{ ...names, items: rows }} sort="resource" href=${(row) => resourceHref(ns, row.id)}
      actions=${html`<${Link} class="button" href=${editHref(ns, { level: 'resource' })}>Set limits of a resource<//>`}
      empty=${{ title: 'No resource has limits yet', text: 'A resource is what is limited, for example a model. Set its limits, and every entity gets a bucket of its own.', command: weir('limiter', 'limits', 'set', '--namespace', ns, '--resource', 'gpt-4', '--limit', 'rpm=100/min') }} /><//>
    <${SystemLimits} ns=${ns} />`;
}

function Totals({ ns, name }) {
  const range = useRange('24h');
  const { data, error, reload } = useApi(withQuery(api`${ns}/usage/summary`, { resource: name, window: 'hourly', from: range.from, to: range.to }));
  const limits = Object.keys(data?.total ?? {}).sort();
  if (error && !data) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  return html`<${Stats} label="Usage">
    <${Stat} label="Requests" value=${html`<${Num} value=${data?.events} short />`} sub=${range.label} loading=${!data} />
    ${limits.map((limit) => html`<${Stat} key=${limit} label=${`${limit} used`} value=${html`<${Num} value=${data.total[limit]} short />`} sub=${`at most ${compact(data.peak[limit])} in an hour`} />`)}
  <//>`;
}

/** A bucket's tightest limit says how full it is. */
const used = (bucket) => Math.max(0, ...bucket.limits.map((limit) => 1 - limit.available / limit.capacity)) * 100;

const BUCKETS = [
  { key: 'entity', label: 'Entity', sort: (row) => row.entity, render: (row) => row.entity },
  { key: 'left', label: 'Available now', render: (row) => html`<span class="chips">${row.limits.map((limit) => html`<span class="chip" key=${limit.name}><b>${limit.name}</b> ${number(limit.available)} of ${number(limit.capacity)}</span>`)}</span>` },
  { key: 'used', label: 'Taken', align: 'right', sort: used, render: (row) => html`<${Bar} used=${used(row)} max=${100} label=${`taken of the tightest limit of ${row.entity}`} text=${percent(used(row), 0)} />` },
];

function Capacity({ ns, name }) {
  const list = useList(api`${ns}/resources/${name}/capacity`, {}, { size: 20 });
  return html`<${Card} title="Buckets" sub="Entities that use the resource now">
    <${DataTable} id="buckets" label="buckets" columns=${BUCKETS} list=${list} rowKey=${(row) => row.entity} href=${(row) => entityHref(ns, row.entity)}
      empty=${{ title: 'No bucket yet', text: 'A bucket exists from the first acquire on the resource.', command: weir('limiter', 'acquire', 'user-1', name, '--take', 'rpm=1', '--namespace', ns) }} /><//>`;
}

function OwnLimits({ ns, name }) {
  const list = useList(api`${ns}/limits/entities`, { resource: name }, { size: 20 });
  const items = useMemo(() => list.items?.map((id) => ({ id })), [list.items]);
  const table = useMemo(() => [{ key: 'id', label: 'Entity', sort: (row) => row.id, render: (row) => row.id },
    { key: 'edit', label: '', align: 'right', render: (row) => html`<${Link} href=${editHref(ns, { level: 'entity', entity: row.id, resource: name })}>Edit<//>` }], [ns, name]);
  return html`<${Card} title="Entities with limits of their own" sub="They do not follow the limits of the resource">
    <${DataTable} id="own" label="entities" columns=${table} list=${{ ...list, items }} href=${(row) => entityHref(ns, row.id)} search=${false}
      empty=${{ title: 'None: every entity follows the resource', command: weir('limiter', 'limits', 'set', '--entity', 'user-1', '--resource', name, '--limit', 'rpm=5/s', '--namespace', ns) }} /><//>`;
}

export function Resource({ ns, name }) {
  const source = useLadder(ns, null, name);
  const remove = async () => {
    const done = await act({ title: `Remove the limits of ${name}?`, danger: true, button: 'Remove', typeName: name, done: `The limits of ${name} were removed`,
      text: 'Entities without limits of their own follow the system then. If the system has none, their acquires are errors.',
      request: { method: 'DELETE', path: levelPath(ns, { level: 'resource', resource: name }) }, command: weir('limiter', 'limits', 'delete', '--resource', name, '--namespace', ns) });
    if (done !== undefined) navigate(to(ns));
  };
  const hasLimits = Boolean(source.data?.[0].now);
  return html`<${PageHead} title=${name} sub=${`Resource of the namespace ${ns}`} crumbs=${[['Limits', to(ns)]]} needs=${`ns:${ns}`} actions=${html`
      <${Link} class="button" href=${editHref(ns, { level: 'resource', resource: name })}>Edit limits<//>${hasLimits && html`<${Button} needs=${`ns:${ns}`} onClick=${remove}>Remove limits…<//>`}`} />
    <${Totals} ns=${ns} name=${name} />
    <div class="columns wide-left">
      <${Card} title="Traffic" sub="Live"><${RateChart} ns=${ns} resource=${name} height=${200} /><//>
      <${Card} title="Limits" sub="For an entity without limits of its own"><${Loaded} source=${source}>${(levels) => html`<${Ladder} ns=${ns} levels=${levels} />`}<//><//>
    </div>
    <${Capacity} ns=${ns} name=${name} />
    <${OwnLimits} ns=${ns} name=${name} />
    <${Card} title="Changes"><${AuditTable} id="changes" ns=${ns} subject=${`$RESOURCE:${name}`} size=${10} /><//>`;
}
