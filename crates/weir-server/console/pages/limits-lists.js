// Who changed what in a namespace, newest first; and the namespaces: tenants with their own entities, limits and usage.
import { html, useMemo, useState } from '../app/view.js';
import { useList } from '../app/data.js';
import { useQuery, Link } from '../app/router.js';
import { DataTable } from '../app/table.js';
import { Card, Time, Status, Field } from '../app/ui.js';
import { Choice, LongText } from './shared.js';
import { api, entityHref, resourceHref, Limits, to } from './limits-data.js';
import { act } from '../app/dialog.js';
import { weir } from '../app/command.js';

/** What a subject of an event is, with a link where it has a page. */
export function Subject({ ns, event }) {
  const { subject } = event;
  if (subject === '$SYSTEM') return html`the system`;
  if (subject.startsWith('$RESOURCE:')) return html`<${Link} href=${resourceHref(ns, subject.slice(10))}>${subject.slice(10)}<//>`;
  if (event.action.startsWith('namespace')) return html`<bdi>${subject}</bdi>`;
  return html`<${Link} href=${entityHref(ns, subject)}>${subject}<//>${event.resource && html` <span class="muted">on ${event.resource === '_default_' ? 'all resources' : event.resource}</span>`}`;
}

/** The values that differ between before and after, by name. */
export function differences(before, after) {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  names.delete('version');
  return [...names].map((name) => [name, before?.[name] ?? null, after?.[name] ?? null])
    .filter(([, old, now]) => JSON.stringify(old) !== JSON.stringify(now));
}

function Value({ value }) {
  if (value === null) return html`<span class="muted">none</span>`;
  if (Array.isArray(value) && value.every((one) => one.refill_period_seconds)) return html`<${Limits} limits=${value} />`;
  return html`<${LongText} text=${typeof value === 'string' ? value : JSON.stringify(value)} shown=${160} />`;
}

export const Change = ({ event }) => html`<div class="change">${differences(event.before, event.after).map(([name, old, now]) => html`<div key=${name}>
  <span class="muted">${name}</span> ${event.before && html`<${Value} value=${old} /> <span aria-label="becomes">→</span> `}<${Value} value=${now} /></div>`)}</div>`;

const columns = (ns) => [
  { key: 'at', label: 'When', render: (row) => html`<${Time} at=${row.at} />` },
  { key: 'action', label: 'Action', render: (row) => row.action.replaceAll('_', ' ') },
  { key: 'subject', label: 'Subject', render: (row) => html`<${Subject} ns=${ns} event=${row} />` },
  { key: 'change', label: 'Change', render: (row) => html`<${Change} event=${row} />` },
  { key: 'principal', label: 'By', render: (row) => html`<bdi>${row.principal}</bdi>` },
];

/** The events of a namespace, or of one subject. */
export function AuditTable({ ns, subject, id = 'audit', size = 25 }) {
  const list = useList(api`${ns}/audit`, { entity: subject }, { size });
  const table = useMemo(() => columns(ns).filter((column) => !subject || column.key !== 'subject'), [ns, subject]);
  return html`<${DataTable} id=${id} label="changes" columns=${table} list=${list} search=${!subject}
    empty=${{ title: 'No change in the last 90 days', text: 'Changes of entities, limits and namespaces, and resets of buckets are listed here with who made them.', command: weir('limiter', 'limits', 'set', '--resource', 'gpt-4', '--limit', 'rpm=100/min', '--namespace', ns) }} />`;
}

export function Audit({ ns }) {
  const [of, setOf] = useQuery('of');
  const all = [['', 'everything'], ['$SYSTEM', 'limits of the system']];
  return html`<${Card}><div class="table-bar"><${Choice} label="Changes of" value=${of} onChange=${setOf} options=${all.some(([key]) => key === of) ? all : [...all, [of, of]]} /></div>
    <${AuditTable} key=${of} ns=${ns} subject=${of || undefined} /><//>`;
}

/** The namespace of the API's own rate limits: an administrator changes limits in it, and never deletes it. */
const OWN = 'weir-api';
const KINDS = { active: 'good', deleted: 'idle', purging: 'warn' };
const remove = (name) => act({
  title: `Delete the namespace ${name}?`, danger: true, button: 'Delete', typeName: name, done: `${name} was deleted`,
  text: 'Every acquire in it is refused from now on. It can be recovered with everything in it until it is purged.',
  request: { method: 'DELETE', path: api`${name}` }, command: weir('limiter', 'namespace', 'delete', name),
});
const recover = (name) => act({
  title: `Recover the namespace ${name}?`, button: 'Recover', done: `${name} is active again`,
  text: 'It comes back with its entities, limits and usage.',
  request: { method: 'POST', path: api`${name}/recover` }, command: weir('limiter', 'namespace', 'recover', name),
});

function Create({ onDone }) {
  const [name, setName] = useState('');
  const create = async (event) => {
    event.preventDefault();
    const made = await act({ title: `Create the namespace ${name}?`, button: 'Create', done: `${name} was created`,
      text: 'It starts empty: it has no limits until you set them.', request: { method: 'PUT', path: api`${name}` }, command: weir('limiter', 'namespace', 'create', name) });
    if (made !== undefined) { setName(''); onDone(); }
  };
  return html`<form class="inline-form" onSubmit=${create}><${Field} id="new-namespace" label="New namespace">
    <input id="new-namespace" value=${name} required pattern="[A-Za-z0-9][A-Za-z0-9_.\\-]*" maxlength="64" placeholder="acme" onInput=${(event) => setName(event.target.value)} /><//>
    <button type="submit">Create</button></form>`;
}

export function Namespaces() {
  const list = useList('/v1/namespaces', {}, { size: 100 });
  const then = async (asked) => { if (await asked !== undefined) list.reload(); };
  const columns = useMemo(() => [
    { key: 'name', label: 'Namespace', sort: (row) => row.name, render: (row) => (row.state === 'active' ? html`<${Link} href=${to(row.name)}>${row.name}<//>${row.name === OWN && html` <span class="tag" title="The rate limits of this API itself">of the API</span>`}` : row.name) },
    { key: 'state', label: 'State', sort: (row) => row.state, render: (row) => html`<${Status} kind=${KINDS[row.state]}>${row.state}<//>` },
    { key: 'created', label: 'Created', sort: (row) => row.created_at, render: (row) => html`<${Time} at=${row.created_at} />` },
    { key: 'deleted', label: 'Deleted', render: (row) => html`<${Time} at=${row.deleted_at} />` },
    { key: 'do', label: '', align: 'right', render: (row) => html`
      ${row.state === 'active' && row.name !== 'default' && row.name !== OWN && html`<button type="button" class="small" onClick=${() => then(remove(row.name))}>Delete…</button>`}
      ${row.state === 'deleted' && html`<button type="button" class="small" onClick=${() => then(recover(row.name))}>Recover…</button>`}` },
  ], []);
  return html`<${Card}><${DataTable} id="namespaces" label="namespaces" columns=${columns} list=${list} sort="name" rowKey=${(row) => row.id} actions=${html`<${Create} onDone=${list.reload} />`} /><//>`;
}
