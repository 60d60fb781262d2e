// What the palette offers: pages and commands at once; orgs, entities and reviews as far as the session reaches.
import { get, withQuery, session } from './api.js';
import { plain } from './format.js';
import { path, segments, route } from './router.js';
import { addPaletteSource, matches } from './palette.js';
import { signOut, may, namespacesOf, repoOf } from './session.js';
import { toggleTheme } from './theme.js';
import { reached } from './sections.js';

const SETTINGS = [['Tokens', 'tokens'], ['Background jobs', 'jobs'], ['Configuration', 'configuration'], ['Security log', 'security-log']];
const ORG_TABS = [['Spend', ''], ['What if', '/what-if'], ['Apps', '/apps'], ['Credentials', '/credentials'], ['Webhooks', '/webhooks'], ['Audit', '/audit']];

/** The tabs of the budget that is open come first: they are what a person is most likely to want. */
function here() {
  const [section, org] = segments(route.get().path);
  if (section !== 'budgets' || !org) return [];
  return ORG_TABS.map(([label, tab]) => ({ label: `${label} of ${org}`, hint: 'here', href: path`/budgets/${org}` + tab }));
}

const reaches = (section) => Boolean(session.get()) && reached(session.get()).some(({ key }) => key === section);

/** The list of reviews that the scopes reach; none for those of an owner, which have no list. */
const reviewsOf = (user) => (may(user, 'reviews', 'reviews:read') ? '/v1/reviews' : repoOf(user) && path`/v1/reviews/repos/${repoOf(user).split('/')[0]}/${repoOf(user).split('/')[1]}`);

const PREFIX = /^[A-Za-z0-9][A-Za-z0-9_.:@-]+$/;
const PAGES = 10;
const ENOUGH = 8;
/**
 * A source that reads a list page by page, and further only while too little of it matches. What was read serves while the
 * palette stays open; nothing is read before two letters, or beyond the session's scopes.
 */
function searched(section, route, entryOf) {
  let read = { entries: [], cursor: '', pages: 0 };
  return async (text, signal, isFirst) => {
    if (isFirst) read = { entries: [], cursor: '', pages: 0 };
    const from = text.length > 1 && reaches(section) && route(session.get());
    if (!from) return [];
    const isWanted = () => read.cursor !== null && read.pages < PAGES && read.entries.filter((entry) => matches(entry, text)).length < ENOUGH;
    while (isWanted()) {
      const before = read;
      const page = await get(withQuery(from, { limit: 100, cursor: before.cursor }), { signal });
      read = { entries: [...before.entries, ...page.items.map(entryOf)], cursor: page.next_cursor ?? null, pages: before.pages + 1 };
    }
    return read.entries;
  };
}

export function startPalette() {
  addPaletteSource('here', here);
  addPaletteSource('pages', () => [
    ...reached(session.get()).map(({ label, href }) => ({ label, hint: 'page', href })),
    ...(session.get()?.admin ? SETTINGS.map(([label, tab]) => ({ label, hint: 'settings', href: `/settings/${tab}` })) : []),
  ]);
  // Who may not list orgs sees those of the own budgets.
  addPaletteSource('orgs', searched('budgets', (session) => (session.admin ? '/api/v1/orgs' : '/api/v1/budgets'),
    (org) => ({ label: plain(org.org_name), hint: `budget ${org.org_id}`, href: path`/budgets/${org.org_id}` })));
  addPaletteSource('entities', async (text, signal) => {
    if (!PREFIX.test(text) || !reaches('limits')) return [];
    const ns = route.get().query.get('ns') || (namespacesOf(session.get())[0] ?? 'default');
    const { items } = await get(withQuery(path`/v1/namespaces/${ns}/entities`, { prefix: text, limit: 8 }), { signal });
    return items.map((entity) => ({ label: entity.id, hint: `entity of ${ns}`, href: withQuery(path`/limits/entities/${entity.id}`, { ns: ns === 'default' ? null : ns }) }));
  });
  addPaletteSource('reviews', searched('reviews', reviewsOf,
    (review) => ({ label: plain(review.pr_title || 'Untitled'), hint: `review of ${review.owner}/${review.repo} #${review.pr_number}`, href: path`/reviews/review/${review.review_id}` })));
  addPaletteSource('commands', () => [
    { label: 'Switch between light and dark', hint: 'command', run: toggleTheme },
    { label: 'Sign out', hint: 'command', run: () => signOut() },
  ]);
}
