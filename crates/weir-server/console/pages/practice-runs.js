// Runs: what users tried. The feed has the public ones, newest first.
import { html } from '../app/view.js';
import { useList } from '../app/data.js';
import { Link } from '../app/router.js';
import { Card, Time, Status } from '../app/ui.js';
import { DataTable } from '../app/table.js';
import { Commands, weir } from '../app/command.js';
import { number } from '../app/format.js';
import { userHref } from './practice-data.js';
import { Name } from './shared.js';

function Result({ run }) {
  const kind = run.total_count > 0 && run.passed_count === run.total_count ? 'good' : run.passed_count === 0 ? 'bad' : 'warn';
  const word = { good: 'passed', bad: 'failed', warn: 'in part' }[kind];
  return html`<span class="result"><${Status} kind=${run.total_count ? kind : 'idle'}>${run.total_count ? word : 'no tests'}<//> <span class="num muted">${number(run.passed_count)} of ${number(run.total_count)}</span></span>`;
}

const problem = { key: 'problem', label: 'Problem', sort: (row) => row.problem_title, render: (row) => html`<${Name} text=${row.problem_title || `${row.platform}/${row.problem_number}`} max=${80} />` };
const columns = [
  problem,
  { key: 'id', label: 'Id', render: (row) => html`<bdi>${row.platform}/${row.problem_number}</bdi>` },
  { key: 'user', label: 'User', render: (row) => (row.user_id ? html`<${Link} href=${userHref(row.user_id)}>${row.user_identifier ?? row.user_id.slice(-6)}<//>` : html`<span class="muted">–</span>`) },
  { key: 'language', label: 'Language', sort: (row) => row.language, render: (row) => html`<bdi>${row.language ?? '–'}</bdi>` },
  { key: 'result', label: 'Result', sort: (row) => (row.total_count ? row.passed_count / row.total_count : null), render: (row) => html`<${Result} run=${row} />` },
  { key: 'hints', label: 'Hints', align: 'right', sort: (row) => row.hints.length, render: (row) => html`<span class="num">${number(row.hints.length)}</span>` },
  { key: 'at', label: 'When', align: 'right', sort: (row) => row.created_at, render: (row) => html`<${Time} at=${row.created_at} />` },
];

/** The runs of a user, public or not. */
export function UserRuns({ id }) {
  const list = useList(`/v1/practice/users/${encodeURIComponent(id)}/history`, {}, { size: 10 });
  const own = [...columns.filter((column) => column.key !== 'user'), { key: 'public', label: 'Seen by', render: (row) => (row.is_code_public ? 'everyone' : html`<span class="muted">the user</span>`) }];
  return html`<${DataTable} id="runs" label="runs" columns=${own} list=${list} search=${false} empty=${{ title: 'No run yet', command: weir('practice', 'history', 'record', 'baekjoon', '1000', '--user', id, '--code-file', 'sum.py') }} />`;
}

export function Feed() {
  const list = useList('/v1/practice/feed', {}, { size: 25 });
  return html`<${Card} title="Public runs"><${DataTable} id="feed" label="runs" columns=${columns} list=${list}
      empty=${{ title: 'No public run yet', text: 'A run is in the feed while its user shows it.', command: weir('practice', 'history', 'visibility', 'RUN', 'public') }} />
    <${Commands} command=${weir('practice', 'feed')} request=${{ path: '/v1/practice/feed' }} /><//>`;
}
