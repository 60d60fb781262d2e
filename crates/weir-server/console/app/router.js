// Addresses: the path selects a page, the query holds filters. Both survive a reload and can be shared.
import { html, useCallback } from './view.js';
import { createStore, useStore } from './store.js';

const read = () => ({ path: location.pathname, query: new URLSearchParams(location.search) });
export const route = createStore(read());
/** What is shown once: the page and the dialog stay until they are closed on purpose. */
export const ONCE = '.secret, [data-once]';
export const isHeld = () => Boolean(document.querySelector(ONCE));
let at = location.href;
addEventListener('popstate', () => {
  if (isHeld()) { history.pushState(null, '', at); return; }
  at = location.href;
  route.set(read());
});
addEventListener('beforeunload', (event) => { if (isHeld()) event.preventDefault(); });

/** Opens a path of the console. `replace` keeps the history short, as for a filter. */
export function navigate(to, { replace = false } = {}) {
  if (to === location.pathname + location.search || isHeld()) return;
  const samePage = new URL(to, location).pathname === location.pathname;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  at = location.href;
  route.set(read());
  if (!samePage) scrollTo(0, 0);
}

export const useRoute = () => useStore(route);

/**
 * One part of a path, encoded. A browser takes `.` and `..` for the folder and the one above even when they are encoded, so the
 * server gets them encoded twice: as a name that nothing has.
 */
export const part = (text) => encodeURIComponent(String(text)).replace(/^\.{1,2}$/, (dots) => dots.replaceAll('.', '%252E'));

/** Builds a path from parts that are encoded: path`/budgets/${org}`. */
export function path(strings, ...parts) {
  return strings.reduce((all, text, i) => all + part(parts[i - 1]) + text);
}

/** The segments of the current path, decoded: `/budgets/acme` gives ['budgets', 'acme']. */
export function segments(pathname) {
  return pathname.split('/').filter(Boolean).map((part) => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
}

/** Sets or removes (null, '') parameters of the query and keeps the others. `keep` lets the browser go back to what was before. */
export function setQuery(changes, { keep = false } = {}) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  navigate(location.pathname + (text ? `?${text}` : ''), { replace: !keep });
}

/** One parameter of the query as state: const [sort, setSort] = useQuery('sort', 'name'). */
export function useQuery(name, initial = '') {
  const { query } = useRoute();
  const set = useCallback((value) => setQuery({ [name]: value === initial ? null : value }), [name, initial]);
  return [query.get(name) ?? initial, set];
}

/** A path of the console with the present range and repository, which hold across the views of a section. */
export function keeping(href) {
  const to = new URL(href, location);
  for (const name of ['range', 'from', 'to', 'repo']) {
    const value = route.get().query.get(name);
    if (value && !to.searchParams.has(name)) to.searchParams.set(name, value);
  }
  return to.pathname + to.search;
}

/** A link that opens a page without a reload; modified clicks keep the browser's meaning. */
export function Link({ href, children, ...rest }) {
  const onClick = (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(href);
  };
  return html`<a href=${href} onClick=${onClick} ...${rest}>${children}</a>`;
}
