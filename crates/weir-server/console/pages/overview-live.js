// Requests per second as they come, of the last five minutes that this tab was open.
import { html, useMemo } from '../app/view.js';
import { createStore, useStore } from '../app/store.js';
import { live } from '../app/live.js';
import { Chart } from '../app/chart.js';
import { Card } from '../app/ui.js';

const KEEP_SECS = 300;
const GAP_SECS = 8;
const history = createStore([]);

function keep({ tick }) {
  const at = tick && Date.parse(tick.at) / 1000;
  const all = history.get();
  const last = all.at(-1);
  if (!at || (last && at <= last.at)) return;
  const sum = (key) => tick.limiter.reduce((total, one) => total + one[key], 0);
  const point = { at, granted: sum('granted_per_sec'), refused: sum('refused_per_sec') };
  // A lost connection is a gap in the chart, not a line across it.
  const gap = last && at - last.at > GAP_SECS ? [{ at: last.at + 1, granted: null, refused: null }] : [];
  history.set([...all, ...gap, point].filter((one) => one.at > at - KEEP_SECS));
}
keep(live.get());
live.subscribe(keep);

/** No more than a minute before the first reading: a new page is not an empty chart. */
const lastMinutes = () => {
  const now = Date.now() / 1000;
  return [Math.max(now - KEEP_SECS, Math.min(history.get()[0]?.at ?? now, now - 60)), now];
};
export const rate = (value) => (value ?? 0).toLocaleString('en-US', { maximumFractionDigits: value < 1 ? 2 : value < 10 ? 1 : 0 });

export function LiveTraffic() {
  const points = useStore(history);
  const { x, series } = useMemo(() => ({
    x: points.map((one) => one.at),
    series: [
      { label: 'granted', kind: 'area', color: 'accent', values: points.map((one) => one.granted) },
      { label: 'refused', kind: 'line', color: 'bad', dash: true, values: points.map((one) => one.refused) },
    ],
  }), [points]);
  const last = points.at(-1);
  return html`<${Card} class="grow" title="Limiter, live" sub=${last?.granted !== null && last ? `${rate(last.granted)} granted and ${rate(last.refused)} refused per second now` : 'Waiting for the first values'}>
    <${Chart} label="Requests per second, live" x=${x} series=${series} format=${rate} unit="requests/s" height=${220} xRange=${lastMinutes}
      xFormat=${(at) => new Date(at * 1000).toLocaleTimeString('en-GB')} empty="Waiting for the first values" />
  <//>`;
}
