// Reviews: which model is worth its money, what was found, and what people think of it. The address selects the view.
import { html } from '../app/view.js';
import { useRoute } from '../app/router.js';
import { PageHead, Tabs, ErrorBox } from '../app/ui.js';
import { Models } from './reviews-models.js';
import { ReviewList } from './reviews-list.js';
import { Findings } from './reviews-findings.js';
import { Review } from './reviews-review.js';

const VIEWS = { '': Models, list: ReviewList, findings: Findings };
const TABS = [['/reviews', 'Models'], ['/reviews/list', 'Reviews'], ['/reviews/findings', 'Findings']];

export default function ReviewsPage({ segments: [view = '', id] }) {
  const { path } = useRoute();
  if (view === 'review' && id) return html`<${Review} key=${id} id=${id} />`;
  const View = VIEWS[view];
  if (!View) return html`<${ErrorBox} error=${{ message: `There is no page ${path}.` }} />`;
  return html`<${PageHead} title="Reviews" sub="What models find in pull requests, what they agree on, and what it costs" />
    <${Tabs} label="Views of reviews" current=${view ? `/reviews/${view}` : '/reviews'} items=${TABS} />
    <${View} />`;
}
