// Lists of the settings: background jobs, the configuration in force with its sources, and the security log.
import { html, useMemo } from '../app/view.js';
import { useApi, useList } from '../app/data.js';
import { act } from '../app/dialog.js';
import { weir } from '../app/command.js';
import { DataTable } from '../app/table.js';
import { Card, ErrorBox, Num, Status, Time, Segmented } from '../app/ui.js';
import { duration, plain } from '../app/format.js';
import { useQuery } from '../app/router.js';
import { useRange, RangePicker } from '../app/range.js';

function JobStatus({ job }) {
  if (job.state === 'failed' || job.last_outcome === 'failed') return html`<${Status} kind="bad">failed<//>`;
  if (job.late) return html`<${Status} kind="warn">late<//>`;
  if (job.state === 'running') return html`<${Status} kind="info">running<//>`;
  if (!job.runs) return html`<${Status} kind="idle">no run yet<//>`;
  return html`<${Status} kind="good">${job.state === 'waiting_for_lease' ? 'runs elsewhere' : 'current'}<//>`;
}

export function JobsTab() {
  const { data, error, reload } = useApi('/v1/jobs', { every: 5 });
  const run = (job) => act({
    title: `Run ${job.name} now`, button: 'Run',
    text: 'It runs once on this server, besides its schedule. Jobs may run at any time without harm.',
    command: weir('jobs', 'run', job.name), request: { method: 'POST', path: `/v1/jobs/${encodeURIComponent(job.name)}/run` }, done: `${job.name} ran`,
  }).then(reload);
  const columns = useMemo(() => [
    { key: 'name', label: 'Job', sort: (row) => row.name, render: (row) => row.name },
    { key: 'state', label: 'State', render: (row) => html`<${JobStatus} job=${row} />` },
    { key: 'lag', label: 'Behind by', align: 'right', sort: (row) => row.lag_ms, render: (row) => (row.kind === 'feed' ? duration(row.lag_ms) : html`<span class="muted">–</span>`) },
    { key: 'every', label: 'Every', align: 'right', sort: (row) => row.every_secs, render: (row) => duration(row.every_secs * 1000) },
    { key: 'last', label: 'Last run', sort: (row) => row.last_finished_at, render: (row) => html`<${Time} at=${row.last_finished_at} missing="never" />` },
    { key: 'took', label: 'Took', align: 'right', phone: false, sort: (row) => row.last_duration_ms, render: (row) => duration(row.last_duration_ms) },
    { key: 'items', label: 'Items', align: 'right', phone: false, sort: (row) => row.last_items, render: (row) => html`<${Num} value=${row.last_items} />` },
    { key: 'failures', label: 'Failed', align: 'right', sort: (row) => row.failures, render: (row) => html`<span title=${`${row.failures} of ${row.runs} runs`}><${Num} value=${row.failures} /> of <${Num} value=${row.runs} /></span>` },
    { key: 'detail', label: 'Details', render: (row) => html`<span class="wrap ${row.last_error ? 'bad' : 'muted'}">${row.last_error ?? row.last_detail ?? ''}</span>` },
    { key: 'run', name: 'Run', align: 'right', render: (row) => html`<button type="button" class="small" onClick=${() => run(row)}>Run now…</button>` },
  ], []);
  if (error && !data) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  return html`${error && html`<${ErrorBox} error=${error} retry=${reload} />`}<${Card} title="Background jobs" sub="They sum usage, send notices and remove what has expired">
    <${DataTable} id="jobs" label="jobs" columns=${columns} items=${data?.items} sort="name" rowKey=${(row) => row.name} skeletonRows=${10} /><//>`;
}

const SHOW = [['', 'All'], ['set', 'Set here']];
const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
const SETTINGS = [
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
    <${DataTable} id="settings" label="settings" columns=${SETTINGS} items=${items} sort="key" rowKey=${(row) => row.key} skeletonRows=${12}
      filters=${html`<${Segmented} label="Which settings" value=${show} options=${SHOW} onChange=${setShow} />`}
      empty=${{ title: 'Every setting has its default', command: 'weir config' }} /><//>`;
}

const kindOf = (action) => (/fail|refus|denied/.test(action) ? 'bad' : /revoked|ended|deleted/.test(action) ? 'warn' : 'idle');

export function SecurityTab() {
  const range = useRange('90d');
  const list = useList('/v1/security-log', { from: range.from, to: range.to }, { size: 100 });
  const columns = useMemo(() => [
    { key: 'action', label: 'Event', sort: (row) => row.action, render: (row) => html`<${Status} kind=${kindOf(row.action)}>${row.action.replaceAll('_', ' ')}<//>` },
    { key: 'actor', label: 'By', sort: (row) => row.actor, render: (row) => html`<span class="wrap">${plain(row.actor ?? '–')}</span>` },
    { key: 'target', label: 'About', render: (row) => html`<code class="wrap">${plain(row.target ?? '–')}</code>` },
    { key: 'detail', label: 'Details', render: (row) => html`<span class="wrap">${plain(row.detail ?? '–')}</span>` },
    { key: 'address', label: 'From', render: (row) => plain(row.client_address ?? 'this machine') },
    { key: 'at', label: 'When', sort: (row) => row.at, render: (row) => html`<span title=${`request ${row.request_id}`}><${Time} at=${row.at} /></span>` },
  ], []);
  return html`<${Card} title="Security log" sub="The last 90 days, the newest first" actions=${html`<${RangePicker} initial="90d" sizes=${['24h', '7d', '30d', '90d']} />`}>
    <${DataTable} id="log" label="events" columns=${columns} list=${list} sort="-at" empty=${{ title: 'No events in this range', text: 'Sign-ins, tokens and keys are recorded here. The same from a terminal:', command: weir('security-log') }} /><//>`;
}
