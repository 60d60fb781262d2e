// Charts over time: uPlot draws, this adds units, stacking, marks, a legend and a table of the same data.
import { uPlot } from '../vendor/uplot.js';
import { html, useState, useLayoutEffect, useMemo, useRef } from './view.js';
import { useStore } from './store.js';
import { theme } from './theme.js';
import { Icon, Empty } from './ui.js';
import { options, stack } from './chart-options.js';
import { exactTime, MISSING, HERE } from './format.js';

/**
 *   label    what it shows (for screen readers too)
 *   x        seconds since 1970, ascending
 *   series   [{ label, values, color: 'series-1', kind: 'bar' | 'area' | 'line' | 'points', dash?, stacked? }]
 *            null in values is a gap; stacked series of a chart are piled up in the given order
 *   format   number => text, for the axis; `exact` for legend and table   unit: name of the axis
 *   marks    [{ at (s), label }] vertical marks          zone: time zone of the axis
 *   xRange(x)  [from, to] (s) to show, when that is more than the data
 *   xFormat  seconds => text for legend and table        onZoom(from, to): a drag selected this range (s)
 *   onPick(index) a click on a point; a series with `only: label` shows when that one is alone, with `whole` when none is
 */
export function Chart(props) {
  const { label, x, empty, height = 240 } = props;
  const [asTable, setAsTable] = useState(false);
  const hasData = x?.length > 0;
  const toggle = html`<button type="button" class="icon-button chart-toggle" aria-pressed=${String(asTable)} onClick=${() => setAsTable(!asTable)}
    title=${asTable ? 'Show as chart' : 'Show as table'} aria-label=${`${label}: ${asTable ? 'show as chart' : 'show as table'}`}><${Icon} name=${asTable ? 'chart' : 'table'} /></button>`;
  return html`<figure class="chart" aria-label=${label}>
    ${!x && html`<div class="chart-loading skeleton" style=${{ height: `${height + 40}px` }}></div>`}
    ${x && !hasData && html`<${Empty} title=${empty ?? 'No data in this range'} />`}
    ${hasData && (asTable ? html`<${ChartTable} ...${props} /><div class="legend"><span class="grow"></span>${toggle}</div>` : html`<${Plot} ...${props} height=${height} toggleTable=${toggle} />`)}
  </figure>`;
}

/** What is drawn: all but those that belong to one series; or, with a focus, that one and what belongs to it. */
function useFocus(series) {
  const [focus, setFocus] = useState(null);
  const isKnown = focus !== null && series.some((one) => one.label === focus);
  const shown = useMemo(() => series.filter((one) => (isKnown ? one.label === focus || one.only === focus : !one.only)), [series, focus, isKnown]);
  return { focus: isKnown ? focus : null, shown, toggle: (label) => setFocus(focus === label ? null : label) };
}

function Plot(props) {
  const { x, series, height, marks = [], onZoom, onPick, format = String } = props;
  const box = useRef(null);
  const plot = useRef(null);
  const [at, setAt] = useState(null);
  const mode = useStore(theme);
  const { focus, shown, toggle } = useFocus(series);
  const shape = JSON.stringify([shown.map((one) => [one.label, one.color, one.kind, one.dash, one.stacked]), props.unit, height, mode, marks.map((mark) => [mark.at, mark.label])]);
  const latest = useRef(props);
  latest.current = props;
  // Before the browser paints, so that a chart does not come a frame after the rest of its page.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const width = () => Math.max(200, element.clientWidth);
    const made = new uPlot(options({
      ...props, series: shown, width: width(), marks, format,
      onCursor: setAt,
      onPick: onPick && ((i) => latest.current.onPick(i)),
      onZoom: onZoom && ((from, to) => latest.current.onZoom(from, to)),
    }), stack(x, shown), element);
    plot.current = made;
    const observer = new ResizeObserver(() => { if (made.width !== width()) made.setSize({ width: width(), height }); });
    observer.observe(element);
    return () => { observer.disconnect(); made.destroy(); plot.current = null; };
  }, [shape]);
  useLayoutEffect(() => { plot.current?.setData(stack(x, shown)); }, [x, shown]);
  return html`<div ref=${box} class="plot" style=${{ minHeight: `${height}px` }} role="img" aria-label=${`${props.label}. A table of the same data is behind the button below.`}></div>
    <${Legend} ...${props} marks=${marks} series=${focus ? shown : series.filter((one) => !one.only)} all=${series} focus=${focus} toggle=${toggle} at=${x[at] === undefined ? null : at} />`;
}

function Legend({ x, series, all, marks, at, focus, toggle, toggleTable, markLabel = 'event', format = String, exact = format, zone = HERE, xFormat = (time) => exactTime(time * 1000, zone) }) {
  const width = x.length > 1 ? (x[1] - x[0]) / 2 : 1800;
  const near = at === null ? null : marks.find((mark) => Math.abs(mark.at - x[at]) <= width);
  const names = focus ? all.filter((one) => !one.only && !one.whole).concat(series.filter((one) => one.only)) : series;
  return html`<figcaption class="legend">
    ${names.map((one) => {
      const value = at === null || (focus && one.label !== focus && !one.only) ? undefined : one.values[at] ?? MISSING;
      const inner = html`<span class="swatch ${one.color} as-${one.dash ? 'dashed' : one.kind}"></span>${one.label}
        <b class="num">${value === undefined ? '' : value === MISSING ? MISSING : exact(value)}</b>`;
      return one.stacked ? html`<button type="button" class="legend-item" aria-pressed=${String(focus === one.label)} title=${focus === one.label ? 'Show all' : `Show ${one.label} alone`} onClick=${() => toggle(one.label)}>${inner}</button>`
        : html`<span class="legend-item">${inner}</span>`;
    })}
    ${marks.length > 0 && html`<span class="legend-item"><span class="swatch as-mark"></span>${near ? near.label : markLabel}</span>`}
    <span class="legend-time">${at === null ? '' : xFormat(x[at])}</span>${toggleTable}
  </figcaption>`;
}

function ChartTable({ label, x, series, marks = [], format = String, exact = format, xFormat = (at) => exactTime(at * 1000), xLabel = 'Time' }) {
  return html`<div class="table-scroll tall" tabindex="0" role="region" aria-label=${`${label} as a table`}><table>
    <caption class="visually-hidden">${label}</caption>
    <thead><tr><th scope="col">${xLabel}</th>${series.map((one) => html`<th scope="col" class="right">${one.label}</th>`)}</tr></thead>
    <tbody>${x.map((at, i) => html`<tr><th scope="row">${xFormat(at)}</th>
      ${series.map((one) => html`<td class="right num">${one.values[i] === null || one.values[i] === undefined ? MISSING : exact(one.values[i])}</td>`)}</tr>`)}</tbody>
  </table>
  ${marks.length > 0 && html`<ul class="marks">${marks.map((mark) => html`<li><time>${xFormat(mark.at)}</time> ${mark.label}</li>`)}</ul>`}</div>`;
}
