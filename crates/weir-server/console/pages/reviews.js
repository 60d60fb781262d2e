// Reviews: which model is worth its money, what was found, and what people think of it. The address selects the view.
import { html } from '../app/view.js';
import { useRoute } from '../app/router.js';
import { NoPage, PageHead, Tabs } from '../app/ui.js';
import { Models } from './reviews-models.js';
import { ReviewList } from './reviews-list.js';
import { Findings } from './reviews-findings.js';
import { Review } from './reviews-review.js';

const VIEWS = { '': Models, list: ReviewList, findings: Findings };
const TABS = [['/reviews', 'Models'], ['/reviews/list', 'Reviews'], ['/reviews/findings', 'Findings']];

export default function ReviewsPage({ segments: [view = '', id] }) {
  const { path } = useRoute();
  if (view === 'review' && id) return html`<${Review} key=${id} id=${id} />`;
  if (!Object.hasOwn(VIEWS, view)) return html`<${NoPage} path=${path} home=${['Reviews', '/reviews']} />`;
  const View = VIEWS[view];
  return html`<${PageHead} title="Reviews" sub="What models find in pull requests, what they agree on, and what it costs" />
    <${Tabs} label="Views of reviews" current=${view ? `/reviews/${view}` : '/reviews'} items=${TABS} />
    <${View} />`;
}
