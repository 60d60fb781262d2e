// One finding: who says what where, and what a person thinks of it.
import { html, useState } from '../app/view.js';
import { post } from '../app/api.js';
import { session, may } from '../app/session.js';
import { Button } from '../app/ui.js';
import { Commands, weir } from '../app/command.js';
import { path } from '../app/router.js';
import { seriesOf } from '../app/series.js';
import { relative, exactTime } from '../app/format.js';
import { LongText, Name, plain } from './shared.js';

/** Severities, the worst first; the shape says it without colour. */
export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info'];
const SHAPES = { critical: '◆', high: '▲', medium: '●', low: '▽', info: '○' };

export function Severity({ of }) {
  return html`<span class=${`severity is-${of}`}><span aria-hidden="true">${SHAPES[of] ?? '○'}</span> ${of}</span>`;
}

export function ModelName({ id }) {
  return html`<span class="model"><span class=${`dot series-${seriesOf(id)}`} aria-hidden="true"></span>${id}</span>`;
}

/** src/login.py:12-14 */
export function lines(finding) {
  const last = finding.line_end > finding.line_start ? `-${finding.line_end}` : '';
  return `${plain(finding.file_path)}:${finding.line_start}${last}`;
}

const span = ({ line_start: first, line_end: last }) => (last > first ? `lines ${first}-${last}` : `line ${first}`);

/** The scopes of which one is enough to change a review. */
export const scopesFor = ({ owner, repo }) => ['reviews', `reviews:${owner}`, `reviews:${owner}/${repo}`];

const feedbackPath = (review, finding) => path`/v1/reviews/${review}/findings/${finding.model_id}/${finding.finding_id}/feedback`;
/** Sends a person's verdict on a finding and returns the finding as it is then. */
export function judge(review, finding, verdict) {
  return post(feedbackPath(review, finding), { verdict, by: session.get().subject });
}

/** Moves between findings with j and k or the arrows; a accepts, d dismisses. */
export function onFindingKey(event, decide) {
  if (event.target !== event.currentTarget || event.metaKey || event.ctrlKey || event.altKey) return;
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
  if (step) {
    const all = [...document.querySelectorAll('.finding')];
    const next = all[all.indexOf(event.currentTarget) + step];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  } else if (event.key === 'a') decide('accepted');
  else if (event.key === 'd') decide('dismissed');
  else return;
  event.preventDefault();
}

function Verdict({ feedback }) {
  if (!feedback) return null;
  const word = feedback.verdict;
  return html`<p class=${`judged is-${word}`} title=${exactTime(feedback.at)}>
    <span aria-hidden="true">${word === 'accepted' ? '✓' : '✕'}</span> ${word} by <bdi>${feedback.by}</bdi>, ${relative(feedback.at)}</p>`;
}

/** The verdict in force from a terminal, or that which may be given. */
function Same({ review, finding }) {
  const verdict = finding.feedback?.verdict ?? 'accepted';
  const by = session.get().subject;
  return html`<${Commands} command=${weir('reviews', 'feedback', review, finding.model_id, finding.finding_id, verdict === 'accepted' ? '--accept' : '--dismiss', '--by', by)}
    request=${{ method: 'POST', path: feedbackPath(review, finding), body: { verdict, by } }} />`;
}

/** A finding that a person can accept or dismiss; `onChange` gets it as it is after that. */
export function Finding({ review, of, finding, onChange, where, link }) {
  const needs = scopesFor(of ?? finding);
  const [state, setState] = useState({ busy: false, error: null });
  const decide = async (verdict) => {
    if (state.busy || finding.feedback?.verdict === verdict || !may(session.get(), ...needs)) return;
    setState({ busy: true, error: null });
    try {
      onChange(await judge(review, finding, verdict));
      setState({ busy: false, error: null });
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  const button = (verdict, label, key) => html`<${Button} needs=${needs} class=${`small ${verdict}`} disabled=${state.busy} aria-pressed=${finding.feedback?.verdict === verdict}
    onClick=${() => decide(verdict)} title=${`${label} (${key})`}>${label}<//>`;
  return html`<article class="finding" tabindex="0" id=${`${finding.model_id}/${finding.finding_id}`} aria-label=${`${finding.severity}: ${finding.title.slice(0, 200)}`} onKeyDown=${(event) => onFindingKey(event, decide)}>
    <header><h4><${Severity} of=${finding.severity} /> <${Name} text=${finding.title} max=${300} /></h4>
      <span class="decide">${button('accepted', 'Accept', 'a')}${button('dismissed', 'Dismiss', 'd')}</span></header>
    <div class="finding-meta"><${ModelName} id=${finding.model_id} />
      ${where ? html`<code class="where">${lines(finding)}</code>` : html`<span>${span(finding)}</span>`}
      ${finding.category && html`<span class="tag">${finding.category}</span>`}
      ${finding.rule && html`<span class="tag">${finding.rule}</span>`}${link}</div>
    <${LongText} text=${finding.description} />
    ${finding.suggestion && html`<div class="suggestion"><span class="sub">Suggestion</span><${LongText} text=${finding.suggestion} /></div>`}
    <${Verdict} feedback=${finding.feedback} />
    <${Same} review=${review} finding=${finding} />
    ${state.error && html`<p class="error-line" role="alert">${state.error.message} ${state.error.requestId && html`<code>${state.error.requestId}</code>`}</p>`}
  </article>`;
}
