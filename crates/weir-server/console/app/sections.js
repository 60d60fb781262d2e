// The sections of the console. A page module exports a default component, which gets { segments }, the decoded
// parts of the path after the section; `range` is the time range a section starts with, or null for none; `scope` matches the
// scopes without which the server refuses all of it.
export const SECTIONS = [
  { key: 'overview', label: 'Overview', href: '/', range: null, load: () => import('../pages/overview.js') },
  { key: 'budgets', label: 'Budgets', href: '/budgets', scope: /^org:/, range: null, load: () => import('../pages/budgets.js') },
  { key: 'limits', label: 'Limits', href: '/limits', scope: /^ns:/, range: '24h', load: () => import('../pages/limits.js') },
  { key: 'reviews', label: 'Reviews', href: '/reviews', scope: /^reviews/, range: '30d', load: () => import('../pages/reviews.js') },
  { key: 'practice', label: 'Practice', href: '/practice', scope: /^practice(:read)?$/, range: '30d', load: () => import('../pages/practice.js') },
  { key: 'settings', label: 'Settings', href: '/settings', scope: /^admin$/, range: null, load: () => import('../pages/settings.js') },
];

/** The sections that a session's scopes reach. An address of another one still works, and says which scope it needs. */
export const reached = (user) => SECTIONS.filter(({ scope }) => !scope || user.admin || user.scopes?.some((one) => scope.test(one)));
