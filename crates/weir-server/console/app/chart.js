// Charts over time: uPlot draws, this adds units, stacking, marks, a legend and a table of the same data.
import { html, useState, useEffect, useRef } from './view.js';
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
 *   format   number => text, for axis and legend         unit: name of the axis
 *   marks    [{ at (s), label }] vertical marks          zone: time zone of the axis
 *   xFormat  seconds => text for legend and table        onZoom(from, to): a drag selected this range (s)
 */
export function Chart(props) {
  const { label, series, x, empty, height = 240 } = props;
  const [asTable, setAsTable] = useState(false);
  const hasData = x?.length > 0;
  return html`<figure class="chart" aria-label=${label}>
    <div class="chart-tools"><button type="button" class="icon-button" aria-pressed=${String(asTable)} onClick=${() => setAsTable(!asTable)}
      title=${asTable ? 'Show as chart' : 'Show as table'} aria-label=${`${label}: ${asTable ? 'show as chart' : 'show as table'}`}><${Icon} name=${asTable ? 'chart' : 'table'} /></button></div>
    ${!x && html`<div class="chart-loading skeleton" style=${{ height: `${height}px` }}></div>`}
    ${x && !hasData && html`<${Empty} title=${empty ?? 'No data in this range'} />`}
    ${hasData && (asTable ? html`<${ChartTable} ...${props} />` : html`<${Plot} ...${props} series=${series} height=${height} />`)}
  </figure>`;
}

function Plot(props) {
  const { x, series, height, marks = [], onZoom, format = String, xFormat = (at) => exactTime(at * 1000, props.zone ?? HERE) } = props;
  const box = useRef(null);
  const plot = useRef(null);
  const [at, setAt] = useState(null);
  const mode = useStore(theme);
  const shape = JSON.stringify([series.map((one) => [one.label, one.color, one.kind, one.dash, one.stacked]), props.unit, height, mode, marks.map((mark) => [mark.at, mark.label])]);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const width = () => Math.max(240, box.current.clientWidth);
    const made = new window.uPlot(options({
      ...props, width: width(), marks, series, format,
      onCursor: setAt, onZoom: onZoom && ((from, to) => latest.current.onZoom(from, to)),
    }), stack(x, series), box.current);
    plot.current = made;
    const observer = new ResizeObserver(() => { if (made.width !== width()) made.setSize({ width: width(), height }); });
    observer.observe(box.current);
    return () => { observer.disconnect(); made.destroy(); plot.current = null; };
  }, [shape]);
  useEffect(() => { plot.current?.setData(stack(x, series)); }, [x, series]);
  const near = at === null ? null : marks.find((mark) => Math.abs(mark.at - x[at]) <= (x.length > 1 ? (x[1] - x[0]) / 2 : 1800));
  return html`<div ref=${box} class="plot" style=${{ minHeight: `${height}px` }} role="img" aria-label=${`${props.label}. A table of the same data is behind the button above.`}></div>
    <figcaption class="legend"><span class="legend-time">${at === null ? '' : xFormat(x[at])}</span>
      ${series.map((one) => html`<span class="legend-item"><span class="swatch ${one.color} ${one.dash ? 'dashed' : one.kind}"></span>${one.label}
        <b class="num">${at === null ? '' : one.values[at] === null || one.values[at] === undefined ? MISSING : format(one.values[at])}</b></span>`)}
      ${marks.length > 0 && html`<span class="legend-item"><span class="swatch mark"></span>${near ? near.label : props.markLabel ?? 'event'}</span>`}
    </figcaption>`;
}

function ChartTable({ label, x, series, marks = [], format = String, xFormat = (at) => exactTime(at * 1000), xLabel = 'Time' }) {
  return html`<div class="table-scroll tall" tabindex="0" role="region" aria-label=${`${label} as a table`}><table>
    <caption class="visually-hidden">${label}</caption>
    <thead><tr><th scope="col">${xLabel}</th>${series.map((one) => html`<th scope="col" class="right">${one.label}</th>`)}</tr></thead>
    <tbody>${x.map((at, i) => html`<tr><th scope="row">${xFormat(at)}</th>
      ${series.map((one) => html`<td class="right num">${one.values[i] === null || one.values[i] === undefined ? MISSING : format(one.values[i])}</td>`)}</tr>`)}</tbody>
  </table>
  ${marks.length > 0 && html`<ul class="marks">${marks.map((mark) => html`<li><time>${xFormat(mark.at)}</time> ${mark.label}</li>`)}</ul>`}</div>`;
}
