// Every page of the console: its address, what it shows when it is ready, and what it needs to exist.

const TABLE = 'main tr[data-row]';
const CHART = 'main .uplot';

/** What pages are about: the first or fullest of each kind that the server has. */
export async function subjects(client) {
  const first = async (path) => (await client.get(path)).items[0];
  const entities = (await client.get('/v1/namespaces/default/entities?limit=100')).items;
  const budgets = (await client.get('/api/v1/budgets?limit=100')).items;
  const [review, user, job, resource] = await Promise.all([
    first('/v1/reviews?limit=1'), first('/v1/practice/users?limit=1'), first('/v1/practice/jobs/script-generation?limit=1'),
    first('/v1/namespaces/default/resources'),
  ]);
  const child = entities.find((one) => one.parent) ?? (await client.get('/v1/namespaces/default/entities?limit=1&prefix=user')).items[0] ?? entities[0];
  const org = budgets.reduce((a, b) => (b.used_pct > a.used_pct ? b : a));
  return { org: org.org_id, entity: child.id, parent: child.parent ?? entities[0].id, resource, review: review.review_id, user: user.id, job: job.id };
}

/** [name, path, selector of the content]. Figures of all orgs are kept for seconds: `isKept` pages wait until they are not. */
export function pages(of) {
  const [org, entity, parent] = [of.org, of.entity, of.parent].map(encodeURIComponent);
  const limits = (name, path, shows) => [`limits: ${name}`, `/limits${path}`, shows];
  const reviews = (name, path, shows) => [`reviews: ${name}`, `/reviews${path}`, shows];
  const practice = (name, path, shows) => [`practice: ${name}`, `/practice${path}`, shows];
  const settings = (name, path, shows) => [`settings: ${name}`, `/settings${path}`, shows];
  return [
    ['overview', '/', `${TABLE}`, { isKept: true }],
    ['budgets', '/budgets', TABLE],
    ['budgets: an org', `/budgets/${org}`, CHART],
    ['budgets: what if', `/budgets/${org}/what-if`, 'main form, main .card'],
    ['budgets: apps', `/budgets/${org}/apps`, TABLE],
    ['budgets: credentials', `/budgets/${org}/credentials`, 'main .facts'],
    ['budgets: webhooks', `/budgets/${org}/webhooks`, 'main .card'],
    ['budgets: audit', `/budgets/${org}/audit`, TABLE],
    [...limits('resources', '', TABLE), { isKept: true }],
    limits('a resource', `/resources/${encodeURIComponent(of.resource)}`, 'main .ladder'),
    limits('entities', '/entities', TABLE),
    limits('entity search', `/entities?entities.q=${entity.slice(0, -2)}`, TABLE),
    limits('an entity', `/entities/${entity}`, 'main .bucket-card'),
    limits('a parent', `/entities/${parent}`, 'main .facts'),
    limits('editor', `/edit?level=entity&entity=${entity}&resource=${encodeURIComponent(of.resource)}`, 'main .ladder'),
    limits('audit', '/audit', TABLE),
    limits('namespaces', '/namespaces', TABLE),
    reviews('leaderboard', '', 'main .matrix'),
    reviews('list', '/list', TABLE),
    reviews('findings', '/findings', 'main .finding'),
    reviews('findings by category', '/findings?by=category&category=security', 'main .finding, main .empty'),
    reviews('a review', `/review/${encodeURIComponent(of.review)}`, 'main .finding'),
    practice('usage', '', CHART),
    practice('jobs', '/jobs', TABLE),
    practice('a job', `/jobs/script-generation/${encodeURIComponent(of.job)}`, 'main .facts'),
    practice('problems', '/problems', `${TABLE}, main .empty`),
    practice('feed', '/feed', TABLE),
    practice('users', '/users', TABLE),
    practice('a user', `/users/${encodeURIComponent(of.user)}`, 'main .facts'),
    practice('plans', '/plans', TABLE),
    practice('changes', '/changes', TABLE),
    settings('server', '', TABLE),
    settings('tokens', '/tokens', TABLE),
    settings('jobs', '/jobs', TABLE),
    settings('configuration', '/configuration', TABLE),
    settings('security log', '/security-log', TABLE),
  ].map(([name, path, shows, more]) => ({ name, path, shows, ...more }));
}
