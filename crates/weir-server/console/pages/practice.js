// Practice: usage against plans, jobs, problems, runs, users. The address selects the view.
import { html } from '../app/view.js';
import { useRoute } from '../app/router.js';
import { NoPage, PageHead, Tabs } from '../app/ui.js';
import { Usage } from './practice-usage.js';
import { Jobs } from './practice-jobs.js';
import { Job } from './practice-job.js';
import { Problems, Feed, Changes } from './practice-lists.js';
import { Users, User } from './practice-users.js';
import { Plans } from './practice-plans.js';
import { TYPES } from './practice-data.js';

const VIEWS = { '': Usage, jobs: Jobs, problems: Problems, feed: Feed, users: Users, plans: Plans, changes: Changes };
const TABS = [['/practice', 'Usage'], ['/practice/jobs', 'Jobs'], ['/practice/problems', 'Problems'], ['/practice/feed', 'Feed'],
  ['/practice/users', 'Users'], ['/practice/plans', 'Plans'], ['/practice/changes', 'Changes']];

export default function PracticePage({ segments: [view = '', first, second] }) {
  const { path } = useRoute();
  if (view === 'users' && first) return html`<${User} key=${first} id=${first} />`;
  if (view === 'jobs' && second && TYPES.some(([key]) => key === first)) return html`<${Job} key=${second} type=${first} id=${second} />`;
  if (!Object.hasOwn(VIEWS, view) || second) return html`<${NoPage} path=${path} home=${['Practice', '/practice']} />`;
  const View = VIEWS[view];
  return html`<${PageHead} title="Practice" needs="practice" sub="Who does what, what plans allow, and what waits for a worker or a person" />
    <${Tabs} label="Views of practice" current=${view ? `/practice/${view}` : '/practice'} items=${TABS} />
    <${View} />`;
}
