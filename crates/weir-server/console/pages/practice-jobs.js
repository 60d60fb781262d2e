// Jobs of a type, newest first, with the last step of each.
import { html, useEffect, useMemo, useRef } from '../app/view.js';
import { useList } from '../app/data.js';
import { useQuery } from '../app/router.js';
import { Button, Card, Segmented, Time, Status } from '../app/ui.js';
import { DataTable } from '../app/table.js';
import { Commands, weir } from '../app/command.js';
import { number } from '../app/format.js';
import { TYPES, JobStatus, isOpen, jobHref, retry, cancel } from './practice-data.js';
import { Choice, Name } from './shared.js';

const STATES = [['', 'any state'], ['PENDING', 'pending'], ['PROCESSING', 'processing'], ['FAILED', 'failed'], ['COMPLETED', 'completed'], ['CANCELLED', 'cancelled'], ['stalled', 'worker gone']];
const SIZE = 25;

export const titleOf = (job) => job.title || job.problem_url || job.problem_identifier || job.problem_id || job.id;

/** The last thing that a job's worker said, or its error. */
export function LastStep({ job }) {
  if (job.error_message) return html`<span class="bad-text"><${Name} text=${job.error_message} max=${90} /></span>`;
  if (!job.last_step) return html`<span class="muted">–</span>`;
  const { step, status, message } = job.last_step;
  return html`<bdi>${step}</bdi> <span class="muted">${status.replace('_', ' ')}${message && html`, <${Name} text=${message} max=${60} />`}</span>`;
}

const columnsOf = (then) => [
  { key: 'title', label: 'Job', sort: titleOf, render: (row) => html`<${Name} text=${titleOf(row)} max=${70} />` },
  { key: 'problem', label: 'Problem', sort: (row) => row.problem_id, render: (row) => (row.platform ? html`<bdi>${row.platform}/${row.problem_id}</bdi>` : html`<span class="muted">–</span>`) },
  { key: 'status', label: 'State', sort: (row) => row.status, render: (row) => html`<${JobStatus} status=${row.status} />` },
  { key: 'step', label: 'Last step', render: (row) => html`<span class="step-cell"><${LastStep} job=${row} /></span>` },
  { key: 'worker', label: 'Worker', sort: (row) => row.lease?.worker_id, render: (row) => (row.lease ? html`<bdi>${row.lease.worker_id}</bdi>${new Date(row.lease.expires_at) < Date.now() && row.status === 'PROCESSING' ? html` <${Status} kind="warn" title="Its lease has ended; another worker will claim the job">gone<//>` : ''}` : html`<span class="muted">–</span>`) },
  { key: 'attempts', label: 'Attempts', align: 'right', sort: (row) => row.attempts, render: (row) => html`<span class="num">${number(row.attempts)}</span>` },
  { key: 'updated', label: 'Changed', align: 'right', sort: (row) => row.updated_at, render: (row) => html`<${Time} at=${row.updated_at} />` },
  { key: 'do', label: '', align: 'right', render: (row) => html`
    ${row.status === 'FAILED' && html`<${Button} needs="practice" class="small" onClick=${() => then(retry(row))}>Retry…<//>`}
    ${isOpen(row) && html`<${Button} needs="practice" class="small" onClick=${() => then(cancel(row))}>Cancel…<//>`}` },
];

/** Reads the first page again while a job of it is under way. */
function useFresh(list) {
  const isMoving = list.items?.length <= SIZE && list.items.some(isOpen);
  const latest = useRef(list);
  latest.current = list;
  useEffect(() => {
    if (!isMoving) return undefined;
    const timer = setInterval(() => { if (!document.hidden && !latest.current.loading) list.reload(); }, 3000);
    return () => clearInterval(timer);
  }, [isMoving]);
}

export function Jobs() {
  const [asked, setType] = useQuery('type', TYPES[0][0]);
  const type = (TYPES.find(([key]) => key === asked) ?? TYPES[0])[0];
  const [state, setState] = useQuery('state');
  const filter = state === 'stalled' ? { stalled: true } : { status: state };
  const list = useList(`/v1/practice/jobs/${type}`, filter, { size: SIZE });
  useFresh(list);
  const columns = useMemo(() => columnsOf(async (asked) => { if (await asked !== undefined) list.reload(); }), [type, state]);
  const filters = html`<${Segmented} label="Type" value=${type} options=${TYPES} onChange=${setType} /><${Choice} label="State" value=${state} options=${STATES} onChange=${setState} />`;
  const submit = type === 'script-generation' ? weir('practice', 'jobs', 'submit', type, '--platform', 'baekjoon', '--problem', '1000', '--title', 'A+B') : weir('practice', 'jobs', 'submit', type, '--url', 'https://www.acmicpc.net/problem/1001');
  return html`<${Card}><${DataTable} id="jobs" label="jobs" columns=${columns} list=${list} filters=${filters} href=${jobHref}
      empty=${{ title: state ? 'No job is in this state' : 'No job yet', text: state ? undefined : 'A job waits for a worker, which claims it and reports progress.', command: state ? undefined : submit }} />
    <${Commands} command=${weir('practice', 'jobs', 'list', type)} request=${{ path: `/v1/practice/jobs/${type}` }} /><//>`;
}
