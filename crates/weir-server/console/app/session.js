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
  // `first-paint.js` asks early only for an administrator: it does not know what the scopes of a token reach.
  if (now?.admin) localStorage.setItem('weir.admin', '1'); else localStorage.removeItem('weir.admin');
  if (!now) localStorage.removeItem(MARK);
  else if (!localStorage.getItem(MARK)) localStorage.setItem(MARK, '1');
});

/** Whoever comes next finds nothing of this session: not in the document, which starts anew, and not in the browser. */
function startAnew() {
  localStorage.removeItem('weir.series');
  history.replaceState(null, '', '/');
  location.reload();
}

function leave() {
  const had = session.get();
  ended.set(false);
  session.set(null);
  if (had) startAnew();
}

const holder = ({ subject, scopes }) => `${subject} ${scopes}`;
function enter(now) {
  const before = session.get();
  if (before && holder(before) !== holder(now)) startAnew(); else session.set(now);
}

export async function loadSession() {
  if (!localStorage.getItem(MARK)) { leave(); return; }
  try {
    enter(await request('GET', '/v1/session', { atOnce: true }));
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
  enter(await request('POST', '/v1/session', { body }));
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
  localStorage.removeItem('weir.name');
  leave();
}

/** What the scopes of a session name: `ns:acme:read` gives ['acme'] of the kind `ns`; `reviews:read` names nothing. */
export const named = (user, kind) => (user?.scopes ?? []).map((one) => one.split(':'))
  .filter(([of, id]) => of === kind && id && !(kind === 'reviews' && id === 'read')).map(([, id]) => decodeURIComponent(id));
/** The namespaces that the scopes name, `default` first; none for an administrator, who reaches all. */
export const namespacesOf = (user) => (user?.admin ? [] : named(user, 'ns').sort((a, b) => (b === 'default') - (a === 'default')));
/** The repository of a session that reaches no others: `acme/shop`, or ''. */
export const repoOf = (user) => (may(user, 'reviews', 'reviews:read') ? '' : named(user, 'reviews').find((one) => one.includes('/')) ?? '');
/** The apps of a session that reaches no org as a whole: [{ org, app }]. */
export const appsOf = (user) => named(user, 'app').map((app) => ({ org: named(user, 'org')[0], app }));

/** Whether the session has one of these scopes, so that the server does not refuse what takes it. An app beside it narrows an org. */
export const may = (user, ...scopes) => Boolean(user && (user.admin || scopes.some((one) => user.scopes?.includes(one)
  && !(one.startsWith('org:') && named(user, 'app').length))));
