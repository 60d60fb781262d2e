// The options of uPlot for a chart of the console.
import { uPlot } from '../vendor/uplot.js';
import { color } from './theme.js';
import { HERE, clock, dayName } from './format.js';

/** Data as uPlot wants it, tallest first so that lower layers cover it; stacked series carry running sums. */
export function stack(x, series) {
  const sums = x.map(() => 0);
  const layers = series.map((one) => {
    if (!one.stacked) return one.values;
    return one.values.map((value, i) => {
      if (value === null || value === undefined) return null;
      sums[i] += value;
      // A bar without height would still draw its edge across the axis.
      return value === 0 && one.kind === 'bar' ? null : sums[i];
    });
  });
  return [x, ...order(series).map((i) => layers[i])];
}
const order = (series) => {
  const stacked = series.map((one, i) => i).filter((i) => series[i].stacked).reverse();
  return [...stacked, ...series.map((one, i) => i).filter((i) => !series[i].stacked)];
};

const KINDS = {
  bar: (stroke) => ({ fill: stroke, stroke: color('surface'), width: 1, paths: uPlot.paths.bars({ size: [0.7, 48, 1], radius: 0 }), points: { show: false } }),
  area: (stroke, one) => ({ fill: one.stacked ? stroke : `color-mix(in srgb, ${stroke} 16%, transparent)`, width: 1.5, points: { show: false } }),
  line: () => ({ width: 1.5 }),
  step: () => ({ width: 1.5, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } }),
  points: () => ({ width: 0, paths: () => null, points: { show: true, size: 7 } }),
};

/** Ranges up to this are labelled to the second, which takes more room. */
const SECONDS_BELOW = 600;
/** Tick labels: days, times of day with the day at midnight, or seconds, by the distance of the ticks. */
function ticks(at, zone) {
  const step = at.length > 1 ? at[1] - at[0] : 3600;
  return at.map((one) => {
    if (step >= 86400) return dayName(one * 1000, zone);
    const time = clock(one * 1000, zone);
    if (time === '00:00') return dayName(one * 1000, zone);
    return step < 60 ? `${time}:${String(Math.floor(one % 60)).padStart(2, '0')}` : time;
  });
}

function drawMarks(plot, marks) {
  const { ctx, bbox } = plot;
  const ratio = window.devicePixelRatio || 1;
  ctx.save();
  ctx.strokeStyle = color('text-2');
  ctx.fillStyle = color('text-1');
  ctx.lineWidth = ratio;
  for (const mark of marks) {
    const x = plot.valToPos(mark.at, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.setLineDash([2 * ratio, 4 * ratio]);
    ctx.globalAlpha = 0.6;
    ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.beginPath(); ctx.moveTo(x - 4 * ratio, bbox.top); ctx.lineTo(x + 4 * ratio, bbox.top); ctx.lineTo(x, bbox.top + 7 * ratio); ctx.fill();
  }
  ctx.restore();
}

export function options({ x, width, height, series, unit, format, zone = HERE, marks, onCursor, onZoom, onPick, xRange, yMax }) {
  const font = '12px system-ui, sans-serif';
  const text = color('text-2');
  const grid = { stroke: color('line-1'), width: 1 };
  const isDays = x.length > 1 && x[1] - x[0] >= 86400;
  const hasBars = series.some((one) => one.kind === 'bar');
  return {
    width, height,
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), zone),
    legend: { show: false },
    padding: [8, 20, 0, 0],
    cursor: { y: false, drag: { x: Boolean(onZoom), y: false, setScale: false }, points: hasBars ? { show: false } : { size: 6 },
      bind: onPick && { click: (plot) => () => { if (plot.cursor.idx !== null && plot.select.width === 0) onPick(plot.cursor.idx); return null; } } },
    scales: {
      x: {
        time: true,
        range: (plot, min, max) => {
          if (xRange) return xRange(plot.data[0]);
          const xs = plot.data[0];
          // Not min and max: uPlot widens a single point to years.
          const [first, last] = [xs[0], xs[xs.length - 1]];
          const half = hasBars ? (xs.length > 1 ? (xs[1] - first) * 0.6 : 1800) : 0;
          return first === last && !half ? [first - 1800, last + 1800] : [first - half, last + half];
        },
      },
      y: { range: (plot, min, max) => [Math.min(0, min ?? 0), Math.max(yMax ?? 0, (max || 1) * 1.05)] },
    },
    axes: [
      { stroke: text, font, grid: { show: false }, ticks: { stroke: color('line-1'), size: 4 }, space: (plot, i, min, max) => (max - min <= SECONDS_BELOW ? 80 : 52), size: 28, gap: 4,
        ...(isDays && { incrs: [1, 2, 7, 14, 28, 91].map((n) => n * 86400) }), values: (plot, at) => ticks(at, zone) },
      { stroke: text, font, grid, ticks: { show: false }, gap: 8, label: unit, labelFont: font, labelSize: unit ? 18 : 0, labelGap: 2,
        size: (plot, values) => (values ? Math.ceil(Math.max(...values.map((value) => value.length)) * 6.8) + 16 : 48),
        values: (plot, at) => at.map((value) => (value === null ? '' : format(value))) },
    ],
    series: [{}, ...order(series).map((i) => {
      const one = series[i];
      const stroke = color(one.color ?? 'accent');
      return { label: one.label, stroke, spanGaps: false, dash: one.dash ? [6, 4] : undefined, ...KINDS[one.kind ?? 'line'](stroke, one) };
    })],
    hooks: {
      draw: [(plot) => drawMarks(plot, marks)],
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
      setSelect: [(plot) => {
        if (!onZoom || plot.select.width < 4) return;
        onZoom(plot.posToVal(plot.select.left, 'x'), plot.posToVal(plot.select.left + plot.select.width, 'x'));
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  };
}
