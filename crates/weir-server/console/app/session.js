// Signing in and out. The credential is sent once; the cookie that stands for it cannot be read by scripts.
import { session, request } from './api.js';

export { session };

// The cookie cannot be read from here. This mark spares a browser without a session a request that must fail.
const MARK = 'weir.signed-in';
session.subscribe((now) => {
  if (now) localStorage.setItem(MARK, '1'); else localStorage.removeItem(MARK);
});

export async function loadSession() {
  if (!localStorage.getItem(MARK)) { session.set(null); return; }
  try {
    session.set(await request('GET', '/v1/session'));
  } catch {
    session.set(null);
  }
}

export async function signIn(credential, name) {
  const body = name ? { credential, name } : { credential };
  session.set(await request('POST', '/v1/session', { body }));
}

export async function signOut({ everywhere = false } = {}) {
  try {
    await request('DELETE', `/v1/session${everywhere ? '?everywhere=true' : ''}`);
  } catch (error) {
    // A session that has ended already is signed out; anything else must be seen.
    if (error.status !== 401) throw error;
  }
  session.set(null);
}

/** Whether the session's scopes reach `scope`, for hiding actions that the server would refuse anyway. */
export function may(current, scope) {
  return Boolean(current && (current.admin || current.scopes?.includes(scope)));
}
