// Lists of an org: its apps with what each has spent today, the models of its chain, and who changed what.
import { html, useMemo } from '../app/view.js';
import { path } from '../app/router.js';
import { useApi, useList } from '../app/data.js';
import { DataTable } from '../app/table.js';
import { Card, Money, NotKnown, Num, Skeleton, Time, Bar, ErrorBox } from '../app/ui.js';
import { withQuery } from '../app/api.js';
import { plain, today } from '../app/format.js';
import { weir } from '../app/command.js';
import { Model, QuotaState } from './budgets-shared.js';

/** Loads only for the rows that are shown. */
function Today({ org, app, zone, of }) {
  const date = today(zone);
  const { data, error } = useApi(withQuery(path`/api/v1/orgs/${org}/apps/${app}/aggregates`, { from: date, to: date }));
  if (error && !data) return html`<${NotKnown} error=${error} />`;
  return data ? of(data.items[0]) : html`<${Skeleton} width="6ch" />`;
}

export function AppsTab({ scope: { org, config } }) {
  const list = useList(path`/api/v1/orgs/${org}/apps`, {}, { size: 25 });
  const columns = useMemo(() => [
    { key: 'name', label: 'App', sort: (row) => row.app_name ?? row.id, render: (row) => html`<span class="clip" title=${row.app_name}>${plain(row.app_name ?? row.id)}</span>` },
    { key: 'id', label: 'Id', phone: false, render: (row) => html`<code>${row.id}</code>` },
    { key: 'quotas', label: 'Quotas', render: (row) => (row.inherited_fields.includes('quotas') ? html`<span class="muted">of the org</span>` : 'its own') },
    { key: 'chain', label: 'Chain', phone: false, render: (row) => row.model_ordering.join(' → ') },
    { key: 'spent', label: 'Spent today · requests', align: 'right', render: (row) => html`<${Today} org=${org} app=${row.id} zone=${config.timezone} of=${(day) => html`<${Money} micros=${day.total_cost_usd_micros} /> · <${Num} value=${day.totals.requests} />`} />` },
    { key: 'updated', label: 'Changed', sort: (row) => row.updated_at, render: (row) => html`<${Time} at=${row.updated_at} zone=${config.timezone} />` },
  ], [org, config]);
  return html`<${Card} title="Apps" sub=${config.quota_scope === 'APP' ? 'Each app has the quotas by itself' : 'All apps share the quotas of the org'}>
    <${DataTable} id="apps" label="apps" columns=${columns} list=${list} sort="name" href=${(row) => path`/budgets/${org}/apps/${row.id}`}
      empty=${{ title: 'No apps yet', text: 'An app is a client of its own: it selects models and submits its usage.', command: weir('keeper', 'app', 'apply', 'app.yaml') }} /><//>`;
}

const MODELS = [
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
      : html`<${DataTable} id="models" label="models" search=${false} foot=${false} columns=${MODELS} items=${rows} rowKey=${(row) => row.label} skeletonRows=${config.model_ordering.length} />`}
  <//>`;
}

export function AuditTab({ scope: { api, org, app, config } }) {
  const list = useList(`${api}/audit`);
  const columns = useMemo(() => [
    { key: 'action', label: 'Change', sort: (row) => row.action, render: (row) => row.action.replaceAll('_', ' ') },
    { key: 'subject', label: 'Of', sort: (row) => row.subject, render: (row) => html`<code class="wrap">${plain(row.subject)}</code>` },
    { key: 'detail', label: 'Details', render: (row) => html`<span class="wrap">${plain(row.detail ?? '–')}</span>` },
    { key: 'actor', label: 'By', sort: (row) => row.actor, render: (row) => html`<span class="wrap">${plain(row.actor)}</span>` },
    { key: 'at', label: 'When', sort: (row) => row.at, render: (row) => html`<${Time} at=${row.at} zone=${config.timezone} />` },
  ], [config]);
  return html`<${Card} title="Audit" sub=${html`Times of ${config.timezone} on hover; also <code>${weir('keeper', 'audit', org, ...(app ? ['--app', app] : []))}</code>`}>
    <${DataTable} id="audit" label="changes" columns=${columns} list=${list} sort="-at" empty=${{ title: 'No changes yet', text: 'A change of the budget, its apps, credentials or webhooks is listed here with who made it.', command: 'weir keeper org apply org.yaml' }} /><//>`;
}
