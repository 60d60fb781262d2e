// Runs in the page before the console: measures when its content is there. Classic script, added by visit.mjs.
(() => {
  const QUIET_MS = 250;
  const probe = { pending: 0 };
  window.benchProbe = probe;

  // A request is pending until two frames after its body was read, which is when the page has drawn it.
  const drawn = () => requestAnimationFrame(() => requestAnimationFrame(() => { probe.pending -= 1; }));
  const send = window.fetch;
  window.fetch = async (...args) => {
    probe.pending += 1;
    let response;
    try {
      response = await send(...args);
    } catch (error) {
      drawn();
      throw error;
    }
    if (response.status === 204) drawn();
    for (const name of ['json', 'text']) {
      const read = response[name].bind(response);
      response[name] = () => read().finally(drawn);
    }
    return response;
  };

  const isReady = (shows) => document.querySelector('main h1') && document.querySelector(shows) && probe.pending === 0
    && !document.querySelector('main .skeleton, main [aria-busy=true]');

  /** Milliseconds after `start` at which the page was complete and stayed so; an error of the page ends it. */
  probe.shown = (shows, start) => new Promise((resolve) => {
    let since = null;
    const look = () => {
      const now = performance.now();
      const error = document.querySelector('main .error-box');
      if (error) { resolve({ error: error.textContent }); return; }
      since = isReady(shows) ? since ?? now : null;
      if (since !== null && now - since > QUIET_MS) resolve({ ms: since - start });
      else requestAnimationFrame(look);
    };
    look();
  });

  /** Requests since `start`: those of the API, without the stream of live values, and all bytes. */
  probe.requests = (start) => {
    const all = performance.getEntriesByType('resource').filter((one) => one.startTime >= start);
    const of = (one) => new URL(one.name).pathname;
    const api = all.filter((one) => !of(one).startsWith('/assets/') && of(one) !== '/v1/live');
    const sum = (list, field) => list.reduce((total, one) => total + one[field], 0);
    return {
      api: api.map((one) => ({ path: of(one), server: one.responseStart - one.requestStart })),
      apiBytes: sum(api, 'transferSize'), assets: all.filter((one) => of(one).startsWith('/assets/')).length, bytes: sum(all, 'transferSize'),
    };
  };
})();
