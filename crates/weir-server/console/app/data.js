// Hooks that load data. Leaving the page or changing the address aborts what is under way.
import { useState, useEffect, useLayoutEffect, useCallback, useRef } from './view.js';
import { get, withQuery } from './api.js';
import { returns } from './live.js';

/** Calls `again` when a lost connection came back. */
function useReturn(again) {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => returns.subscribe(() => latest.current()), []);
}

/** Loads one resource: { data, error, loading, reload }. `path` null loads nothing; `every` (s) repeats. */
export function useApi(path, { every } = {}) {
  const [state, setState] = useState({ data: undefined, error: null, loading: Boolean(path), path });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  const isBusy = useRef(false);
  // Before the browser paints, so that the request does not wait for a frame.
  useLayoutEffect(() => {
    if (!path) { setState({ data: undefined, error: null, loading: false, path }); return undefined; }
    const abort = new AbortController();
    isBusy.current = true;
    // What is shown stays while the same address is loaded again, an error too, so that the page does not jump.
    setState((old) => ({ data: old.path === path ? old.data : undefined, error: old.path === path ? old.error : null, loading: true, path }));
    get(path, { signal: abort.signal })
      .then((data) => { isBusy.current = false; setState({ data, error: null, loading: false, path }); })
      .catch((error) => {
        if (abort.signal.aborted) return;
        isBusy.current = false;
        setState((old) => ({ ...old, error, loading: false }));
      });
    return () => abort.abort();
  }, [path, round]);
  useEffect(() => {
    if (!every || !path) return undefined;
    const timer = setInterval(() => { if (!document.hidden && !isBusy.current) reload(); }, every * 1000);
    // A tab that was hidden for longer than that is not shown with what it had.
    let since = Date.now();
    const onVisible = () => {
      if (document.hidden) since = Date.now();
      else if (Date.now() - since > every * 1000) reload();
    };
    document.addEventListener('visibilitychange', onVisible);
    return () => { clearInterval(timer); document.removeEventListener('visibilitychange', onVisible); };
  }, [every, path]);
  useReturn(() => { if (state.error || every) reload(); });
  return { ...state, ...(state.path !== path && { data: undefined, error: null, loading: Boolean(path) }), reload };
}

/**
 * Loads a list page by page: { items, hasMore, more, loading, error, reload }. `more(n)` loads n pages at once. `reload` loads
 * as many pages as there are, and shows the old rows until the new ones are here.
 */
export function useList(path, params = {}, { size = 50 } = {}) {
  const address = path && withQuery(path, { ...params, limit: size });
  const none = { address, items: undefined, cursor: null, pages: 0, error: null, loading: Boolean(path) };
  const [state, setState] = useState(none);
  const [round, setRound] = useState(0);
  const abort = useRef(null);
  // What was loaded from another address is not shown under this one.
  const now = state.address === address ? state : none;
  const load = async (before, count) => {
    abort.current?.abort();
    abort.current = new AbortController();
    const { signal } = abort.current;
    let { items = [], cursor, pages } = before;
    setState((old) => ({ ...(old.address === address ? old : none), loading: true }));
    try {
      for (const end = pages + count; pages < end && (cursor || !pages); pages += 1) {
        const page = await get(cursor ? `${address}&cursor=${encodeURIComponent(cursor)}` : address, { signal });
        items = [...items, ...page.items];
        cursor = page.next_cursor ?? null;
      }
      setState({ address, items, cursor, pages, error: null, loading: false });
    } catch (error) {
      if (!signal.aborted) setState((old) => ({ ...old, error, loading: false }));
    }
  };
  useLayoutEffect(() => {
    if (address) load(none, now.pages || 1); else setState(none);
    return () => abort.current?.abort();
  }, [address, round]);
  useReturn(() => { if (now.error) setRound((n) => n + 1); });
  return {
    ...now,
    hasMore: Boolean(now.cursor),
    more: (count = 1) => { if (now.cursor && !now.loading) load(now, count); },
    reload: useCallback(() => setRound((n) => n + 1), []),
  };
}
