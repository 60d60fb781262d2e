// The chain of models with today's spend of each.
import { html, useMemo } from '../app/view.js';
import { DataTable } from '../app/table.js';
import { Bar, Card, ErrorBox, Money, Num } from '../app/ui.js';
import { Model, QuotaState } from './budgets-shared.js';

const COLUMNS = [
  { key: 'label', label: 'Model', render: (row) => html`<${Model} label=${row.label} />`, sort: (row) => row.order },
  { key: 'id', label: 'Id at the vendor', phone: false, render: (row) => html`<code class="clip" title=${row.model_id}>${row.model_id ?? '–'}</code>` },
  { key: 'state', label: 'State', render: (row) => html`<${QuotaState} state=${row.quota_status} />` },
  { key: 'requests', label: 'Requests', align: 'right', sort: (row) => row.requests, render: (row) => html`<${Num} value=${row.requests} />` },
  { key: 'input', label: 'Input tokens', align: 'right', phone: false, sort: (row) => row.input_tokens, render: (row) => html`<${Num} short value=${row.input_tokens} />` },
  { key: 'output', label: 'Output tokens', align: 'right', phone: false, sort: (row) => row.output_tokens, render: (row) => html`<${Num} short value=${row.output_tokens} />` },
  { key: 'spent', label: 'Spent', align: 'right', sort: (row) => row.cost_usd_micros, render: (row) => html`<${Money} micros=${row.cost_usd_micros} />` },
  { key: 'quota', label: 'Quota', align: 'right', sort: (row) => row.quota_usd_micros, render: (row) => html`<${Money} micros=${row.quota_usd_micros} />` },
  { key: 'used', label: 'Used', align: 'right', render: (row) => html`<${Bar} used=${row.cost_usd_micros} max=${row.quota_usd_micros} label=${`Quota of ${row.label}`} />` },
];

export function ModelsToday({ scope: { config, day } }) {
  const rows = useMemo(() => day.data && Object.values(day.data.models).map((one) => {
    const at = config.model_ordering.indexOf(one.label);
    return { ...one, order: at < 0 ? 99 : at };
  }).sort((a, b) => a.order - b.order), [day.data, config]);
  return html`<${Card} title="Models today" sub="In the order of the chain">
    ${day.error && !day.data ? html`<${ErrorBox} error=${day.error} retry=${day.reload} />`
      : html`<${DataTable} id="models" label="models" search=${false} foot=${false} columns=${COLUMNS} items=${rows} rowKey=${(row) => row.label} skeletonRows=${config.model_ordering.length} />`}
  <//>`;
}
