// Cost against consensus, a bubble for each model as wide as its number of reviews; and how often two models agree.
import { html, useState, useLayoutEffect, useRef, useMemo } from '../app/view.js';
import { seriesOf } from '../app/series.js';
import { number } from '../app/format.js';
import { Icon } from '../app/ui.js';
import { Cost, shareText, smallMoney, intervalText } from './reviews-data.js';

const PAD = { top: 20, right: 16, bottom: 40, left: 48 };

/** Steps of 1, 2 or 5 that divide a range into about five. */
export function ticks(low, high) {
  const rough = ((high - low) / 5 || 1) * 0.75;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function pointOf(model) {
  const { value, interval } = model.consensus_share;
  return { id: model.model_id, reviews: model.reviews, cost: Number(model.cost_usd) / model.reviews, share: value, low: interval?.low, high: interval?.high };
}

/** Where values lie in a drawing of a size. */
export function scaleOf(points, width, height) {
  const top = (Math.max(...points.map((p) => p.cost)) || 0.01) * 1.1;
  const floor = Math.max(0, Math.min(...points.map((p) => p.low ?? p.share)) - 0.05);
  const ceiling = Math.max(...points.map((p) => p.high ?? p.share)) + 0.06;
  const most = Math.max(...points.map((p) => p.reviews));
  return {
    top, floor, ceiling,
    x: (cost) => PAD.left + (cost / top) * (width - PAD.left - PAD.right),
    y: (share) => height - PAD.bottom - ((share - floor) / (ceiling - floor || 1)) * (height - PAD.top - PAD.bottom),
    r: (reviews) => 6 + 12 * Math.sqrt(reviews / most),
  };
}

const overlaps = (a, b) => a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top;

/** Places each name beside its bubble where it covers least: right, left, above or below. */
export function placed(points, scale, width) {
  const taken = points.map((p) => ({ left: scale.x(p.cost) - scale.r(p.reviews), right: scale.x(p.cost) + scale.r(p.reviews), top: scale.y(p.share) - scale.r(p.reviews), bottom: scale.y(p.share) + scale.r(p.reviews) }));
  return points.map((point, at) => {
    const [x, y, r, long] = [scale.x(point.cost), scale.y(point.share), scale.r(point.reviews), point.id.length * 6.8];
    const places = [
      { x: x + r + 4, y: y + 4, anchor: 'start', left: x + r + 4 }, { x: x - r - 4, y: y + 4, anchor: 'end', left: x - r - 4 - long },
      { x, y: y - r - 4, anchor: 'middle', left: x - long / 2 }, { x, y: y + r + 14, anchor: 'middle', left: x - long / 2 },
    ].map((place) => {
      const box = { left: place.left, right: place.left + long, top: place.y - 12, bottom: place.y + 3 };
      const out = box.left < 0 || box.right > width ? 10 : 0;
      return { ...place, box, faults: out + taken.filter((other, i) => i !== at && overlaps(box, other)).length };
    });
    const best = places.reduce((a, b) => (b.faults < a.faults ? b : a));
    taken.push(best.box);
    return { ...point, label: best };
  });
}

function useWidth(ref) {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(ref.current?.clientWidth ?? 0);
    const observer = new ResizeObserver(measure);
    measure();
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

const says = (p) => `${p.id}: ${smallMoney(p.cost)} a review, ${shareText(p.share)} in consensus, ${number(p.reviews)} reviews`;

function Axes({ scale, width, height }) {
  return html`${ticks(0, scale.top).map((cost) => html`<g class="tick" key=${`x${cost}`}>
      <line x1=${scale.x(cost)} x2=${scale.x(cost)} y1=${PAD.top} y2=${height - PAD.bottom} /><text x=${scale.x(cost)} y=${height - PAD.bottom + 16} text-anchor="middle">${`$${cost}`}</text></g>`)}
    ${ticks(scale.floor, Math.min(1, scale.ceiling)).map((share) => html`<g class="tick" key=${`y${share}`}>
      <line x1=${PAD.left} x2=${width - PAD.right} y1=${scale.y(share)} y2=${scale.y(share)} /><text x=${PAD.left - 8} y=${scale.y(share) + 4} text-anchor="end">${Math.round(share * 100)} %</text></g>`)}
    <text x=${width - PAD.right} y=${height - 6} text-anchor="end">cost of a review →</text><text x="0" y="10">↑ findings in consensus</text>`;
}

function Drawing({ points, width, onPick }) {
  const [over, setOver] = useState(null);
  const height = Math.max(260, Math.min(360, width * 0.55));
  const scale = useMemo(() => scaleOf(points, width, height), [points, width, height]);
  const names = useMemo(() => placed(points, scale, width), [points, scale, width]);
  const dim = (id) => (over && over !== id ? ' is-dim' : '');
  return html`<svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label="Cost of a review against the share of findings in consensus; the leaderboard has the same figures">
    <${Axes} scale=${scale} width=${width} height=${height} />
    ${points.map((p) => html`<g key=${p.id} class=${`bubble series-${seriesOf(p.id)}${dim(p.id)}`} tabindex="0" role="button" aria-label=${says(p)}
      onMouseEnter=${() => setOver(p.id)} onMouseLeave=${() => setOver(null)} onFocus=${() => setOver(p.id)} onBlur=${() => setOver(null)}
      onClick=${() => onPick(p.id)} onKeyDown=${(event) => { if (event.key === 'Enter') onPick(p.id); }}>
      <title>${says(p)}</title>
      ${p.low !== undefined && html`<line class="whisker" x1=${scale.x(p.cost)} x2=${scale.x(p.cost)} y1=${scale.y(p.low)} y2=${scale.y(p.high)} />`}
      <circle cx=${scale.x(p.cost)} cy=${scale.y(p.share)} r=${scale.r(p.reviews)} /></g>`)}
    ${names.map((p) => html`<text key=${p.id} class=${`name${dim(p.id)}`} x=${p.label.x} y=${p.label.y} text-anchor=${p.label.anchor}>${p.id}</text>`)}
  </svg>`;
}

const Points = ({ points }) => html`<div class="table-scroll tall" tabindex="0" role="region" aria-label="Cost against consensus as a table"><table>
  <thead><tr><th scope="col">Model</th>${['Cost of a review', 'In consensus', '95 % interval', 'Reviews'].map((name) => html`<th scope="col" class="right">${name}</th>`)}</tr></thead>
  <tbody>${points.map((p) => html`<tr key=${p.id}><th scope="row">${p.id}</th><td class="right"><${Cost} usd=${p.cost} /></td><td class="right num">${shareText(p.share)}</td>
    <td class="right num">${p.low === undefined ? '–' : `${shareText(p.low)} to ${shareText(p.high)}`}</td><td class="right num">${number(p.reviews)}</td></tr>`)}</tbody></table></div>`;

export function Scatter({ models, onPick }) {
  const box = useRef(null);
  const width = useWidth(box);
  const points = useMemo(() => models.filter((m) => m.reviews && m.consensus_share.value !== null).map(pointOf).sort((a, b) => b.reviews - a.reviews), [models]);
  const [asTable, setAsTable] = useState(false);
  return html`<figure class="scatter" ref=${box}>
    ${points.length === 0 && html`<p class="muted">No model has findings in this time.</p>`}
    ${points.length > 0 && asTable && html`<${Points} points=${points} />`}
    ${points.length > 0 && width > 0 && !asTable && html`<${Drawing} points=${points} width=${width} onPick=${onPick} />`}
    <figcaption>${points.length > 0 && html`<button type="button" class="icon-button chart-toggle" aria-pressed=${String(asTable)} onClick=${() => setAsTable(!asTable)}
      aria-label=${`Cost against consensus: show as ${asTable ? 'chart' : 'table'}`}><${Icon} name=${asTable ? 'chart' : 'table'} /></button> `}Up and to the left is better. A wider bubble has more reviews; lines are 95 % intervals.</figcaption>
  </figure>`;
}

const text = (value) => (value === null || value === undefined ? '–' : value.toFixed(2));
/** Five steps of colour; the number is always there too. */
const step = (value) => (value === null || value === undefined ? 'none' : Math.min(4, Math.floor(value * 5)));

function titleOf(pair, [first, second]) {
  return [
    `${first} and ${second}`,
    `${number(pair.shared)} issues both found; ${number(pair.only_first)} only ${pair.models[0]}, ${number(pair.only_second)} only ${pair.models[1]}`,
    `agreement ${text(pair.positive_agreement.value)}: ${intervalText(pair.positive_agreement, text)}`,
    `κ ${text(pair.kappa.value)}: ${intervalText(pair.kappa, text)}`,
    `${number(pair.reviews)} reviews with both`,
  ].join('\n');
}

function Cell({ pair, names }) {
  if (!pair) return html`<td class="cell step-none" title="never in the same review">–</td>`;
  return html`<td class=${`cell step-${step(pair.positive_agreement.value)}`} title=${titleOf(pair, names)}>
    <b>${text(pair.positive_agreement.value)}</b><small>κ ${text(pair.kappa.value)}</small></td>`;
}

export function Matrix({ models, pairs, leftOut }) {
  const ids = models.map((model) => model.model_id);
  const found = new Map(pairs.flatMap((pair) => [[pair.models.join('\n'), pair], [[...pair.models].reverse().join('\n'), pair]]));
  if (!pairs.length) return html`<p class="muted">No two models were asked in the same review.</p>`;
  return html`<div class="matrix-wrap" tabindex="0" role="region" aria-label="Agreement of models">
    <table class="matrix">
      <thead><tr><td></td>${ids.slice(0, -1).map((id) => html`<th scope="col" key=${id}><span>${id}</span></th>`)}</tr></thead>
      <tbody>${ids.slice(1).map((row, at) => html`<tr key=${row}><th scope="row">${row}</th>
        ${ids.slice(0, at + 1).map((column) => html`<${Cell} key=${column} pair=${found.get(`${row}\n${column}`)} names=${[row, column]} />`)}</tr>`)}</tbody>
    </table>
    <p class="muted">Agreement is the share of issues that both found, 2a/(2a+b+c). κ is agreement beyond chance: 0 is chance, 1 is full agreement.
      ${leftOut > 0 && ` ${number(leftOut)} more pairs are not shown.`}</p>
  </div>`;
}
