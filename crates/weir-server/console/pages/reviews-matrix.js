// How often two models find the same issues: agreement by colour and number, κ below it.
import { html } from '../app/view.js';
import { number } from '../app/format.js';
import { intervalText } from './reviews-figures.js';

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
