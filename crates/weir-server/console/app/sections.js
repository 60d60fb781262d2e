// The sections of the console. A page module exports a default component, which gets { segments }, the decoded
// parts of the path after the section; `range` is the time range a section starts with, or null for none.
export const SECTIONS = [
  { key: 'overview', label: 'Overview', href: '/', range: null, load: () => import('../pages/overview.js') },
  { key: 'budgets', label: 'Budgets', href: '/budgets', range: null, load: () => import('../pages/budgets.js') },
  { key: 'limits', label: 'Limits', href: '/limits', range: '24h', load: () => import('../pages/limits.js') },
  { key: 'reviews', label: 'Reviews', href: '/reviews', range: '30d', load: () => import('../pages/reviews.js') },
  { key: 'practice', label: 'Practice', href: '/practice', range: '30d', load: () => import('../pages/practice.js') },
  { key: 'settings', label: 'Settings', href: '/settings', range: null, load: () => import('../pages/settings.js') },
];
