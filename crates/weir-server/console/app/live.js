// Live values by server-sent events. The browser reconnects on its own; a hidden tab is disconnected.
import { createStore, useStore } from './store.js';
import { session } from './api.js';

/** { status: 'off' | 'connecting' | 'live' | 'lost' | 'hidden', tick } */
export const live = createStore({ status: 'off', tick: null });
let source = null;
let retry = null;

function close(status) {
  clearTimeout(retry);
  source?.close();
  source = null;
  live.set({ ...live.get(), status });
}

function open() {
  if (source || document.hidden || !session.get()) return;
  live.set({ ...live.get(), status: live.get().status === 'lost' ? 'lost' : 'connecting' });
  source = new EventSource('/v1/live');
  source.addEventListener('open', () => live.set({ ...live.get(), status: 'live' }));
  source.addEventListener('tick', (event) => live.set({ status: 'live', tick: JSON.parse(event.data) }));
  source.addEventListener('error', () => {
    const isClosed = source?.readyState === EventSource.CLOSED;
    live.set({ ...live.get(), status: 'lost' });
    // The browser gives up after an HTTP error, such as that of a server that starts.
    if (isClosed) { close('lost'); retry = setTimeout(open, 3000); }
  });
}

export function startLive() {
  session.subscribe((now) => (now ? open() : close('off')));
  document.addEventListener('visibilitychange', () => (document.hidden ? close('hidden') : open()));
  addEventListener('pagehide', () => close('off'));
  open();
}

export const useLive = () => useStore(live);
