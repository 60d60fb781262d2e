// One resource: its limits, live rate, usage, and the buckets that entities have on it.
import { html, useMemo } from '../app/view.js';
import { useApi, useList } from '../app/data.js';
import { Link, navigate } from '../app/router.js';
import { withQuery } from '../app/api.js';
import { useRange } from '../app/range.js';
import { act } from '../app/dialog.js';
import { PageHead, Card, Stats, Stat, Num, Bar, ErrorBox } from '../app/ui.js';
import { DataTable } from '../app/table.js';
import { number, compact, percent } from '../app/format.js';
import { weir } from '../app/command.js';
import { api, to, entityHref, editHref, useLadder, levelPath, Ladder } from './limits-data.js';
import { RateChart } from './limits-resources.js';
import { AuditTable } from './limits-audit.js';
import { Loaded } from './shared.js';

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

const columns = [
  { key: 'entity', label: 'Entity', sort: (row) => row.entity, render: (row) => row.entity },
  { key: 'left', label: 'Available now', render: (row) => html`<span class="chips">${row.limits.map((limit) => html`<span class="chip" key=${limit.name}><b>${limit.name}</b> ${number(limit.available)} of ${number(limit.capacity)}</span>`)}</span>` },
  { key: 'used', label: 'Taken', align: 'right', sort: used, render: (row) => html`<${Bar} used=${used(row)} max=${100} label=${`taken of the tightest limit of ${row.entity}`} text=${percent(used(row), 0)} />` },
];

function Capacity({ ns, name }) {
  const list = useList(api`${ns}/resources/${name}/capacity`, {}, { size: 20 });
  return html`<${Card} title="Buckets" sub="Entities that use the resource now">
    <${DataTable} id="buckets" label="buckets" columns=${columns} list=${list} rowKey=${(row) => row.entity} href=${(row) => entityHref(ns, row.entity)}
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
  return html`<${PageHead} title=${name} sub=${`Resource of the namespace ${ns}`} crumbs=${[['Limits', to(ns)]]} actions=${html`
      <${Link} class="button" href=${editHref(ns, { level: 'resource', resource: name })}>Edit limits<//>${hasLimits && html`<button type="button" onClick=${remove}>Remove limits…</button>`}`} />
    <${Totals} ns=${ns} name=${name} />
    <div class="columns wide-left">
      <${Card} title="Traffic" sub="Live"><${RateChart} ns=${ns} resource=${name} height=${200} /><//>
      <${Card} title="Limits" sub="For an entity without limits of its own"><${Loaded} source=${source}>${(levels) => html`<${Ladder} ns=${ns} levels=${levels} />`}<//><//>
    </div>
    <${Capacity} ns=${ns} name=${name} />
    <${OwnLimits} ns=${ns} name=${name} />
    <${Card} title="Changes"><${AuditTable} id="changes" ns=${ns} subject=${`$RESOURCE:${name}`} size=${10} /><//>`;
}
