// Namespaces: tenants with their own entities, limits and usage.
import { html, useMemo, useState } from '../app/view.js';
import { useList } from '../app/data.js';
import { Link } from '../app/router.js';
import { act } from '../app/dialog.js';
import { DataTable } from '../app/table.js';
import { Card, Status, Time, Field } from '../app/ui.js';
import { weir } from '../app/command.js';
import { api, to } from './limits-data.js';

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
