// Calls the API of this origin with the session's cookie. A hidden tab waits until it is seen, and an ended session until
// the person has signed in again.
import { createStore } from './store.js';

/** The session as `GET /v1/session` returns it; null: signed out; undefined: not known yet. */
export const session = createStore(undefined);
/** Whether the session ended while its page is open. What is read waits until the person has signed in again. */
export const ended = createStore(false);

export class ApiError extends Error {
  constructor(status, problem, requestId) {
    super(problem.detail || problem.message || problem.title || `HTTP ${status}`);
    this.status = status;
    this.code = problem.error || '';
    this.details = problem.details;
    this.requestId = problem.request_id || requestId || '';
  }
}

const canRead = (signal) => new Promise((resolve, reject) => {
  const isReady = () => !document.hidden && !ended.get();
  if (isReady()) { resolve(); return; }
  const stop = () => { document.removeEventListener('visibilitychange', look); unsubscribe(); };
  const look = () => { if (isReady()) { stop(); resolve(); } };
  const unsubscribe = ended.subscribe(look);
  document.addEventListener('visibilitychange', look);
  signal?.addEventListener('abort', () => { stop(); reject(signal.reason); });
});

async function failure(response) {
  const requestId = response.headers.get('x-request-id');
  let problem = {};
  try { problem = await response.json(); } catch { /* not a problem document: the status says enough */ }
  return new ApiError(response.status, problem, requestId);
}

// What `first-paint.js` asked for while the modules loaded, by path. Whoever signs in then asks anew.
const early = window.earlyResponses;
session.subscribe((now) => { if (!now) early.clear(); });

async function send(path, init) {
  const response = init.method === 'GET' && early.get(path);
  if (!response) return fetch(path, init);
  early.delete(path);
  const found = await response;
  init.signal?.throwIfAborted();
  return found;
}

/** Sends a request and returns the parsed body, or throws an ApiError. `atOnce` reads in a hidden tab, too. */
export async function request(method, path, { body, signal, headers = {}, atOnce } = {}) {
  if (method === 'GET' && !atOnce) await canRead(signal);
  const init = { method, signal, headers: { accept: 'application/json', ...headers }, credentials: 'same-origin' };
  if (method !== 'GET' && session.get()?.csrf_token) init.headers['x-csrf-token'] = session.get().csrf_token;
  if (body !== undefined) {
    init.headers['content-type'] = 'application/json';
    init.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await send(path, init);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, { detail: 'The server does not answer. It may be restarting, or the network is gone.' });
  }
  if (!response.ok) {
    const error = await failure(response);
    if (response.status === 401 && session.get()) ended.set(true);
    throw error;
  }
  if (response.status === 204) return null;
  const type = response.headers.get('content-type') || '';
  return type.includes('json') ? response.json() : response.text();
}

/** Adds parameters to a path; null, undefined and '' are left out. */
export function withQuery(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

export const get = (path, options) => request('GET', path, options);
export const post = (path, body, options) => request('POST', path, { ...options, body });
export const put = (path, body, options) => request('PUT', path, { ...options, body });
export const patch = (path, body, options) => request('PATCH', path, { ...options, body });
export const del = (path, options) => request('DELETE', path, options);

/** Throws when what was loaded has changed on the server since, so that a form does not write over another person's change. */
export async function mustBeAsLoaded(path, loaded, keys) {
  const present = await get(path);
  if (keys.every((key) => JSON.stringify(present[key] ?? null) === JSON.stringify(loaded[key] ?? null))) return;
  throw new ApiError(409, { error: 'CHANGED_MEANWHILE', detail: 'Somebody else has changed this since the form was opened. Close it and open it again to see it as it is now.' });
}
