// What several budget pages show in the same way.
import { html } from '../app/view.js';
import { Status } from '../app/ui.js';
import { seriesOf, seriesToken } from '../app/series.js';
import { money } from '../app/format.js';

/** kind and title of a budget's state, for Status. */
export function budgetStatus({ status, used_pct: used }) {
  if (status === 'EXCEEDED') return { kind: 'bad', title: 'Every quota is spent' };
  if (status === 'TIGHT' || used >= 80) return { kind: 'warn', title: status === 'TIGHT' ? 'Tight: clients check more often' : 'Above 80 %' };
  return { kind: 'good', title: 'Within its quotas' };
}
const WORDS = { EXCEEDED: ['bad', 'exceeded'], TIGHT: ['warn', 'tight'], NORMAL: ['good', 'normal'] };
export const QuotaState = ({ state }) => {
  const [kind, word] = WORDS[state] ?? ['idle', String(state).toLowerCase()];
  return html`<${Status} kind=${kind}>${word}<//>`;
};

/** Spend of an org's models, side by side, against its whole quota. */
export function ModelBar({ org }) {
  const whole = Math.max(org.quota_usd_micros, org.spent_usd_micros, 1);
  const words = org.models.filter((one) => one.spent_usd_micros > 0).map((one) => `${one.label} ${money(one.spent_usd_micros)}`).join(', ');
  return html`<span class="bar models" role="img" title=${words} aria-label=${words || 'no spend'}>
    ${org.models.map((one) => html`<span class=${`series-${seriesOf(one.label)}`} style=${{ width: `${(one.spent_usd_micros / whole) * 100}%` }}></span>`)}
  </span>`;
}
export const Model = ({ label }) => html`<span class="model"><span class="swatch series-${seriesOf(label)}" aria-hidden="true"></span>${label}</span>`;

/** Spend of a day's hours by model: of each hour, or (`sum`) the running total with the quotas. */
export function hourSeries(data, config, mode) {
  const left = data.labels.filter((label) => !config.model_ordering.includes(label));
  const labels = [...config.model_ordering, ...left];
  const isSum = mode === 'sum';
  const series = labels.map((label) => {
    let sum = 0;
    const values = data.hours.map((hour) => {
      sum += hour.models[label] ?? 0;
      return isSum ? sum : hour.models[label] ?? 0;
    });
    return { label, kind: 'bar', color: seriesToken(label), stacked: true, values };
  });
  if (!isSum) return series;
  const quota = (label) => config.quotas[label] ?? 0;
  const line = (name, value, more) => ({ label: name, kind: 'step', color: 'text-2', dash: true, values: data.hours.map(() => value), ...more });
  return [...series,
    line('quota', config.model_ordering.reduce((sum, label) => sum + quota(label), 0), { whole: true }),
    ...labels.map((label) => line(`quota of ${label}`, quota(label), { only: label }))];
}

/** Starts of the hours in seconds; none when nothing was spent, so that the chart says so. */
export const hourTimes = (data) => (data.hours.some((hour) => hour.spent_usd_micros > 0) ? data.hours.map((hour) => Date.parse(hour.start) / 1000) : []);
/** The axis of these times, so that a day that has begun is not as wide as its hours. Bars stand in the middle of their hour; a day may have 25. */
export const wholeDay = (x) => [x[0] - 1800, Math.max(x[0] + 23.5 * 3600, x[x.length - 1] + 1800)];
