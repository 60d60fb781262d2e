// Entities, found by the beginning of their id, and one of them: buckets, usage, parent, children, changes.
import { html, useMemo, useState } from '../app/view.js';
import { useList, useApi } from '../app/data.js';
import { useQuery, navigate, Link } from '../app/router.js';
import { DataTable } from '../app/table.js';
import { Card, Status, Time, PageHead, Facts, ErrorBox, Field, Button } from '../app/ui.js';
import { weir, Commands } from '../app/command.js';
import { put } from '../app/api.js';
import { act, Dialog } from '../app/dialog.js';
import { toast } from '../app/toast.js';
import { api, entityHref, to, editHref, ALL } from './limits-data.js';
import { Name, useSettled } from './shared.js';
import { Buckets } from './limits-buckets.js';
import { Usage } from './limits-usage.js';
import { AuditTable } from './limits-lists.js';

const ID = /^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,255}$/;

export const entityColumns = (ns) => [
  { key: 'id', label: 'Entity', sort: (row) => row.id, render: (row) => row.id },
  { key: 'name', label: 'Name', sort: (row) => row.name, render: (row) => html`<${Name} text=${row.name} max=${60} />` },
  { key: 'parent', label: 'Parent', sort: (row) => row.parent, render: (row) => (row.parent ? html`<${Link} href=${entityHref(ns, row.parent)}>${row.parent}<//>` : html`<span class="muted">–</span>`) },
  { key: 'cascade', label: 'Cascade', render: (row) => (row.cascade ? html`<${Status} kind="info" title="Every acquire takes from the parent, too">takes from both<//>` : html`<span class="muted">no</span>`) },
  { key: 'updated', label: 'Changed', align: 'right', sort: (row) => row.updated_at, render: (row) => html`<${Time} at=${row.updated_at} />` },
];

export function Entities({ ns }) {
  const [q] = useQuery('entities.q');
  const prefix = useSettled(q.trim());
  const isId = ID.test(prefix);
  const list = useList(api`${ns}/entities`, { prefix: isId ? prefix : '' });
  const columns = useMemo(() => entityColumns(ns), [ns]);
  const onKey = (event) => {
    if (event.key === 'Enter' && event.target.matches('[data-search]') && isId) navigate(entityHref(ns, list.items?.length === 1 ? list.items[0].id : prefix));
  };
  return html`<${Card}><div onKeyDown=${onKey}>
    <${DataTable} id="entities" label="entities" hint="Beginning of an id" columns=${columns} list=${list} serverSearch href=${(row) => entityHref(ns, row.id)}
      empty=${{ title: 'No entity yet', text: 'An entity is a user, a key or a project that is limited. It exists as soon as it acquires; create one to give it a name, a parent or limits of its own.', command: weir('limiter', 'entity', 'put', 'user-1', '--namespace', ns, '--name', 'Ann Lee') }} />
    ${q && list.items?.length === 0 && html`<p class="muted">No id begins with “${q}”. ${isId ? html`<${Link} href=${entityHref(ns, prefix)}>Open ${prefix} anyway<//>: an entity that only acquires has buckets but no record.` : 'An id has letters, digits and _ . : @ -'}</p>`}
  </div><//>`;
}

const remove = (ns, id) => act({
  title: `Delete ${id}?`, danger: true, button: 'Delete', typeName: id, done: `${id} was deleted`,
  text: 'The entity goes with its own limits and buckets. If it acquires again, it starts with full buckets and the limits of the resource or the system. Usage and audit stay.',
  request: { method: 'DELETE', path: api`${ns}/entities/${id}` }, command: weir('limiter', 'entity', 'delete', id, '--namespace', ns),
});

function ParentDialog({ ns, entity, onClose, onDone }) {
  const [parent, setParent] = useState(entity.parent ?? '');
  const [state, setState] = useState({ busy: false, error: null });
  const path = api`${ns}/entities/${entity.id}/parent`;
  const body = { parent: parent.trim() || null };
  const send = async (event) => {
    event.preventDefault();
    setState({ busy: true, error: null });
    try {
      await put(path, body);
      toast(body.parent ? `${body.parent} is the parent now` : 'The parent was removed');
      onDone();
      onClose();
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  const command = weir('limiter', 'entity', 'parent', entity.id, body.parent ?? '--none', '--namespace', ns);
  return html`<${Dialog} title=${`Parent of ${entity.id}`} onClose=${onClose}><form class="stack" onSubmit=${send}>
    <p>${entity.cascade ? 'Every acquire takes from the buckets of both, or of neither.' : 'Acquires take from the parent only once the entity cascades.'} A parent has no parent itself.</p>
    <${Field} id="parent" label="Entity; empty for none"><input id="parent" value=${parent} autocomplete="off" spellcheck=${false} onInput=${(event) => setParent(event.target.value)} /><//>
    <${Commands} command=${command} request=${{ method: 'PUT', path, body }} />
    ${state.error && html`<${ErrorBox} error=${state.error} />`}
    <footer class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${state.busy || body.parent === (entity.parent ?? null)}>Save</button></footer>
  </form><//>`;
}

function Children({ ns, id }) {
  const list = useList(api`${ns}/entities/${id}/children`, {}, { size: 20 });
  const columns = useMemo(() => entityColumns(ns).filter((column) => column.key !== 'parent'), [ns]);
  if (list.items?.length === 0) return null;
  return html`<${Card} title="Children" sub="Entities that have this one as their parent">
    <${DataTable} id="children" label="children" columns=${columns} list=${list} href=${(row) => entityHref(ns, row.id)} /><//>`;
}

function Record({ ns, entity }) {
  const metadata = Object.entries(entity.metadata);
  return html`<${Card} title="Record"><${Facts} items=${[
    ['Parent', entity.parent ? html`<${Link} href=${entityHref(ns, entity.parent)}>${entity.parent}<//>` : html`<span class="muted">none</span>`],
    ['Takes from', entity.cascade && entity.parent ? html`<${Status} kind="info">itself and the parent<//>` : 'itself'],
    ['Created', html`<${Time} at=${entity.created_at} />`],
    ['Changed', html`<${Time} at=${entity.updated_at} />`],
    ...metadata.map(([key, value]) => [html`<bdi>${key}</bdi>`, html`<${Name} text=${value} max=${200} />`]),
  ]} /><//>`;
}

export function Entity({ ns, id }) {
  const source = useApi(api`${ns}/entities/${id}`);
  const [isParentOpen, setParentOpen] = useState(false);
  const entity = source.data;
  const drop = async () => { if (await remove(ns, id) !== undefined) navigate(to(ns, '/entities')); };
  const actions = html`<${Link} class="button" href=${editHref(ns, { level: 'entity', entity: id, resource: ALL })}>Edit limits<//>
    ${entity && html`<${Button} needs=${`ns:${ns}`} onClick=${() => setParentOpen(true)}>Parent…<//><${Button} needs=${`ns:${ns}`} onClick=${drop}>Delete…<//>`}`;
  return html`<${PageHead} title=${id} sub=${entity && entity.name !== id ? html`<${Name} text=${entity.name} />` : `Entity of the namespace ${ns}`}
      crumbs=${[['Limits', to(ns)], ['Entities', to(ns, '/entities')]]} actions=${actions} needs=${`ns:${ns}`} />
    ${source.error?.status === 404 && html`<p class="muted">This entity has no record. If it acquires all the same, its buckets and usage are below.</p>`}
    ${source.error && source.error.status !== 404 && html`<${ErrorBox} error=${source.error} retry=${source.reload} />`}
    <${Buckets} ns=${ns} entity=${id} />
    <${Usage} ns=${ns} entity=${id} />
    ${entity && html`<${Record} ns=${ns} entity=${entity} />`}
    ${entity && !entity.parent && html`<${Children} ns=${ns} id=${id} />`}
    <${Card} title="Changes"><${AuditTable} id="changes" ns=${ns} subject=${id} size=${10} /><//>
    ${isParentOpen && html`<${ParentDialog} ns=${ns} entity=${entity} onClose=${() => setParentOpen(false)} onDone=${source.reload} />`}`;
}
