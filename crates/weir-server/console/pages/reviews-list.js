// Reviews, newest first: all, or those of a repository, a user or a day.
import { html } from '../app/view.js';
import { useList } from '../app/data.js';
import { session, repoOf } from '../app/session.js';
import { part, setQuery, useRoute } from '../app/router.js';
import { useRange } from '../app/range.js';
import { Card, Status, Time } from '../app/ui.js';
import { DataTable } from '../app/table.js';
import { Commands, weir } from '../app/command.js';
import { count, number } from '../app/format.js';
import { seriesOf } from '../app/series.js';
import { Cost, reviewHref, RECORD } from './reviews-data.js';
import { Choice, Name, useSettled } from './shared.js';

const KINDS = { completed: 'good', in_progress: 'info', failed: 'bad' };
export const ReviewStatus = ({ status }) => html`<${Status} kind=${KINDS[status]}>${status.replace('_', ' ')}<//>`;

/** The models of a review in one line: a dot for each, their names on hover and for readers of screens. */
const Models = ({ ids }) => html`<span class="dots" title=${ids.join('\n')}>${ids.map((id) => html`<span key=${id} class=${`dot series-${seriesOf(id)}`} aria-hidden="true"></span>`)}
  <span class="words">${count(ids.length, 'models')}</span><span class="visually-hidden">: ${ids.join(', ')}</span></span>`;

const columns = [
  { key: 'title', label: 'Pull request', sort: (row) => row.pr_title, render: (row) => html`<${Name} text=${row.pr_title || 'Untitled'} max=${80} />` },
  { key: 'repo', label: 'Repository', sort: (row) => `${row.owner}/${row.repo}#${row.pr_number}`, render: (row) => html`<bdi>${row.owner}/${row.repo}</bdi> <span class="muted num">#${row.pr_number}</span>` },
  { key: 'models', label: 'Models', sort: (row) => row.models_used.length, render: (row) => html`<${Models} ids=${row.models_used} />` },
  { key: 'consensus', label: 'Agreed', align: 'right', sort: (row) => row.consensus_findings, render: (row) => html`<span class=${`num ${row.consensus_findings ? 'strong' : 'muted'}`}>${number(row.consensus_findings)}</span>` },
  { key: 'findings', label: 'Findings', align: 'right', sort: (row) => row.total_findings, render: (row) => html`<span class="num">${number(row.total_findings)}</span>` },
  { key: 'cost', label: 'Cost', align: 'right', sort: (row) => Number(row.total_cost_usd), render: (row) => html`<${Cost} usd=${row.total_cost_usd} />` },
  { key: 'status', label: 'Status', sort: (row) => row.status, render: (row) => html`<${ReviewStatus} status=${row.status} />` },
  { key: 'at', label: 'When', align: 'right', sort: (row) => row.created_at, render: (row) => html`<${Time} at=${row.created_at} />` },
];

/** The route of a filter; null while its value is not complete. */
export function pathOf(by, value) {
  if (!by || !value) return by ? null : '/v1/reviews';
  if (by === 'user') return `/v1/reviews/users/${part(value)}`;
  if (by === 'date') return /^\d{4}-\d\d-\d\d$/.test(value) ? `/v1/reviews/dates/${value}` : null;
  const [owner, repo, more] = value.split('/');
  return owner && repo && more === undefined ? `/v1/reviews/repos/${part(owner)}/${part(repo)}` : null;
}

const HINTS = { repo: 'owner/repo', user: 'octocat', date: '2026-11-18' };
const FLAGS = { repo: '--repo', user: '--user', date: '--date' };

function Filters({ by, value }) {
  return html`<${Choice} label="Of" value=${by} onChange=${(next) => setQuery({ by: next, value: null })}
      options=${[['', 'all repositories'], ['repo', 'a repository'], ['user', 'a user'], ['date', 'a day']]} />
    ${by && html`<label class="choice"><span class="visually-hidden">${by}</span><input value=${value} type=${by === 'date' ? 'date' : 'text'} placeholder=${HINTS[by]} autocomplete="off" spellcheck=${false}
      onInput=${(event) => setQuery({ value: event.target.value.trim() })} /></label>`}`;
}

export function ReviewList() {
  const { query } = useRoute();
  const own = repoOf(session.get());
  const by = Object.hasOwn(FLAGS, query.get('by')) ? query.get('by') : own && 'repo';
  const value = query.get('value') ?? own;
  const settled = useSettled(value);
  const range = useRange('30d');
  const path = pathOf(by, settled);
  const list = useList(path, by === 'date' ? {} : { from: range.from, to: range.to }, { size: 25 });
  const source = path ? list : { ...list, items: [], loading: false };
  return html`<${Card}>
    <${DataTable} id="reviews" label="reviews" columns=${columns} list=${source} rowKey=${(row) => row.review_id} href=${(row) => reviewHref(row.review_id)} filters=${html`<${Filters} by=${by} value=${value} />`}
      empty=${path ? { title: 'No reviews in this time', text: 'Record one, or select a longer time.', command: RECORD } : { title: `Name ${by === 'repo' ? 'a repository, as owner/repo' : `a ${by}`}` }} />
    <${Commands} command=${weir('reviews', 'list', ...(by && value ? [FLAGS[by], value] : []))} request=${{ path: path ?? '/v1/reviews' }} /><//>`;
}
