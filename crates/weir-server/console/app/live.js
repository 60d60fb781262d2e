// Live values by server-sent events. The browser reconnects on its own; a hidden tab is disconnected.
import { createStore, useStore } from './store.js';
import { session, ended, request } from './api.js';

/** { status: 'off' | 'connecting' | 'live' | 'lost' | 'hidden', tick, lostAt, answers: whether the server answers other requests } */
export const live = createStore({ status: 'off', tick: null, lostAt: null, answers: false });
/** Counts how often a lost connection came back: what failed meanwhile is loaded again. */
export const returns = createStore(0);
let source = null;
let retry = null;
let watch = null;
// A tick comes every two seconds. A connection whose other end is gone may stay open without one.
const SILENCE_MS = 10000;
const RETRY_MS = 3000;

function set(status, more) {
  const old = live.get();
  const lostAt = status === 'lost' ? old.lostAt ?? Date.now() : status === 'live' ? null : old.lostAt;
  live.set({ ...old, ...more, status, lostAt });
  if (status === 'live' && old.lostAt) returns.set(returns.get() + 1);
}

function close(status) {
  clearTimeout(retry);
  clearTimeout(watch);
  source?.close();
  source = null;
  set(status);
}

function lose() {
  close('lost');
  retry = setTimeout(open, RETRY_MS);
  // A 401 ends the session; anything else is tried again.
  request('GET', '/v1/session').then(() => true, (error) => error.status > 0).then((answers) => set(live.get().status, { answers }));
}

function hear() {
  clearTimeout(watch);
  watch = setTimeout(lose, SILENCE_MS);
}

function open() {
  if (source || document.hidden || !session.get() || ended.get()) return;
  set(live.get().lostAt ? 'lost' : 'connecting');
  source = new EventSource('/v1/live');
  hear();
  source.addEventListener('open', () => { hear(); set('live'); });
  source.addEventListener('tick', (event) => { hear(); set('live', { tick: JSON.parse(event.data) }); });
  // The server ends each stream in time, and says so: the browser opens the next, and nothing is lost.
  let isRenewed = false;
  source.addEventListener('reconnect', () => { hear(); isRenewed = true; });
  source.addEventListener('error', () => {
    const isClosed = source?.readyState === EventSource.CLOSED;
    if (isRenewed && !isClosed) { isRenewed = false; return; }
    set('lost', { answers: false });
    // The browser gives up after an HTTP error, such as that of a server that starts or of a session that ended.
    if (isClosed) lose();
  });
}

export function startLive() {
  const follow = () => (session.get() && !ended.get() ? open() : close('off'));
  session.subscribe(follow);
  ended.subscribe(follow);
  document.addEventListener('visibilitychange', () => (document.hidden ? close('hidden') : open()));
  addEventListener('pagehide', () => close('off'));
  addEventListener('pageshow', (event) => { if (event.persisted) open(); });
  open();
}

export const useLive = () => useStore(live);
