// Who changed what: entities, limits, buckets and namespaces, newest first.
import { html, useMemo } from '../app/view.js';
import { useList } from '../app/data.js';
import { useQuery, Link } from '../app/router.js';
import { DataTable } from '../app/table.js';
import { Card, Time } from '../app/ui.js';
import { Choice, LongText } from './shared.js';
import { api, entityHref, resourceHref, Limits } from './limits-data.js';

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
    empty=${{ title: 'No change in the last 90 days', text: 'Changes of entities, limits and namespaces, and resets of buckets are listed here with who made them.' }} />`;
}

export function Audit({ ns }) {
  const [of, setOf] = useQuery('of');
  const all = [['', 'everything'], ['$SYSTEM', 'limits of the system']];
  return html`<${Card}><div class="table-bar"><${Choice} label="Changes of" value=${of} onChange=${setOf} options=${all.some(([key]) => key === of) ? all : [...all, [of, of]]} /></div>
    <${AuditTable} key=${of} ns=${ns} subject=${of || undefined} /><//>`;
}
