// Hooks that load data. Leaving the page or changing the address aborts what is under way.
import { useState, useEffect, useCallback, useRef } from './view.js';
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
  useEffect(() => {
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
  return { ...state, data: state.path === path ? state.data : undefined, reload };
}

/** Loads a list page by page: { items, hasMore, more, loading, error, reload }. */
export function useList(path, params = {}, { size = 50 } = {}) {
  const address = path && withQuery(path, { ...params, limit: size });
  const [state, setState] = useState({ items: undefined, cursor: null, error: null, loading: Boolean(path) });
  const [round, setRound] = useState(0);
  const abort = useRef(null);
  const load = (cursor, before) => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    setState((old) => ({ ...old, loading: true, error: null }));
    get(cursor ? `${address}&cursor=${encodeURIComponent(cursor)}` : address, { signal: controller.signal })
      .then((page) => setState({
        items: [...before, ...page.items], cursor: page.next_cursor ?? null, error: null, loading: false, page,
      }))
      .catch((error) => {
        if (!controller.signal.aborted) setState((old) => ({ ...old, error, loading: false }));
      });
  };
  useEffect(() => {
    if (!address) { setState({ items: undefined, cursor: null, error: null, loading: false }); return undefined; }
    setState((old) => ({ items: old.address === address ? old.items : undefined, cursor: null, error: null, loading: true }));
    load(null, []);
    return () => abort.current?.abort();
  }, [address, round]);
  useReturn(() => { if (state.error) setRound((n) => n + 1); });
  return {
    ...state,
    hasMore: Boolean(state.cursor),
    more: () => { if (state.cursor && !state.loading) load(state.cursor, state.items ?? []); },
    reload: useCallback(() => setRound((n) => n + 1), []),
  };
}
