// What the pages of reviews ask the API, and how their addresses are built.
import { withQuery } from '../app/api.js';
import { addDays } from '../app/format.js';
import { useRange } from '../app/range.js';
import { useQuery } from '../app/router.js';

export const reviewHref = (id) => `/reviews/review/${encodeURIComponent(id)}`;
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
  const [repo, setRepo] = useQuery('repo');
  return [repo, setRepo, REPO.test(repo) ? repo : ''];
}

export const comparePath = ({ from, to }, repo) => withQuery('/v1/reviews/compare', { from, to, repo });
export const RECORD = 'weir reviews record review.json';
