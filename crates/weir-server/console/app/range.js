// The time range of the page, kept in the address: range=24h, or from and to as whole seconds.
import { html, useMemo } from './view.js';
import { useRoute, setQuery } from './router.js';
import { exactTime } from './format.js';

const SIZES = { '1h': 3600, '6h': 21600, '24h': 86400, '7d': 604800, '30d': 2592000, '90d': 7776000 };
const NAMES = { '1h': 'last hour', '6h': 'last 6 h', '24h': 'last 24 h', '7d': 'last 7 days', '30d': 'last 30 days', '90d': 'last 90 days' };

/** { from, to } as RFC 3339, fromSecs, toSecs, label, zoom(from, to), isCustom. `initial`: a key of SIZES. */
export function useRange(initial = '24h') {
  const { query } = useRoute();
  const key = query.get('range');
  const [start, end] = [Number(query.get('from')), Number(query.get('to'))];
  const isCustom = start > 0 && end > start;
  // The end moves by whole minutes, so that a page that renders twice asks once.
  const minute = Math.floor(Date.now() / 60000) * 60 + 60;
  const size = SIZES[key] ?? SIZES[initial];
  const [fromSecs, toSecs] = isCustom ? [start, end] : [minute - size, minute];
  return useMemo(() => ({
    fromSecs, toSecs, isCustom,
    from: new Date(fromSecs * 1000).toISOString(),
    to: new Date(toSecs * 1000).toISOString(),
    label: isCustom ? `${exactTime(fromSecs * 1000)} to ${exactTime(toSecs * 1000)}` : NAMES[key in SIZES ? key : initial],
    zoom: (a, b) => setQuery({ range: null, from: Math.floor(a), to: Math.ceil(b) }),
  }), [fromSecs, toSecs, isCustom, key, initial]);
}

/** The control: in the header for a section with a range, or on a page with `sizes` of its own. */
export function RangePicker({ initial = '24h', sizes = Object.keys(SIZES) }) {
  const { query } = useRoute();
  const isCustom = Number(query.get('from')) > 0 && Number(query.get('to')) > 0;
  const value = isCustom ? 'custom' : query.get('range') ?? initial;
  const change = (event) => setQuery({ range: event.target.value === initial ? null : event.target.value, from: null, to: null });
  return html`<select class="range" aria-label="Time range" value=${value} onChange=${change}>
    ${isCustom && html`<option value="custom">zoomed range</option>`}
    ${sizes.map((key) => html`<option value=${key} selected=${key === value}>${NAMES[key]}</option>`)}
  </select>`;
}
