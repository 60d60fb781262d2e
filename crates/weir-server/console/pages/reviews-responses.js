// What each model of a review took and sent, and the report of a review as Markdown.
import { html, useMemo, useState } from '../app/view.js';
import { part } from '../app/router.js';
import { useApi } from '../app/data.js';
import { Dialog } from '../app/dialog.js';
import { copyText, Card, Status, Empty } from '../app/ui.js';
import { Commands, weir } from '../app/command.js';
import { DataTable } from '../app/table.js';
import { number, duration } from '../app/format.js';
import { Loaded, plain, LongText } from './shared.js';
import { ModelName } from './reviews-finding.js';
import { Cost } from './reviews-data.js';

export function ReportDialog({ id, onClose }) {
  const path = `/v1/reviews/${part(id)}/report?format=markdown`;
  const source = useApi(path);
  return html`<${Dialog} wide title="Report as Markdown" onClose=${onClose}><div class="stack">
    <${Loaded} source=${source} lines=${5}>${(text) => html`<pre class="raw" tabindex="0">${plain(text)}</pre>
      <footer class="dialog-foot"><button type="button" class="primary" onClick=${() => copyText(text)}>Copy</button></footer>`}<//>
    <${Commands} command=${weir('reviews', 'report', id, '--format', 'markdown')} request=${{ path }} />
  </div><//>`;
}

const KINDS = { success: 'good', error: 'bad', timeout: 'warn' };

/** A value as text, with a bar that is as long as its part of the largest. */
const Part = ({ value, most, text }) => html`<span class="part"><span class="part-bar" aria-hidden="true"><span style=${{ width: `${most ? (value / most) * 100 : 0}%` }}></span></span><span class="num">${text}</span></span>`;

function Raw({ id, model, onClose }) {
  const path = `/v1/reviews/${part(id)}/raw/${part(model)}`;
  const source = useApi(path);
  return html`<${Dialog} wide title=${`Raw output of ${model}`} onClose=${onClose}><div class="stack">
    <${Loaded} source=${source}>${(data) => html`<pre class="raw"><${LongText} text=${typeof data === 'string' ? data : JSON.stringify(data, null, 2)} shown=${8000} /></pre>`}<//>
    <${Commands} command=${weir('reviews', 'raw', id, model)} request=${{ path }} /></div><//>`;
}

export function Responses({ review }) {
  const [raw, setRaw] = useState(null);
  const { responses } = review;
  const columns = useMemo(() => {
    const [money, time] = [Math.max(...responses.map((one) => Number(one.cost_usd))), Math.max(...responses.map((one) => one.latency_ms))];
    const agreed = (id) => review.findings.filter((finding) => finding.model_id === id && finding.in_consensus).length;
    return [
      { key: 'model', label: 'Model', sort: (row) => row.model_id, render: (row) => html`<${ModelName} id=${row.model_id} />` },
      { key: 'status', label: 'Response', sort: (row) => row.status, render: (row) => html`<${Status} kind=${KINDS[row.status]}>${row.status}<//>` },
      { key: 'findings', label: 'Findings', align: 'right', sort: (row) => row.findings_count, render: (row) => html`<span class="num">${number(row.findings_count)}</span>` },
      { key: 'agreed', label: 'Agreed', align: 'right', sort: (row) => agreed(row.model_id), render: (row) => html`<span class="num">${number(agreed(row.model_id))}</span>` },
      { key: 'cost', label: 'Cost', align: 'right', sort: (row) => Number(row.cost_usd), render: (row) => html`<${Part} value=${Number(row.cost_usd)} most=${money} text=${html`<${Cost} usd=${row.cost_usd} />`} />` },
      { key: 'time', label: 'Time', align: 'right', sort: (row) => row.latency_ms, render: (row) => html`<${Part} value=${row.latency_ms} most=${time} text=${duration(row.latency_ms)} />` },
      { key: 'tokens', label: 'Tokens in, out', align: 'right', sort: (row) => row.input_tokens + row.output_tokens, render: (row) => html`<span class="num">${number(row.input_tokens)}, ${number(row.output_tokens)}</span>` },
      { key: 'raw', label: 'Raw output', align: 'right', render: (row) => (row.raw_key ? html`<button type="button" class="small" onClick=${() => setRaw(row.model_id)}>Show</button>` : html`<span class="muted">not sent</span>`) },
    ];
  }, [review]);
  return html`<${Card} title="What it took">
    ${responses.length ? html`<${DataTable} id="responses" label="responses" columns=${columns} items=${responses} sort="-cost" rowKey=${(row) => row.model_id} search=${false} />`
      : html`<${Empty} title="No model has responded yet" command=${weir('reviews', 'add-response', review.review_id, 'response.json')} />`}
    ${raw && html`<${Raw} id=${review.review_id} model=${raw} onClose=${() => setRaw(null)} />`}<//>`;
}
