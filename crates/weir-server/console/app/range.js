// The time range of the page, kept in the address: range=24h, or from and to as whole seconds.
import { html, useEffect, useMemo } from './view.js';
import { createStore, useStore } from './store.js';
import { useRoute, setQuery } from './router.js';
import { exactTime } from './format.js';

const SIZES = { '1h': 3600, '6h': 21600, '24h': 86400, '7d': 604800, '30d': 2592000, '90d': 7776000 };
// RFC 3339 has four digits for a year.
const LATEST = 253402300799;
const sizeOf = (key, initial) => (Object.hasOwn(SIZES, key) ? key : initial);
/** A zoomed range of the address: [from, to] in seconds, or null. */
function zoomed(query) {
  const [start, end] = [Number(query.get('from')), Number(query.get('to'))];
  return start > 0 && end > start && end <= LATEST ? [start, end] : null;
}

// The header shows the picker while a part of the page uses the range.
const users = createStore(0);
export const useRangeUsers = () => useStore(users);

const NAMES = { '1h': 'last hour', '6h': 'last 6 h', '24h': 'last 24 h', '7d': 'last 7 days', '30d': 'last 30 days', '90d': 'last 90 days' };

let kept = {};
/** The end of a range up to now, in seconds. A page keeps it, for an hour at most, so that its lists keep what they loaded. */
function endOf(page, key) {
  if (kept.page !== page) kept = { page };
  const now = Date.now() / 1000;
  if (!(kept[key] > now - 3600)) kept[key] = Math.floor(now / 60) * 60 + 60;
  return kept[key];
}

/** { from, to } as RFC 3339, fromSecs, toSecs, label, zoom(from, to), isCustom. `initial`: a key of SIZES. */
export function useRange(initial = '24h') {
  const { path, query } = useRoute();
  const key = sizeOf(query.get('range'), initial);
  const [start, end] = zoomed(query) ?? [];
  const isCustom = start !== undefined;
  useEffect(() => { users.set(users.get() + 1); return () => users.set(users.get() - 1); }, []);
  const now = endOf(path, key);
  const [fromSecs, toSecs] = isCustom ? [start, end] : [now - SIZES[key], now];
  return useMemo(() => ({
    fromSecs, toSecs, isCustom,
    from: new Date(fromSecs * 1000).toISOString(),
    to: new Date(toSecs * 1000).toISOString(),
    label: isCustom ? `${exactTime(fromSecs * 1000)} to ${exactTime(toSecs * 1000)}` : NAMES[key],
    zoom: (a, b) => setQuery({ range: null, from: Math.floor(a), to: Math.ceil(b) }, { keep: true }),
  }), [fromSecs, toSecs, isCustom, key]);
}

/** The control: in the header for a section with a range, or on a page with `sizes` of its own. */
export function RangePicker({ initial = '24h', sizes = Object.keys(SIZES) }) {
  const { query } = useRoute();
  const custom = zoomed(query);
  const value = custom ? 'custom' : sizeOf(query.get('range'), initial);
  const title = custom ? custom.map((secs) => exactTime(secs * 1000)).join(' to ') : undefined;
  const change = (event) => setQuery({ range: event.target.value === initial ? null : event.target.value, from: null, to: null });
  return html`<select class="range" aria-label="Time range" title=${title} value=${value} onChange=${change}>
    ${custom && html`<option value="custom">zoomed range</option>`}
    ${sizes.map((key) => html`<option value=${key} selected=${key === value}>${NAMES[key]}</option>`)}
  </select>`;
}
