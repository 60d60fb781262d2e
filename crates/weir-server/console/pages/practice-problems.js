// Problems: those that need review first, with what is wrong and a button that ends the review.
import { html, useMemo } from '../app/view.js';
import { useList } from '../app/data.js';
import { useQuery } from '../app/router.js';
import { act } from '../app/dialog.js';
import { Card, Status, Time } from '../app/ui.js';
import { DataTable } from '../app/table.js';
import { Commands, weir } from '../app/command.js';
import { problemPath } from './practice-data.js';
import { Choice, LongText, Name, useSettled } from './shared.js';

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
  { key: 'do', label: '', align: 'right', render: (row) => row.needs_review && html`<button type="button" class="small" onClick=${() => then(verify(row))}>Verify…</button>` },
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
