// Lists of practice: problems, those that need review first; runs, of a user or public; changes by administrators.
import { html, useMemo } from '../app/view.js';
import { useList } from '../app/data.js';
import { part, useQuery, Link } from '../app/router.js';
import { act } from '../app/dialog.js';
import { Button, Card, Status, Time } from '../app/ui.js';
import { DataTable } from '../app/table.js';
import { Commands, weir } from '../app/command.js';
import { problemPath, userHref } from './practice-data.js';
import { Choice, LongText, Name, useSettled } from './shared.js';
import { number } from '../app/format.js';

const verify = (problem) => act({
  title: `Verify ${problem.platform}/${problem.problem_id}?`, button: 'Verify', done: 'The problem is verified',
  text: 'It says that you have checked the problem: its review ends, and it counts as verified by an administrator.',
  request: { method: 'POST', path: `${problemPath(problem)}/verify` }, command: weir('practice', 'problems', 'verify', problem.platform, problem.problem_id),
});

function State({ problem }) {
  if (problem.is_deleted) return html`<${Status} kind="bad" title=${problem.deleted_reason ?? undefined}>deleted<//>`;
  if (problem.needs_review) return html`<${Status} kind="warn">needs review<//>`;
  if (!problem.is_completed) return html`<${Status} kind="idle">draft<//>`;
  return html`<${Status} kind="good">${problem.verified_by_admin ? 'verified' : 'published'}<//>`;
}

const STATES = ['draft', 'published', 'verified', 'deleted'].map((state) => [state, state]);

const columnsOf = (then) => [
  { key: 'title', label: 'Problem', sort: (row) => row.title, render: (row) => html`<${Name} text=${row.title} max=${80} />` },
  { key: 'id', label: 'Id', sort: (row) => row.id, render: (row) => html`<bdi>${row.platform}/${row.problem_id}</bdi>` },
  { key: 'state', label: 'State', render: (row) => html`<${State} problem=${row} />` },
  { key: 'notes', label: 'What is wrong', render: (row) => (row.review_notes ? html`<div class="notes"><${LongText} text=${row.review_notes} shown=${200} /></div>` : html`<span class="muted">–</span>`) },
  { key: 'tags', label: 'Tags', render: (row) => html`<span class="chips">${row.tags.map((tag) => html`<span class="tag" key=${tag}>${tag}</span>`)}</span>` },
  { key: 'updated', label: 'Changed', align: 'right', sort: (row) => row.updated_at, render: (row) => html`<${Time} at=${row.updated_at} />` },
  { key: 'do', label: '', align: 'right', render: (row) => row.needs_review && html`<${Button} needs="practice" class="small" onClick=${() => then(verify(row))}>Verify…<//>` },
];

export function Problems() {
  const [status, setStatus] = useQuery('status', 'needs_review');
  const [platform, setPlatform] = useQuery('platform');
  const settled = useSettled(platform.trim());
  const list = useList('/v1/practice/problems', { status: status === 'all' ? '' : status, platform: settled }, { size: 25 });
  const columns = useMemo(() => columnsOf(async (asked) => { if (await asked !== undefined) list.reload(); }), [status, settled]);
  const filters = html`<${Choice} label="State" value=${status} onChange=${setStatus} options=${[['needs_review', 'needs review'], ['all', 'all'], ...STATES]} />
    <label class="choice"><span>Platform</span><input value=${platform} placeholder="any" autocomplete="off" spellcheck=${false} onInput=${(event) => setPlatform(event.target.value)} /></label>`;
  const empty = status === 'needs_review' ? { title: 'Nothing waits for review', text: 'A problem comes here when someone marks it.', command: weir('practice', 'problems', 'review', 'baekjoon', '1000', '--notes', 'the second test case is wrong') }
    : { title: status === 'all' && !settled ? 'No problem yet' : 'No such problem', command: weir('practice', 'problems', 'create', 'baekjoon', '1000', '--title', 'A+B') };
  return html`<${Card}><${DataTable} id="problems" label="problems" columns=${columns} list=${list} filters=${filters} empty=${empty} />
    <${Commands} command=${weir('practice', 'problems', 'list', ...(status === 'all' ? [] : ['--status', status]))} request=${{ path: '/v1/practice/problems' }} /><//>`;
}

function Result({ run }) {
  const kind = run.total_count > 0 && run.passed_count === run.total_count ? 'good' : run.passed_count === 0 ? 'bad' : 'warn';
  const word = { good: 'passed', bad: 'failed', warn: 'in part' }[kind];
  return html`<span class="result"><${Status} kind=${run.total_count ? kind : 'idle'}>${run.total_count ? word : 'no tests'}<//> <span class="num muted">${number(run.passed_count)} of ${number(run.total_count)}</span></span>`;
}

const PROBLEM = { key: 'problem', label: 'Problem', sort: (row) => row.problem_title, render: (row) => html`<${Name} text=${row.problem_title || `${row.platform}/${row.problem_number}`} max=${80} />` };
const RUNS = [
  PROBLEM,
  { key: 'id', label: 'Id', render: (row) => html`<bdi>${row.platform}/${row.problem_number}</bdi>` },
  { key: 'user', label: 'User', render: (row) => (row.user_id ? html`<${Link} href=${userHref(row.user_id)}>${row.user_identifier ?? row.user_id.slice(-6)}<//>` : html`<span class="muted">–</span>`) },
  { key: 'language', label: 'Language', sort: (row) => row.language, render: (row) => html`<bdi>${row.language ?? '–'}</bdi>` },
  { key: 'result', label: 'Result', sort: (row) => (row.total_count ? row.passed_count / row.total_count : null), render: (row) => html`<${Result} run=${row} />` },
  { key: 'hints', label: 'Hints', align: 'right', sort: (row) => row.hints.length, render: (row) => html`<span class="num">${number(row.hints.length)}</span>` },
  { key: 'at', label: 'When', align: 'right', sort: (row) => row.created_at, render: (row) => html`<${Time} at=${row.created_at} />` },
];

/** The runs of a user, public or not. */
export function UserRuns({ id }) {
  const list = useList(`/v1/practice/users/${part(id)}/history`, {}, { size: 10 });
  const own = [...RUNS.filter((column) => column.key !== 'user'), { key: 'public', label: 'Seen by', render: (row) => (row.is_code_public ? 'everyone' : html`<span class="muted">the user</span>`) }];
  return html`<${DataTable} id="runs" label="runs" columns=${own} list=${list} search=${false} empty=${{ title: 'No run yet', command: weir('practice', 'history', 'record', 'baekjoon', '1000', '--user', id, '--code-file', 'sum.py') }} />`;
}

export function Feed() {
  const list = useList('/v1/practice/feed', {}, { size: 25 });
  return html`<${Card} title="Public runs"><${DataTable} id="feed" label="runs" columns=${RUNS} list=${list}
      empty=${{ title: 'No public run yet', text: 'A run is in the feed while its user shows it.', command: weir('practice', 'history', 'visibility', 'RUN', 'public') }} />
    <${Commands} command=${weir('practice', 'feed')} request=${{ path: '/v1/practice/feed' }} /><//>`;
}

/** A subject such as `user 01M7…` or `problem baekjoon/1000`; users have a page. */
function Subject({ text }) {
  const [kind, id] = [text.split(' ', 1)[0], text.slice(text.indexOf(' ') + 1)];
  return kind === 'user' ? html`user <${Link} href=${userHref(id)}>${id}<//>` : html`<bdi>${text}</bdi>`;
}

const CHANGES = [
  { key: 'at', label: 'When', render: (row) => html`<${Time} at=${row.at} />` },
  { key: 'action', label: 'Action', render: (row) => row.action.replaceAll('_', ' ') },
  { key: 'subject', label: 'Subject', render: (row) => html`<${Subject} text=${row.subject} />` },
  { key: 'detail', label: 'Detail', render: (row) => (row.detail ? html`<${LongText} text=${row.detail} shown=${200} />` : html`<span class="muted">–</span>`) },
  { key: 'actor', label: 'By', render: (row) => html`<bdi>${row.actor}</bdi>` },
];

export function Changes() {
  const [subject, setSubject] = useQuery('subject');
  const settled = useSettled(subject.trim());
  const list = useList('/v1/practice/audit', { subject: settled }, { size: 25 });
  const filters = html`<label class="choice"><span>Subject</span><input value=${subject} placeholder="any, or user ID" autocomplete="off" spellcheck=${false} onInput=${(event) => setSubject(event.target.value)} /></label>`;
  return html`<${Card}><${DataTable} id="changes" label="changes" columns=${CHANGES} list=${list} filters=${filters}
      empty=${{ title: settled ? 'No change of this subject' : 'No change in the last 90 days', text: 'Changes of users, plans, problems and jobs by administrators are listed here.', command: weir('practice', 'users', 'deactivate', 'USER') }} />
    <${Commands} command=${weir('practice', 'audit', ...(settled ? ['--subject', settled] : []))} request=${{ path: '/v1/practice/audit' }} /><//>`;
}
