// The configuration in force, with the source of each value.
import { html, useMemo } from '../app/view.js';
import { useQuery } from '../app/router.js';
import { useApi } from '../app/data.js';
import { DataTable } from '../app/table.js';
import { Card, ErrorBox, Segmented, Status } from '../app/ui.js';

const SHOW = [['', 'All'], ['set', 'Set here']];
const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
const COLUMNS = [
  { key: 'key', label: 'Setting', sort: (row) => row.key, render: (row) => html`<code>${row.key}</code>` },
  { key: 'value', label: 'Value', render: (row) => (row.value === null ? html`<span class="muted">not set</span>` : html`<code class="wrap">${textOf(row.value)}</code>`) },
  { key: 'layer', label: 'Set by', sort: (row) => row.layer, render: (row) => (row.layer === 'default' ? html`<span class="muted">default</span>` : html`<${Status} kind="info">${row.layer}<//>`) },
  { key: 'name', label: 'Name there', render: (row) => (row.name ? html`<code>${row.name}</code>` : html`<span class="muted">–</span>`) },
];

export function ConfigurationTab() {
  const { data, error, reload } = useApi('/v1/settings');
  const [show, setShow] = useQuery('show');
  const items = useMemo(() => data?.items.filter((row) => !show || row.layer !== 'default'), [data, show]);
  if (error && !data) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  return html`<${Card} title="Configuration" sub=${html`Flags override variables, which override the file, which overrides the defaults. Also <code>weir config</code>; a change needs a restart.`}>
    <${DataTable} id="settings" label="settings" columns=${COLUMNS} items=${items} sort="key" rowKey=${(row) => row.key} skeletonRows=${12}
      filters=${html`<${Segmented} label="Which settings" value=${show} options=${SHOW} onChange=${setShow} />`}
      empty=${{ title: 'Every setting has its default', command: 'weir config' }} /><//>`;
}
