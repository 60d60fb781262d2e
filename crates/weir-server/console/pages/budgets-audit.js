// Who changed what, newest first.
import { html, useMemo } from '../app/view.js';
import { useList } from '../app/data.js';
import { weir } from '../app/command.js';
import { DataTable } from '../app/table.js';
import { Card, Time } from '../app/ui.js';

export function AuditTab({ scope: { api, org, app, config } }) {
  const list = useList(`${api}/audit`);
  const columns = useMemo(() => [
    { key: 'action', label: 'Change', sort: (row) => row.action, render: (row) => row.action.replaceAll('_', ' ') },
    { key: 'subject', label: 'Of', sort: (row) => row.subject, render: (row) => html`<code class="wrap">${row.subject}</code>` },
    { key: 'detail', label: 'Details', render: (row) => html`<span class="wrap">${row.detail ?? '–'}</span>` },
    { key: 'actor', label: 'By', sort: (row) => row.actor, render: (row) => html`<span class="wrap">${row.actor}</span>` },
    { key: 'at', label: 'When', sort: (row) => row.at, render: (row) => html`<${Time} at=${row.at} zone=${config.timezone} />` },
  ], [config]);
  return html`<${Card} title="Audit" sub=${html`Times of ${config.timezone} on hover; also <code>${weir('keeper', 'audit', org, ...(app ? ['--app', app] : []))}</code>`}>
    <${DataTable} id="audit" label="changes" columns=${columns} list=${list} sort="-at" empty=${{ title: 'No changes yet' }} /><//>`;
}
