// The result of a replay: the day as it was beside the day as it would have been.
import { html, useMemo } from '../app/view.js';
import { Chart } from '../app/chart.js';
import { DataTable } from '../app/table.js';
import { useApi } from '../app/data.js';
import { Card, ErrorBox, Money, Num } from '../app/ui.js';
import { axisMoney, clock, dayName, money, number, percent } from '../app/format.js';
import { Model, hourSeries, hourTimes } from './budgets-shared.js';

/** Before a replay: the day as it was, so that a person sees which day they chose. */
export function Recorded({ scope: { api, config }, date }) {
  const { data, error, reload } = useApi(date && `${api}/aggregates/${encodeURIComponent(date)}/hours`);
  const { x, series } = useMemo(() => {
    if (!data) return { series: [] };
    return { x: hourTimes(data), series: hourSeries(data, config, 'sum') };
  }, [data, config]);
  return html`<${Card} title=${`${date ? dayName(`${date}T00:00:00Z`, 'UTC') : 'The day'} as recorded`} sub="Change a quota or the order and replay the day to see what would have happened">
    ${error ? html`<${ErrorBox} error=${error} retry=${reload} />` : html`<${Chart} label="Running total of the day as recorded" x=${x} series=${series} format=${axisMoney} exact=${money} unit="since midnight"
      zone=${config.timezone} height=${280} xLabel="Hour" xFormat=${(at) => `until ${clock(at * 1000 + 3600000, config.timezone)}`} empty="No spend on this day; choose another one" />`}
  <//>`;
}

export function Replay({ result, config }) {
  const all = result.simulated;
  const sum = (key) => all.reduce((total, one) => total + one[key], 0);
  const [cost, served, refused] = [sum('cost_usd_micros'), sum('served'), sum('refused')];
  const before = result.recorded.cost_usd_micros;
  const change = before ? ((cost - before) / before) * 100 : 0;
  const day = dayName(`${result.date}T00:00:00Z`, 'UTC');
  return html`<${Card} title=${`${day}: what would have happened`} sub=${`${number(result.requests)} requests replayed${result.requests_per_step > 1 ? `, ${result.requests_per_step} at a time` : ''}, times of ${result.timezone}`}>
    <dl class="verdict">
      <div><dt>Cost</dt><dd>${money(cost)}</dd><dd>${money(before)} as recorded${before ? ` (${change > 0 ? '+' : ''}${percent(change)})` : ''}</dd></div>
      <div><dt>Served</dt><dd>${number(served)}</dd><dd>of ${number(result.requests)} requests</dd></div>
      <div><dt>Refused</dt><dd class=${refused ? 'bad' : ''}>${number(refused)}</dd><dd>${refused ? 'every quota was spent' : 'a quota was left all day'}</dd></div>
    </dl>
  <//>
  ${all.map((one) => html`<${Run} key=${one.app_id ?? ''} run=${one} result=${result} config=${config} />`)}`;
}

const total = (point) => Object.values(point.spend_usd_micros).reduce((a, b) => a + b, 0);
const WORDS = { TIGHT: 'tight', EXCEEDED: 'exceeded', ALL_EXCEEDED: 'every quota spent' };
const eventText = (event, zone) => `${clock(event.at, zone)} ${event.event === 'FALLBACK' ? `${event.from} gives way to ${event.to}` : `${event.label ?? ''} ${WORDS[event.event] ?? event.event.toLowerCase()}`.trim()}`;

function Run({ run, result, config }) {
  const zone = result.timezone;
  const { x, series, marks } = useMemo(() => {
    const recorded = new Map(result.recorded.series.map((point) => [Date.parse(point.at), total(point)]));
    const simulated = new Map(run.series.map((point) => [Date.parse(point.at), total(point)]));
    const times = [...new Set([...recorded.keys(), ...simulated.keys()])].sort((a, b) => a - b);
    const quota = run.models.reduce((sum, one) => sum + one.quota_usd_micros, 0);
    // Both are running totals sampled at their own times: between samples the last value holds.
    const held = (values) => { let last = null; return times.map((at) => { last = values.get(at) ?? last; return last; }); };
    return {
      x: times.map((at) => at / 1000),
      series: [
        { label: 'would have been', kind: 'line', color: 'accent', values: held(simulated) },
        ...(run.app_id ? [] : [{ label: 'as recorded', kind: 'line', color: 'text-1', values: held(recorded) }]),
        { label: 'quota', kind: 'step', color: 'text-2', dash: true, values: times.map(() => quota) },
      ],
      marks: run.events.filter((event) => event.event === 'FALLBACK' || event.event === 'ALL_EXCEEDED').map((event) => ({ at: Date.parse(event.at) / 1000, label: eventText(event, zone) })),
    };
  }, [run, result]);
  const columns = useMemo(() => {
    const before = (label) => result.recorded.models.find((one) => one.label === label);
    return [
      { key: 'label', label: 'Model', render: (row) => html`<${Model} label=${row.label} />` },
      ...(run.app_id ? [] : [{ key: 'was', label: 'Recorded', align: 'right', render: (row) => html`<${Money} micros=${before(row.label)?.cost_usd_micros ?? 0} />` }]),
      { key: 'cost', label: 'Would have been', align: 'right', render: (row) => html`<${Money} micros=${row.cost_usd_micros} />` },
      { key: 'requests', label: 'Requests', align: 'right', render: (row) => html`<${Num} value=${row.requests} />` },
      { key: 'pct', label: 'Of its quota', align: 'right', render: (row) => percent(row.quota_pct) },
      { key: 'spent', label: 'Spent at', align: 'right', render: (row) => (row.exceeded_at ? clock(row.exceeded_at, zone) : 'not that day') },
    ];
  }, [run, result]);
  return html`<${Card} title=${run.app_id ? `App ${run.app_id}` : 'Spend through the day'}>
    <${Chart} label="Running total of the day" x=${x} series=${series} marks=${marks} markLabel="fallback" format=${axisMoney} exact=${money} unit="since midnight" zone=${zone} height=${240}
      xFormat=${(at) => clock(at * 1000, zone)} xLabel="Time" />
    <${DataTable} id="replay" label="models of the replay" search=${false} foot=${false} columns=${columns} items=${run.models} rowKey=${(row) => row.label} />
    ${run.events.length > 0 && html`<ul class="changes">${run.events.map((event) => html`<li>${eventText(event, zone)}</li>`)}</ul>`}
  <//>`;
}
