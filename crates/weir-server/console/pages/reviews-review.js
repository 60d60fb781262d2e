// One review: what models agree on first, then what only one of them says, then what it took.
import { html, useState, useEffect, useMemo } from '../app/view.js';
import { useApi } from '../app/data.js';
import { part, navigate, useQuery } from '../app/router.js';
import { PageHead, Card, Stats, Stat, Time, Empty, Status, Button } from '../app/ui.js';
import { act } from '../app/dialog.js';
import { weir } from '../app/command.js';
import { number } from '../app/format.js';
import { Finding, Severity, SEVERITIES, lines, scopesFor } from './reviews-finding.js';
import { Cost } from './reviews-data.js';
import { ReviewStatus } from './reviews-list.js';
import { Responses, ReportDialog } from './reviews-responses.js';
import { Loaded, Name } from './shared.js';

const keyOf = (one) => `${one.model_id}/${one.finding_id}`;
const worstFirst = (a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || a.file_path.localeCompare(b.file_path) || a.line_start - b.line_start;
const CONFIDENCE = { high: 'good', medium: 'warn', low: 'idle' };

/** One issue that several models found, with what each of them says about it. */
function Group({ of, group, findings, onChange }) {
  const members = group.members.map((member) => findings.get(keyOf(member))).filter(Boolean);
  return html`<article class="group">
    <header class="group-head"><${Severity} of=${group.severity} /><code class="where">${lines(group)}</code>
      ${group.category && html`<span class="tag">${group.category}</span>`}<span class="grow"></span>
      <${Status} kind=${CONFIDENCE[group.confidence]} title=${`${group.agreement_count} of ${group.models_asked} models that responded`}>${group.agreement_count} of ${group.models_asked} models, ${group.confidence} confidence<//></header>
    <h3><${Name} text=${group.title} max=${300} /></h3>
    <div class="findings">${members.map((finding) => html`<${Finding} key=${keyOf(finding)} review=${of.review_id} of=${of} finding=${finding} onChange=${onChange} />`)}</div>
  </article>`;
}

const SHOWN = 50;
function Singles({ of, findings, onChange }) {
  const [shown, setShown] = useState(SHOWN);
  if (!findings.length) return html`<${Empty} title="No model says something that no other says" />`;
  return html`<div class="findings">${findings.slice(0, shown).map((finding) => html`<${Finding} key=${keyOf(finding)} review=${of.review_id} of=${of} finding=${finding} where onChange=${onChange} />`)}</div>
    ${findings.length > shown && html`<footer class="table-foot"><span class="muted">${number(shown)} of ${number(findings.length)}</span><button type="button" onClick=${() => setShown(shown + SHOWN)}>Show more</button></footer>`}`;
}

/** Brings the finding that the address names into view and focus. */
function useFocus(isReady) {
  const [wanted] = useQuery('finding');
  useEffect(() => {
    const found = isReady && wanted && document.getElementById(wanted);
    if (found) { found.scrollIntoView({ block: 'center' }); found.focus({ preventScroll: true }); }
  }, [isReady, wanted]);
}

const remove = (review) => act({
  title: 'Delete this review?', danger: true, button: 'Delete', typeName: review.review_id, done: 'The review was deleted',
  text: 'It goes with its responses, findings and raw outputs, and its share of the comparisons. This cannot be undone.',
  request: { method: 'DELETE', path: `/v1/reviews/${part(review.review_id)}` }, command: weir('reviews', 'delete', review.review_id, '--yes'),
});

/** A link to the pull request; other schemes than http and https stay text. */
function PullRequest({ review }) {
  const text = `${review.owner}/${review.repo}#${review.pr_number}`;
  return /^https?:\/\//i.test(review.pr_url) ? html`<a href=${review.pr_url} rel="noreferrer noopener" target="_blank">${text} ↗</a>` : html`<bdi>${text}</bdi>`;
}

function Body({ review }) {
  const [judged, setJudged] = useState(new Map());
  const findings = useMemo(() => new Map(review.findings.map((finding) => [keyOf(finding), judged.get(keyOf(finding)) ?? finding])), [review, judged]);
  const onChange = (finding) => setJudged((old) => new Map(old).set(keyOf(finding), finding));
  const groups = useMemo(() => [...review.consensus].sort(worstFirst), [review]);
  const grouped = new Set(groups.flatMap((group) => group.members.map(keyOf)));
  const singles = [...findings.values()].filter((finding) => !grouped.has(keyOf(finding))).sort(worstFirst);
  const open = [...findings.values()].filter((finding) => !finding.feedback).length;
  useFocus(true);
  return html`<${Stats}>
      <${Stat} label="Issues that models agree on" value=${number(groups.length)} sub=${groups.length ? html`<${Severity} of=${groups[0].severity} /> is the worst` : 'none'} />
      <${Stat} label="Findings" value=${number(findings.size)} sub=${`${number(open)} without a verdict`} />
      <${Stat} label="Cost" value=${html`<${Cost} usd=${review.total_cost_usd} />`} sub=${`${number(review.models_used.length)} models`} />
      <${Stat} label="Recorded" value=${html`<${Time} at=${review.created_at} />`} sub=${review.requested_by ? html`for <bdi>${review.requested_by}</bdi>` : 'no user named'} />
    <//>
    <p class="sub keys">On a finding: <kbd>j</kbd> <kbd>k</kbd> next and previous, <kbd>a</kbd> accept, <kbd>d</kbd> dismiss</p>
    <${Card} title="What models agree on" sub="Issues that at least two models found">
      ${groups.length ? groups.map((group) => html`<${Group} key=${group.consensus_id} of=${review} group=${group} findings=${findings} onChange=${onChange} />`) : html`<${Empty} title="No issue that several models found" />`}<//>
    <${Card} title="Only one model says so"><${Singles} of=${review} findings=${singles} onChange=${onChange} /><//>
    <${Responses} review=${review} />`;
}

export function Review({ id }) {
  const source = useApi(`/v1/reviews/${part(id)}?include=responses,consensus,findings`);
  const [isReport, setReport] = useState(false);
  const review = source.data;
  const drop = async () => { if (await remove(review) !== undefined) navigate('/reviews/list'); };
  const actions = review && html`<button type="button" onClick=${() => setReport(true)}>Report…</button><${Button} needs=${scopesFor(review)} onClick=${drop}>Delete…<//>`;
  return html`<${PageHead} needs=${review && scopesFor(review)} title=${review ? html`<${Name} text=${review.pr_title || 'Untitled'} max=${200} />` : id} crumbs=${[['Reviews', '/reviews'], ['All reviews', '/reviews/list']]} actions=${actions}
      sub=${review && html`<${PullRequest} review=${review} /> · review <code>${id}</code> · <${ReviewStatus} status=${review.status} />`} />
    <${Loaded} source=${source} lines=${5}>${(data) => html`<${Body} review=${data} />`}<//>
    ${isReport && html`<${ReportDialog} id=${id} onClose=${() => setReport(false)} />`}`;
}
