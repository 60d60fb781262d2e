// What the limits pages ask the API, how their addresses are built, and the levels from the nearest to the farthest.
import { html, useState, useLayoutEffect, useMemo } from '../app/view.js';
import { get, post } from '../app/api.js';
import { part, useQuery, Link } from '../app/router.js';
import { session, may, namespacesOf } from '../app/session.js';
import { createStore } from '../app/store.js';
import { live } from '../app/live.js';
import { Status } from '../app/ui.js';
import { readable, sameLimits } from './limits-rates.js';

/** The resource of limits that an entity has on all resources. */
export const ALL = '_default_';

export const useNamespace = () => useQuery('ns', namespacesOf(session.get())[0] ?? 'default');

/** A path of the API in a namespace: api`${ns}/entities/${id}`. */
export const api = (strings, ...parts) => `/v1/namespaces/${strings.reduce((all, text, i) => all + part(parts[i - 1]) + text)}`;

/** An address of these pages that stays in its namespace. */
export function to(ns, rest = '', query = {}) {
  const params = new URLSearchParams(Object.entries({ ns: ns === 'default' ? '' : ns, ...query }).filter(([, value]) => value));
  return `/limits${rest}${params.size ? `?${params}` : ''}`;
}
export const entityHref = (ns, id) => to(ns, `/entities/${part(id)}`);
export const resourceHref = (ns, name) => to(ns, `/resources/${part(name)}`);
export const editHref = (ns, level) => to(ns, '/edit', level);

/** Levels of limits, the nearest first: the first one that has limits applies as a whole. */
export function levelsOf(entity, resource) {
  return [
    entity && resource !== ALL && { level: 'entity', entity, resource },
    entity && { level: 'entity', entity, resource: ALL },
    resource !== ALL && { level: 'resource', resource },
    { level: 'system' },
  ].filter(Boolean);
}

/** The name of a level for people. */
export function levelName({ level, entity, resource }) {
  if (level === 'system') return 'The system';
  if (level === 'resource') return `Resource ${resource}`;
  return resource === ALL ? `${entity}, all resources` : `${entity} on ${resource}`;
}

/** The same in the middle of a sentence. */
export const levelPhrase = (level) => (level.level === 'entity' ? levelName(level) : levelName(level).replace(/^\w/, (letter) => letter.toLowerCase()));

/** What the API calls the level that limits come from, for people. */
export const SOURCES = {
  entity: 'entity on this resource', entity_default: 'entity, all resources', resource: 'resource', system: 'system', caller: 'request', built_in: 'built in',
};

/** The path of a level's limits. */
export function levelPath(ns, { level, entity, resource }) {
  if (level === 'system') return api`${ns}/limits/system`;
  return level === 'resource' ? api`${ns}/limits/resources/${resource}` : api`${ns}/limits/entities/${entity}/${resource}`;
}

/** The limits of each level, or null. The plan of removing them says it in one request; who may only read asks for each. */
async function read(ns, levels, signal) {
  if (!may(session.get(), `ns:${ns}`)) {
    return Promise.all(levels.map((level) => get(levelPath(ns, level), { signal }).catch((missing) => {
      if (missing.status === 404) return null;
      throw missing;
    })));
  }
  const plan = await post(api`${ns}/limits/plan`, { levels: levels.map((level) => ({ ...level, limits: null })), count: false }, { signal });
  return plan.changes.map((change) => change.before);
}

/** What the levels of an entity or a resource have now, the nearest first. */
export function useLadder(ns, entity, resource) {
  const [state, setState] = useState({ data: undefined, error: null });
  const [round, setRound] = useState(0);
  useLayoutEffect(() => {
    if (!resource) return undefined;
    const abort = new AbortController();
    const levels = levelsOf(entity, resource);
    setState({ data: undefined, error: null });
    read(ns, levels, abort.signal).then((now) => setState({ data: levels.map((level, i) => ({ ...level, now: now[i] })), error: null }))
      .catch((error) => { if (!abort.signal.aborted) setState({ data: undefined, error }); });
    return () => abort.abort();
  }, [ns, entity, resource, round]);
  return { ...state, reload: () => setRound((n) => n + 1) };
}

/** Limits as small labels. */
export const Limits = ({ limits }) => (limits?.length
  ? html`<span class="chips">${limits.map((limit) => html`<span class="chip" key=${limit.name}><b>${limit.name}</b> ${readable(limit)}</span>`)}</span>`
  : html`<span class="muted">none</span>`);

/** The last minutes of live rates, as they came. */
export const rates = createStore([]);
const KEPT = 120;
const keep = ({ tick }) => {
  const before = rates.get();
  if (tick?.limiter && tick.at !== before.at(-1)?.at) rates.set([...before, tick].slice(-KEPT));
};
live.subscribe(keep);
keep(live.get());

/**
 * What a tick says of a namespace: its `rows`, its sums, and `none`, the rate of a resource that is not among the rows: null when
 * the tick has only the busiest.
 */
export function ofNamespace(tick, ns) {
  const rows = tick.limiter.filter((row) => row.namespace === ns);
  const namespaces = tick.limiter_namespaces ?? [];
  const all = namespaces.find((row) => row.namespace === ns);
  const none = (all ? all.resources > rows.length : tick.limiter_totals?.namespaces > namespaces.length) ? null : 0;
  return { rows, none, granted: all ? all.granted_per_sec : none, refused: all ? all.refused_per_sec : none };
}

/** Live rates as a chart needs them; a pause of the connection is a gap. */
export function useHistory(ticks, ns, resource) {
  return useMemo(() => {
    const x = [];
    const granted = [];
    const refused = [];
    for (const tick of ticks) {
      const at = Date.parse(tick.at) / 1000;
      if (x.length && at - x.at(-1) > 10) { x.push(x.at(-1) + 5); granted.push(null); refused.push(null); }
      const all = ofNamespace(tick, ns);
      const row = all.rows.find((one) => one.resource === resource);
      x.push(at);
      granted.push(resource ? row?.granted_per_sec ?? all.none : all.granted);
      refused.push(resource ? row?.refused_per_sec ?? all.none : all.refused);
    }
    return { x, granted, refused };
  }, [ticks, ns, resource]);
}

/** The first level with limits; null: none, and an acquire is an error. */
export const inForce = (levels) => levels.find((one) => one.now?.limits?.length) ?? null;

/** levels: [{ level, entity, resource, now, was?, isDraft? }], the nearest first. */
export function Ladder({ ns, levels, edit = true }) {
  const applies = inForce(levels);
  return html`<ol class="ladder">
    ${levels.map((one, i) => html`<li key=${i} class=${`${one === applies ? 'applies' : ''} ${one.isDraft ? 'is-draft' : ''}`}>
      <div class="ladder-head"><b>${levelName(one)}</b>
        ${one.isDraft && html`<span class="tag">draft</span>`}
        ${one === applies ? html`<${Status} kind="good">applies<//>` : one.now?.limits?.length ? html`<span class="muted">not reached</span>` : null}
        ${edit && html`<${Link} class="ladder-edit" href=${editHref(ns, { level: one.level, entity: one.entity, resource: one.resource })}>${one.now ? 'Edit' : 'Set'}<//>`}</div>
      <${Limits} limits=${one.now?.limits} />
      ${one.now?.on_unavailable && html`<span class="muted"> while the store is unreachable: ${one.now.on_unavailable}</span>`}
      ${one.isDraft && !sameLimits(one.was?.limits, one.now?.limits) && html`<div class="was"><span class="muted">now</span> <${Limits} limits=${one.was?.limits} /></div>`}
    </li>`)}
  </ol>
  ${!applies && html`<p><${Status} kind="bad">No level has limits<//> <span class="muted">An acquire is an error and takes no tokens.</span></p>`}`;
}
