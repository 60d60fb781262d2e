// The models side by side: a leaderboard with details, cost against consensus, and who agrees with whom.
import { html, useMemo } from '../app/view.js';
import { useQuery, Link } from '../app/router.js';
import { withQuery } from '../app/api.js';
import { Dialog } from '../app/dialog.js';
import { Facts, Card, Empty, Stats, Stat, Num } from '../app/ui.js';
import { addDays, number, duration } from '../app/format.js';
import { useApi } from '../app/data.js';
import { DataTable } from '../app/table.js';
import { Commands, weir } from '../app/command.js';
import { ModelName, Severity } from './reviews-finding.js';
import { Cost, shareText, intervalText, FIGURES, bestOf, useDays, useRepo, comparePath, RECORD } from './reviews-data.js';
import { Scatter, Matrix } from './reviews-charts.js';
import { Loaded } from './shared.js';

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
        ['Cost', html`<${Cost} usd=${model.cost_usd} />`],
        ['Latency', html`${duration(model.latency_p50_ms)} <span class="muted">half</span>, ${duration(model.latency_p95_ms)} <span class="muted">95 %</span>`],
        ['Tokens', `${number(model.input_tokens)} in, ${number(model.output_tokens)} out`],
      ]} />
      <${Parts} label="Severity" rows=${model.by_severity} name=${(row) => html`<${Severity} of=${row.severity} />`} href=${(row) => withQuery('/reviews/findings', { severity: row.severity, model: id })} />
      <${Parts} label="Category" rows=${model.by_category} name=${(row) => row.category} href=${(row) => withQuery('/reviews/findings', { by: 'category', category: row.category, model: id })} />
    </div>
  <//>`;
}

export function RepoField({ id = 'repo' }) {
  const [repo, setRepo, valid] = useRepo();
  return html`<label class="choice" for=${id}><span>Repository</span>
    <input id=${id} value=${repo} placeholder="all, or owner/repo" autocomplete="off" spellcheck=${false} aria-invalid=${String(Boolean(repo) && !valid)} onChange=${(event) => setRepo(event.target.value.trim())} /></label>`;
}

/** A figure of a model; the best one of a column is marked by weight and a sign. */
function Figure({ figure, model, best }) {
  const value = figure.of(model);
  const isBest = best !== null && value === best;
  const title = figure.estimate ? intervalText(figure.estimate(model), figure.text) : undefined;
  if (figure.key === 'cost') return html`<${Cost} usd=${value} />`;
  return html`<span class=${`num ${isBest ? 'best' : ''}`} title=${title}>${isBest && html`<span aria-label="best" title="best">★ </span>`}${figure.text(value)}</span>`;
}

function columnsOf(models) {
  const figures = FIGURES.map((figure) => {
    const best = bestOf(figure, models);
    return { key: figure.key, label: figure.label, align: 'right', sort: figure.of, render: (model) => html`<${Figure} figure=${figure} model=${model} best=${best} />` };
  });
  return [{ key: 'model', label: 'Model', sort: (model) => model.model_id, render: (model) => html`<${ModelName} id=${model.model_id} />` }, ...figures];
}

function Totals({ models, days }) {
  const sum = (of) => models.reduce((total, model) => total + of(model), 0);
  const [found, agreed] = [sum((m) => m.findings.findings), sum((m) => m.findings.in_consensus)];
  const [accepted, dismissed] = [sum((m) => m.findings.accepted), sum((m) => m.findings.dismissed)];
  return html`<${Stats}>
    <${Stat} label="Responses" value=${html`<${Num} value=${sum((m) => m.reviews)} />`} sub=${`of ${number(models.length)} models on ${number(days)} days`} />
    <${Stat} label="Findings" value=${html`<${Num} value=${found} />`} sub=${`${shareText(found ? agreed / found : null)} in consensus`} href="/reviews/findings" />
    <${Stat} label="Judged by people" value=${html`<${Num} value=${accepted + dismissed} />`} sub=${`${shareText(accepted + dismissed ? accepted / (accepted + dismissed) : null)} accepted`} />
    <${Stat} label="Cost" value=${html`<${Cost} usd=${sum((m) => Number(m.cost_usd))} />`} sub="of all responses" />
  <//>`;
}

function Comparison({ data }) {
  const [, setModel] = useQuery('model');
  const columns = useMemo(() => columnsOf(data.models), [data]);
  if (!data.models.length) return html`<${Card}><${Empty} title="No reviews in this time" text="Record a review, or select a longer time. A job sums new reviews every few seconds." command=${RECORD} /><//>`;
  return html`<${Totals} models=${data.models} days=${data.days} />
    <${Card} title="Leaderboard" sub="★ marks the best of a column; intervals on hover">
      <${DataTable} id="models" label="models" columns=${columns} items=${data.models} sort="-consensus" rowKey=${(model) => model.model_id} search=${false} onOpen=${(model) => setModel(model.model_id)} />
      ${data.models_left_out > 0 && html`<p class="muted">${number(data.models_left_out)} more models with fewer reviews are not shown.</p>`}
    <//>
    <${ModelDetail} models=${data.models} />
    <div class="columns">
      <${Card} title="Cost against consensus" sub="What a review of each model costs, and how much of it others confirm"><${Scatter} models=${data.models} onPick=${setModel} /><//>
      <${Card} title="Agreement" sub="How often two models find the same issues"><${Matrix} models=${data.models} pairs=${data.pairs} leftOut=${data.pairs_left_out} /><//>
    </div>`;
}

export function Models() {
  const days = useDays();
  const [, , repo] = useRepo();
  const source = useApi(comparePath(days, repo));
  return html`<div class="table-bar flush"><${RepoField} /><span class="muted">${days.from} to ${addDays(days.to, -1)}, days of UTC</span></div>
    <${Loaded} source=${source} lines=${4}>${(data) => html`<${Comparison} data=${data} />`}<//>
    <${Commands} command=${weir('reviews', 'compare', '--from', days.from, '--to', days.to, ...(repo ? ['--repo', repo] : []))} request=${{ path: comparePath(days, repo) }} />`;
}
