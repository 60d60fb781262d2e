// Signing in and out. The credential is sent once; the cookie that stands for it cannot be read by scripts.
import { createStore } from './store.js';
import { session, ended, request } from './api.js';

export { session, ended };
/** Why the session could not be loaded: the server did not answer, or not with the session. */
export const sessionError = createStore(null);

// The cookie cannot be read from here. This mark spares a browser without a session a request that must fail. All tabs share it
// as they share the cookie: it changes when somebody signs in or out in any of them.
const MARK = 'weir.signed-in';
const RETRY_MS = 3000;
session.subscribe((now) => {
  if (!now) localStorage.removeItem(MARK);
  else if (!localStorage.getItem(MARK)) localStorage.setItem(MARK, '1');
});

function leave() {
  ended.set(false);
  session.set(null);
}

export async function loadSession() {
  if (!localStorage.getItem(MARK)) { leave(); return; }
  try {
    session.set(await request('GET', '/v1/session', { atOnce: true }));
    sessionError.set(null);
    ended.set(false);
  } catch (error) {
    if (error.status === 401) { sessionError.set(null); if (!session.get()) leave(); return; }
    // The session may still be good: a server that restarts does not sign anybody out.
    if (session.get()) return;
    sessionError.set(error);
    setTimeout(loadSession, RETRY_MS);
  }
}

export function followOtherTabs() {
  addEventListener('storage', ({ key, newValue }) => {
    if (key !== MARK) return;
    if (newValue) loadSession(); else leave();
  });
}

export async function signIn(credential, name) {
  const body = name ? { credential, name } : { credential };
  session.set(await request('POST', '/v1/session', { body }));
  ended.set(false);
  localStorage.setItem(MARK, String(Date.now()));
}

/** Gives the session up on this page, for example to sign in as somebody else. */
export const forget = leave;

export async function signOut({ everywhere = false } = {}) {
  try {
    await request('DELETE', `/v1/session${everywhere ? '?everywhere=true' : ''}`);
  } catch (error) {
    // A session that has ended already is signed out; anything else must be seen.
    if (error.status !== 401) throw error;
  }
  leave();
}

/** Whether the session's scopes reach `scope`, for hiding actions that the server would refuse anyway. */
export function may(current, scope) {
  return Boolean(current && (current.admin || current.scopes?.includes(scope)));
}
