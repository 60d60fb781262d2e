// Entities: found by the beginning of their id, one page at a time.
import { html, useMemo } from '../app/view.js';
import { useList } from '../app/data.js';
import { useQuery, navigate } from '../app/router.js';
import { DataTable } from '../app/table.js';
import { Card, Status, Time } from '../app/ui.js';
import { Link } from '../app/router.js';
import { weir } from '../app/command.js';
import { api, entityHref } from './limits-data.js';
import { Name, useSettled } from './shared.js';

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
    <${DataTable} id="entities" label="entities by the beginning of their id" columns=${columns} list=${list} serverSearch href=${(row) => entityHref(ns, row.id)}
      empty=${{ title: 'No entity yet', text: 'An entity is a user, a key or a project that is limited. It exists as soon as it acquires; create one to give it a name, a parent or limits of its own.', command: weir('limiter', 'entity', 'put', 'user-1', '--namespace', ns, '--name', 'Ann Lee') }} />
    ${q && list.items?.length === 0 && html`<p class="muted">No id begins with “${q}”. ${isId ? html`<${Link} href=${entityHref(ns, prefix)}>Open ${prefix} anyway<//>: an entity that only acquires has buckets but no record.` : 'An id has letters, digits and _ . : @ -'}</p>`}
  </div><//>`;
}
