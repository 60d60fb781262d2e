// Runs before the first paint and before the modules.
(() => {
  // A chosen theme does not flash the other one.
  const theme = localStorage.getItem('weir.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;

  // What a page asks for first is under way while the browser loads the modules. `api.js` takes each response from here once.
  const early = new Map();
  window.earlyResponses = early;
  // Pages whose address alone says that, with the group of the address as $1.
  const PAGES = [
    ['/', '/v1/overview'],
    ['/budgets', '/api/v1/budgets?limit=100'],
    ['/budgets/([\\w.-]+)(?:/[\\w-]+)?', '/api/v1/orgs/$1', '/api/v1/budgets?org=$1'],
    ['/limits', '/v1/namespaces/default/resources'],
    ['/limits/entities', '/v1/namespaces/default/entities?limit=50'],
    ['/limits/entities/([\\w.-]+)', '/v1/namespaces/default/entities/$1', '/v1/namespaces/default/entities/$1/buckets'],
    ['/limits/audit', '/v1/namespaces/default/audit?limit=25'],
    ['/limits/namespaces', '/v1/namespaces?limit=100'],
    ['/reviews/review/([\\w.-]+)', '/v1/reviews/$1?include=responses,consensus,findings'],
    ['/practice/jobs', '/v1/practice/jobs/script-generation?limit=25'],
    ['/practice/problems', '/v1/practice/problems?status=needs_review&limit=25'],
    ['/practice/feed', '/v1/practice/feed?limit=25'],
    ['/practice/users', '/v1/practice/users?limit=25', '/v1/practice/plans?limit=100'],
    ['/practice/users/([\\w.-]+)', '/v1/practice/users/$1', '/v1/practice/plans?limit=100'],
    ['/practice/plans', '/v1/practice/plans?limit=25'],
    ['/practice/changes', '/v1/practice/audit?limit=25'],
    ['/settings', '/readyz', '/v1/overview', '/v1/signing-keys?limit=20'],
    ['/settings/tokens', '/v1/tokens?limit=100'],
    ['/settings/jobs', '/v1/jobs'],
    ['/settings/configuration', '/v1/settings'],
  ];
  function ask(path) {
    const response = fetch(path, { headers: { accept: 'application/json' }, credentials: 'same-origin' });
    response.catch(() => { /* whoever takes it handles that */ });
    early.set(path, response);
  }
  // `session.js` sets this mark and says why.
  if (!localStorage.getItem('weir.signed-in')) return;
  ask('/v1/session');
  // A query asks for something else, a hidden tab waits, and what a token reaches is not known yet.
  if (location.search || document.hidden || !localStorage.getItem('weir.admin')) return;
  for (const [page, ...paths] of PAGES) {
    const found = new RegExp(`^${page}$`).exec(location.pathname);
    if (found) paths.forEach((path) => ask(path.replace('$1', found[1])));
  }
  // What the page did not take would be old.
  setTimeout(() => early.clear(), 5000);
})();
