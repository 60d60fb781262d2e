// What the pages of reviews ask the API, how their addresses are built, and how figures of models are worded.
import { html } from '../app/view.js';
import { Price } from '../app/ui.js';
import { withQuery } from '../app/api.js';
import { session, repoOf } from '../app/session.js';
import { addDays, number, percent, duration, smallMoney as microMoney } from '../app/format.js';
import { useRange } from '../app/range.js';
import { part, useQuery } from '../app/router.js';

export const reviewHref = (id) => `/reviews/review/${part(id)}`;
export const findingHref = (finding) => `${reviewHref(finding.review_id)}?finding=${encodeURIComponent(`${finding.model_id}/${finding.finding_id}`)}`;

const day = (secs) => new Date(secs * 1000).toISOString().slice(0, 10);

/** The range of the page as whole days in UTC, the last one excluded: comparisons count by day. */
export function useDays(initial = '30d') {
  const range = useRange(initial);
  return { ...range, from: day(range.fromSecs), to: addDays(day(range.toSecs), 1) };
}

const REPO = /^[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+$/;
/** The repository that the page is about: [whole text, set, valid or '']. */
export function useRepo() {
  const [repo, setRepo] = useQuery('repo', repoOf(session.get()));
  return [repo, setRepo, REPO.test(repo) ? repo : ''];
}

export const comparePath = ({ from, to }, repo) => withQuery('/v1/reviews/compare', { from, to, repo });
export const RECORD = 'weir reviews record review.json';

/** A share between 0 and 1, as percent. */
export const shareText = (value) => percent(value === null || value === undefined ? null : value * 100);

/** `$0.0287`: prices of single findings need more than cents. */
export const smallMoney = (usd) => microMoney(usd === null || usd === undefined ? null : Number(usd) * 1e6);

/** The same with every micro-dollar on hover. */
export const Cost = ({ usd }) => html`<${Price} micros=${usd === null || usd === undefined ? null : Number(usd) * 1e6} />`;

/** What the 95 % interval of an estimate says, for a title. */
export function intervalText(estimate, text) {
  if (!estimate || estimate.value === null || estimate.value === undefined) return 'no data';
  const sample = `${number(estimate.sample)} in the sample`;
  if (!estimate.interval) return sample;
  return `95 % interval ${text(estimate.interval.low)} to ${text(estimate.interval.high)}; ${sample}`;
}

/** Columns of the leaderboard: what is best, and how it is read from a model's comparison. */
export const FIGURES = [
  { key: 'reviews', label: 'Reviews', of: (m) => m.reviews, text: number },
  { key: 'success', label: 'Success', of: (m) => m.success_rate.value, estimate: (m) => m.success_rate, text: shareText, best: 'high', help: 'Reviews in which the model responded' },
  { key: 'findings', label: 'Findings', of: (m) => m.findings.findings, text: number },
  { key: 'consensus', label: 'In consensus', of: (m) => m.consensus_share.value, estimate: (m) => m.consensus_share, text: shareText, best: 'high', help: 'Share of its findings that other models made too' },
  { key: 'accepted', label: 'Accepted', of: (m) => m.acceptance_rate.value, estimate: (m) => m.acceptance_rate, text: shareText, best: 'high', help: 'Share of the findings with feedback that a person accepted' },
  { key: 'price', label: 'Per consensus finding', of: (m) => m.cost_per_consensus_finding_usd.value, estimate: (m) => m.cost_per_consensus_finding_usd, text: smallMoney, best: 'low', help: 'Whole cost divided by its findings in a consensus' },
  { key: 'cost', label: 'Cost', of: (m) => Number(m.cost_usd), text: smallMoney },
  { key: 'p95', label: 'Time, p95', of: (m) => m.latency_p95_ms, text: duration, best: 'low', help: 'Time that 95 % of its responses did not exceed' },
];

/** The best value of a figure among models, or null: one model has no best. */
export function bestOf(figure, models) {
  const values = models.map(figure.of).filter((value) => value !== null && value !== undefined);
  if (!figure.best || values.length < 2) return null;
  return figure.best === 'high' ? Math.max(...values) : Math.min(...values);
}
