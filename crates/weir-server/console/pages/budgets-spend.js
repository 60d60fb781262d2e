// Spend over days and over the hours of a day, by model, with quotas and fallbacks; the models; the fallback's state.
import { html, useMemo } from '../app/view.js';
import { useQuery } from '../app/router.js';
import { useApi } from '../app/data.js';
import { withQuery } from '../app/api.js';
import { useRange, RangePicker } from '../app/range.js';
import { seriesToken } from '../app/series.js';
import { Chart } from '../app/chart.js';
import { Card, ErrorBox, Segmented } from '../app/ui.js';
import { axisMoney, clock, dayName, isDay, money, today, wallSeconds } from '../app/format.js';
import { ModelsToday } from './budgets-lists.js';
import { StickyCard } from './budgets-sticky.js';
import { hourSeries, hourTimes, wholeDay } from './budgets-shared.js';

export const SpendTab = ({ scope }) => html`
  <${Days} scope=${scope} />
  <div class="columns wide-left"><${Hours} scope=${scope} /><${StickyCard} scope=${scope} /></div>
  <${ModelsToday} scope=${scope} />`;

const dayAt = (date) => Date.parse(`${date}T00:00:00Z`) / 1000;
const NOON = 43200;

/** Labels in the order of the chain, then those that were spent on but left the chain. */
function labelsOf(config, days) {
  const seen = new Set(config.model_ordering);
  for (const day of days) for (const label of Object.keys(day.models)) if (day.models[label].cost_usd_micros > 0) seen.add(label);
  return [...seen];
}

function daySeries(config, days) {
  const labels = labelsOf(config, days);
  return [
    ...labels.map((label) => ({
      label, kind: 'bar', color: seriesToken(label), stacked: true, values: days.map((day) => day.models[label]?.cost_usd_micros ?? 0),
    })),
    { label: 'quota', kind: 'step', color: 'text-2', dash: true, whole: true, values: days.map((day) => day.total_quota_usd_micros) },
    ...labels.map((label) => ({
      label: `quota of ${label}`, kind: 'step', color: 'text-2', dash: true, only: label, values: days.map((day) => day.models[label]?.quota_usd_micros ?? null),
    })),
  ];
}

const fallbacks = (days) => days.filter((day) => day.sticky).map((day) => ({
  // Bars stand around their day's midnight mark, so the day begins half a day before it.
  at: wallSeconds(day.sticky.activated_at, day.timezone) - NOON,
  label: `${clock(day.sticky.activated_at, day.timezone)} last ${day.sticky.reason === 'MANUAL_OVERRIDE' ? 'moved by hand' : 'fell back'} to ${day.sticky.active_model_label}`,
}));

function Days({ scope }) {
  const { config, api } = scope;
  const range = useRange('30d');
  // The end of the range is exclusive; a range that ends during a day shows that day.
  const to = today(config.timezone, range.toSecs * 1000 - 1);
  const from = today(config.timezone, Math.max(range.fromSecs, range.toSecs - 91 * 86400) * 1000);
  const { data, error, reload } = useApi(withQuery(`${api}/aggregates`, { from, to }), { every: to === today(config.timezone) ? 60 : undefined });
  const [, setDay] = useQuery('day');
  const { x, series, marks } = useMemo(() => {
    if (!data) return { series: [] };
    const days = data.items;
    return { x: days.map((day) => dayAt(day.date)), series: daySeries(config, days), marks: fallbacks(days) };
  }, [data, config]);
  // The axis has days of the org as if they were of UTC.
  const instant = (wall) => wall - (wallSeconds(wall * 1000, config.timezone) - Math.floor(wall / 60) * 60);
  const zoom = (a, b) => range.zoom(instant(a + NOON), instant(b + NOON));
  return html`<${Card} title="Spend by day and model" class="with-tools" sub=${`${dayName(dayAt(from) * 1000, 'UTC')} to ${dayName(dayAt(to) * 1000, 'UTC')}, days of ${config.timezone}. Drag to zoom, click a day for its hours, click a model to see it alone with its quota.`}
      actions=${html`<${RangePicker} initial="30d" sizes=${['7d', '30d', '90d']} />`}>
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}${(data || !error) && html`<${Chart} label="Spend by day and model" x=${x} series=${series} marks=${marks} markLabel="last fallback of a day"
      format=${axisMoney} exact=${money} unit="a day" zone="UTC" height=${260} onZoom=${zoom}
      onPick=${(i) => setDay(data.items[i].date)} xFormat=${(at) => dayName(at * 1000, 'UTC')} xLabel="Day" empty="No spend in these days" />`}
  <//>`;
}

const MODES = [['hour', 'Each hour'], ['sum', 'Running total']];
function Hours({ scope }) {
  const { config, api, day: now } = scope;
  const thisDay = today(config.timezone);
  const [asked, setDay] = useQuery('day', thisDay);
  const day = isDay(asked) ? asked : thisDay;
  const [mode, setMode] = useQuery('hours', 'hour');
  const { data, error, reload } = useApi(`${api}/aggregates/${encodeURIComponent(day)}/hours`, { every: day === thisDay ? 60 : undefined });
  const { x, series } = useMemo(() => {
    if (!data) return { series: [] };
    return { x: hourTimes(data), series: hourSeries(data, config, mode) };
  }, [data, config, mode]);
  const past = useApi(day === thisDay ? null : withQuery(`${api}/aggregates`, { from: day, to: day }));
  const sticky = day === thisDay ? now.data?.sticky : past.data?.items[0]?.sticky;
  const marks = useMemo(() => (sticky ? [{ at: Date.parse(sticky.activated_at) / 1000 - 1800, label: `${clock(sticky.activated_at, config.timezone)} last to ${sticky.active_model_label}` }] : []), [sticky, config]);
  return html`<${Card} title=${day === thisDay ? 'Today by the hour' : `${dayName(dayAt(day) * 1000, 'UTC')} by the hour`} class="with-tools" sub=${`Hours of ${config.timezone}`}
      actions=${html`<input type="date" aria-label="Day" value=${day} max=${thisDay} onChange=${(event) => setDay(event.target.value || thisDay)} />
        <${Segmented} label="Sum" value=${mode} options=${MODES} onChange=${setMode} />`}>
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}${(data || !error) && html`<${Chart} label="Spend by hour and model" x=${x} series=${series} marks=${marks} markLabel="last fallback" format=${axisMoney} exact=${money}
      unit=${mode === 'sum' ? 'since midnight' : 'an hour'} zone=${config.timezone} height=${220} xRange=${wholeDay} xLabel="Hour"
      xFormat=${(at) => `${clock(at * 1000, config.timezone)} to ${clock(at * 1000 + 3600000, config.timezone)}`}
      empty=${data && !data.is_recorded ? 'The hours of this day were not recorded' : 'No spend on this day'} />`}
  <//>`;
}
