// Usage of an entity by hour, day and month, as the job `limiter-usage` recorded it.
import { html, useState, useLayoutEffect, useMemo } from '../app/view.js';
import { get, withQuery } from '../app/api.js';
import { useQuery } from '../app/router.js';
import { useRange } from '../app/range.js';
import { seriesToken } from '../app/series.js';
import { number, compact, clock, dayName } from '../app/format.js';
import { Card, Segmented, ErrorBox } from '../app/ui.js';
import { Chart } from '../app/chart.js';
import { weir, Commands } from '../app/command.js';
import { api } from './limits-data.js';
import { Choice } from './shared.js';

const WINDOWS = [['hourly', 'Hour'], ['daily', 'Day'], ['monthly', 'Month']];
const LEAST = { hourly: 3600, daily: 30 * 86400, monthly: 365 * 86400 };
const PAGES = 10;

/** All windows of a range, at most ten pages of them. */
async function load(path, signal) {
  let page = await get(path, { signal });
  const items = [...page.items];
  for (let n = 1; page.next_cursor && n < PAGES; n += 1) {
    page = await get(`${path}&cursor=${encodeURIComponent(page.next_cursor)}`, { signal });
    items.push(...page.items);
  }
  return { items, isCut: Boolean(page.next_cursor) };
}

function useUsage(ns, entity, window, from, to) {
  const path = withQuery(api`${ns}/usage`, { entity, window, from, to, limit: 100 });
  const [state, setState] = useState({});
  useLayoutEffect(() => {
    const abort = new AbortController();
    setState({});
    load(path, abort.signal).then((data) => setState({ data }))
      .catch((error) => { if (!abort.signal.aborted) setState({ error }); });
    return () => abort.abort();
  }, [path]);
  return state;
}

/** The start of the window after `at` (s). Days and months are those of UTC, as usage is counted. */
function following(at, window) {
  if (window === 'hourly') return at + 3600;
  if (window === 'daily') return at + 86400;
  const day = new Date(at * 1000);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 1) / 1000;
}

/** The start of the window that holds `at` (s). */
function beginning(at, window) {
  if (window !== 'monthly') return at - (at % (window === 'hourly' ? 3600 : 86400));
  const day = new Date(at * 1000);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), 1) / 1000;
}

/** Windows as stacked bars, one series for each resource; a window without usage is 0. */
export function toSeries(items, limit, window, from, to) {
  if (!items.length) return { x: [], series: [] };
  const used = items.filter((one) => one.used[limit] !== undefined);
  const at = (one) => Date.parse(one.start) / 1000;
  const x = [];
  for (let t = beginning(from, window); t < to; t = following(t, window)) x.push(t);
  const position = new Map(x.map((t, i) => [t, i]));
  const resources = [...new Set(used.map((one) => one.resource))].sort();
  const values = new Map(resources.map((name) => [name, x.map(() => 0)]));
  for (const one of used) if (position.has(at(one))) values.get(one.resource)[position.get(at(one))] += one.used[limit];
  return { x, series: resources.map((name) => ({ label: name, values: values.get(name), color: seriesToken(name), kind: 'bar', stacked: true })) };
}

const LABELS = {
  hourly: (at) => `${dayName(at * 1000, 'UTC')}, ${clock(at * 1000, 'UTC')} to ${clock((at + 3600) * 1000, 'UTC')} UTC`,
  daily: (at) => `${dayName(at * 1000, 'UTC')}, UTC`,
  monthly: (at) => `${new Date(at * 1000).toISOString().slice(0, 7)}, UTC`,
};

export function Usage({ ns, entity }) {
  const [asked, setWindow] = useQuery('window', 'hourly');
  const window = Object.hasOwn(LEAST, asked) ? asked : 'hourly';
  const [chosen, setLimit] = useQuery('limit');
  const range = useRange('24h');
  const from = beginning(Math.min(range.fromSecs, range.toSecs - LEAST[window]), window);
  const { data, error } = useUsage(ns, entity, window, new Date(from * 1000).toISOString(), range.to);
  const names = useMemo(() => [...new Set((data?.items ?? []).flatMap((one) => Object.keys(one.used)))].sort(), [data]);
  const limit = names.includes(chosen) ? chosen : names.find((name) => name.startsWith('t')) ?? names[0];
  const { x, series } = useMemo(() => (data ? toSeries(data.items, limit, window, from, range.toSecs) : {}), [data, limit]);
  const tools = html`${names.length > 1 && html`<${Choice} label="Limit" value=${limit} onChange=${setLimit} options=${names.map((name) => [name, name])} />`}
    <${Segmented} label="Window" value=${window} options=${WINDOWS} onChange=${setWindow} />`;
  return html`<${Card} title="Usage" sub="Tokens that were taken, less those that were returned" actions=${tools}>
    ${error ? html`<${ErrorBox} error=${error} />` : html`<${Chart} label=${`Usage of ${entity}, ${window}`} unit=${limit ? `${limit} used` : ''} x=${x} series=${series ?? []} format=${compact} exact=${number} zone="UTC"
      xFormat=${LABELS[window]} onZoom=${window === 'hourly' ? range.zoom : undefined} empty="No usage in this range" />`}
    ${data?.isCut && html`<p class="muted">The range has more than ${number(data.items.length)} windows; the first ones are shown. Select a shorter range.</p>`}
    <${Commands} command=${weir('limiter', 'usage', '--namespace', ns, '--entity', entity, '--window', window)} request=${{ path: withQuery(api`${ns}/usage`, { entity, window }) }} />
  <//>`;
}
