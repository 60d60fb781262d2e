// Findings of all reviews, by severity or by category; verdicts can be given here, too.
import { html, useState, useMemo } from '../app/view.js';
import { useList, useApi } from '../app/data.js';
import { Link, useRoute, setQuery } from '../app/router.js';
import { withQuery } from '../app/api.js';
import { useRange } from '../app/range.js';
import { Card, Segmented, Empty, ErrorBox, Skeleton, Time, Icon } from '../app/ui.js';
import { Commands, weir } from '../app/command.js';
import { number } from '../app/format.js';
import { Finding, SEVERITIES } from './reviews-finding.js';
import { findingHref, useDays, comparePath, RECORD } from './reviews-data.js';
import { Choice } from './shared.js';

const VERDICTS = [['', 'any verdict'], ['open', 'no verdict yet'], ['accepted', 'accepted'], ['dismissed', 'dismissed']];

/** The filters of the address. The API selects by severity or by category; the rest narrows what is loaded. */
function filtersOf(query) {
  const by = query.get('by') === 'category' ? 'category' : 'severity';
  return {
    by, severity: query.get('severity') ?? 'critical', category: query.get('category') ?? '', model: query.get('model') ?? '',
    verdict: query.get('verdict') ?? '', q: query.get('q') ?? '', agreed: query.get('agreed') ?? '',
  };
}

export function matches(finding, { model, verdict, q, agreed }) {
  if (model && finding.model_id !== model) return false;
  if (verdict && (finding.feedback?.verdict ?? 'open') !== verdict) return false;
  if (agreed && String(finding.in_consensus) !== agreed) return false;
  return !q || `${finding.title} ${finding.description} ${finding.file_path} ${finding.owner}/${finding.repo}`.toLowerCase().includes(q.toLowerCase());
}

function Filters({ filters, known }) {
  const set = (name) => (value) => setQuery({ [name]: value });
  const models = [...new Set([...known.models, filters.model].filter(Boolean))];
  const categories = [...new Set([...known.categories, filters.category].filter(Boolean))];
  return html`<div class="table-bar">
    <${Segmented} label="Select by" value=${filters.by} options=${[['severity', 'Severity'], ['category', 'Category']]} onChange=${(by) => setQuery({ by: by === 'severity' ? null : by })} />
    ${filters.by === 'severity' ? html`<${Segmented} label="Severity" value=${filters.severity} options=${SEVERITIES.map((one) => [one, one])} onChange=${set('severity')} />`
      : html`<${Choice} label="Category" value=${filters.category} onChange=${set('category')} options=${[['', 'choose'], ...categories.map((one) => [one, one])]} />`}
  </div>
  <div class="table-bar">
    <label class="search"><${Icon} name="search" /><span class="visually-hidden">Search the loaded findings</span>
      <input data-search type="search" placeholder="Search the loaded findings" value=${filters.q} onInput=${(event) => setQuery({ q: event.target.value })} /></label>
    <${Choice} label="Model" value=${filters.model} onChange=${set('model')} options=${[['', 'any model'], ...models.map((one) => [one, one])]} />
    <${Choice} label="Consensus" value=${filters.agreed} onChange=${set('agreed')} options=${[['', 'any'], ['true', 'found by several'], ['false', 'found by one']]} />
    <${Choice} label="Verdict" value=${filters.verdict} onChange=${set('verdict')} options=${VERDICTS} />
  </div>`;
}

const Origin = ({ finding }) => html`<${Link} href=${findingHref(finding)}>${finding.owner}/${finding.repo}#${finding.pr_number}<//>
  <${Time} at=${finding.created_at} />${finding.in_consensus && html`<span class="agreed">found by others, too</span>`}`;

function Shown({ list, filters }) {
  const [judged, setJudged] = useState(new Map());
  const key = (finding) => `${finding.review_id}/${finding.model_id}/${finding.finding_id}`;
  const rows = useMemo(() => (list.items ?? []).map((finding) => ({ ...finding, ...judged.get(key(finding)) })).filter((finding) => matches(finding, filters)), [list.items, judged, filters]);
  if (list.error && !list.items) return html`<${ErrorBox} error=${list.error} retry=${list.reload} />`;
  if (!list.items) return html`<div class="loading-lines">${[1, 2, 3].map(() => html`<${Skeleton} width="70%" />`)}</div>`;
  if (list.items.length === 0) return html`<${Empty} title="No such findings in this time" text="Select another severity or category, or a longer time." command=${RECORD} />`;
  return html`<div class="findings">${rows.map((finding) => html`<${Finding} key=${key(finding)} review=${finding.review_id} finding=${finding} where link=${html`<${Origin} finding=${finding} />`}
      onChange=${(now) => setJudged(new Map(judged).set(key(finding), now))} />`)}</div>
    ${rows.length === 0 && html`<p class="muted pad">None of the ${number(list.items.length)} loaded findings matches.</p>`}
    <footer class="table-foot"><span class="muted">${number(rows.length)} of ${number(list.items.length)} loaded${list.hasMore ? '; there are more' : ''}</span>
      ${list.hasMore && html`<button type="button" disabled=${list.loading} onClick=${() => list.more()}>Load more</button>`}</footer>`;
}

export function Findings() {
  const { query } = useRoute();
  const filters = useMemo(() => filtersOf(query), [query]);
  const range = useRange('30d');
  const compared = useApi(comparePath(useDays(), ''));
  const known = useMemo(() => ({
    models: (compared.data?.models ?? []).map((model) => model.model_id),
    categories: [...new Set((compared.data?.models ?? []).flatMap((model) => model.by_category.map((one) => one.category)))].sort(),
  }), [compared.data]);
  const selected = filters.by === 'severity' ? { severity: filters.severity } : { category: filters.category };
  const isReady = filters.by === 'severity' || filters.category;
  const list = useList(isReady ? '/v1/reviews/findings' : null, { ...selected, from: range.from, to: range.to }, { size: 25 });
  const flag = filters.by === 'severity' ? ['--severity', filters.severity] : ['--category', filters.category || 'security'];
  return html`<${Card}>
    <${Filters} filters=${filters} known=${known} />
    <p class="sub keys">On a finding: <kbd>j</kbd> <kbd>k</kbd> next and previous, <kbd>a</kbd> accept, <kbd>d</kbd> dismiss</p>
    ${isReady ? html`<${Shown} list=${list} filters=${filters} />` : html`<${Empty} title="Choose a category" />`}
    <${Commands} command=${weir('reviews', 'findings', ...flag)} request=${{ path: withQuery('/v1/reviews/findings', selected) }} /><//>`;
}
