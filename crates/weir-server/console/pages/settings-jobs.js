// Background jobs: how far each is behind, how its last run ended, and a run now.
import { html, useMemo } from '../app/view.js';
import { useApi } from '../app/data.js';
import { act } from '../app/dialog.js';
import { weir } from '../app/command.js';
import { DataTable } from '../app/table.js';
import { Card, ErrorBox, Num, Status, Time } from '../app/ui.js';
import { duration } from '../app/format.js';

/** A feed that is behind by more than three of its pauses, and by a minute at least, is late. */
const isLate = (job) => job.lag_ms > Math.max(60000, job.every_secs * 3000);

function JobStatus({ job }) {
  if (job.state === 'failed' || job.last_outcome === 'failed') return html`<${Status} kind="bad">failed<//>`;
  if (isLate(job)) return html`<${Status} kind="warn">late<//>`;
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
  return html`<${Card} title="Background jobs" sub="They sum usage, send notices and remove what has expired">
    <${DataTable} id="jobs" label="jobs" columns=${columns} items=${data?.items} sort="name" rowKey=${(row) => row.name} skeletonRows=${10} /><//>`;
}
