// Who issued, revoked and rotated credentials, and who failed to sign in.
import { html, useMemo } from '../app/view.js';
import { useList } from '../app/data.js';
import { useRange, RangePicker } from '../app/range.js';
import { DataTable } from '../app/table.js';
import { Card, Status, Time } from '../app/ui.js';

const kindOf = (action) => (/fail|refus|denied/.test(action) ? 'bad' : /revoked|ended|deleted/.test(action) ? 'warn' : 'idle');

export function SecurityTab() {
  const range = useRange('90d');
  const list = useList('/v1/security-log', { from: range.from, to: range.to }, { size: 100 });
  const columns = useMemo(() => [
    { key: 'action', label: 'Event', sort: (row) => row.action, render: (row) => html`<${Status} kind=${kindOf(row.action)}>${row.action.replaceAll('_', ' ')}<//>` },
    { key: 'actor', label: 'By', sort: (row) => row.actor, render: (row) => html`<span class="wrap">${row.actor ?? '–'}</span>` },
    { key: 'target', label: 'About', render: (row) => html`<code class="wrap">${row.target ?? '–'}</code>` },
    { key: 'detail', label: 'Details', render: (row) => html`<span class="wrap">${row.detail ?? '–'}</span>` },
    { key: 'address', label: 'From', render: (row) => row.client_address ?? 'this machine' },
    { key: 'at', label: 'When', sort: (row) => row.at, render: (row) => html`<span title=${`request ${row.request_id}`}><${Time} at=${row.at} /></span>` },
  ], []);
  return html`<${Card} title="Security log" sub="The last 90 days, the newest first" actions=${html`<${RangePicker} initial="90d" sizes=${['24h', '7d', '30d', '90d']} />`}>
    <${DataTable} id="log" label="events" columns=${columns} list=${list} sort="-at" empty=${{ title: 'No events in this range' }} /><//>`;
}
