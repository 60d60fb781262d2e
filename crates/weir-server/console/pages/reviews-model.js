// One model of the leaderboard: its figures by severity and category.
import { html } from '../app/view.js';
import { useQuery, Link } from '../app/router.js';
import { withQuery } from '../app/api.js';
import { Dialog } from '../app/dialog.js';
import { Facts } from '../app/ui.js';
import { number, duration } from '../app/format.js';
import { ModelName, Severity } from './reviews-finding.js';
import { shareText, smallMoney, intervalText } from './reviews-figures.js';

function Parts({ label, rows, name, href }) {
  if (!rows.length) return null;
  return html`<div class="table-scroll"><table aria-label=${label}><thead><tr><th scope="col">${label}</th><th scope="col" class="right">Findings</th><th scope="col" class="right">In consensus</th><th scope="col" class="right">Only it</th><th scope="col" class="right">Accepted</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.severity ?? row.category}><th scope="row"><${Link} href=${href(row)}>${name(row)}<//></th><td class="right num">${number(row.findings)}</td>
      <td class="right num">${shareText(row.consensus_share)}</td><td class="right num">${number(row.only_it)}</td><td class="right num">${shareText(row.acceptance_rate)}</td></tr>`)}</tbody></table></div>`;
}

export function ModelDetail({ models }) {
  const [id, setId] = useQuery('model');
  const model = models.find((one) => one.model_id === id);
  if (!model) return null;
  const range = (estimate, text) => html`<span title=${intervalText(estimate, text)}>${text(estimate.value)}</span>`;
  return html`<${Dialog} wide title=${`Figures of ${id}`} onClose=${() => setId('')}>
    <div class="stack">
      <${Facts} items=${[
        ['Model', html`<${ModelName} id=${id} />`],
        ['Responses', `${number(model.successes)} of ${number(model.reviews)}; ${number(model.errors)} errors, ${number(model.timeouts)} timeouts`],
        ['Findings in a review', range(model.findings_per_review, (value) => (value === null ? '–' : value.toFixed(2)))],
        ['Only it found', number(model.findings.only_it)],
        ['Cost', smallMoney(model.cost_usd)],
        ['Latency', html`${duration(model.latency_p50_ms)} <span class="muted">half</span>, ${duration(model.latency_p95_ms)} <span class="muted">95 %</span>`],
        ['Tokens', `${number(model.input_tokens)} in, ${number(model.output_tokens)} out`],
      ]} />
      <${Parts} label="Severity" rows=${model.by_severity} name=${(row) => html`<${Severity} of=${row.severity} />`} href=${(row) => withQuery('/reviews/findings', { severity: row.severity, model: id })} />
      <${Parts} label="Category" rows=${model.by_category} name=${(row) => row.category} href=${(row) => withQuery('/reviews/findings', { by: 'category', category: row.category, model: id })} />
    </div>
  <//>`;
}
