// The apps of an org, each with what it has spent today.
import { html, useMemo } from '../app/view.js';
import { path } from '../app/router.js';
import { useApi, useList } from '../app/data.js';
import { DataTable } from '../app/table.js';
import { Card, Money, Num, Skeleton, Time } from '../app/ui.js';
import { withQuery } from '../app/api.js';
import { today } from '../app/format.js';
import { weir } from '../app/command.js';

/** Loads only for the rows that are shown. */
function Today({ org, app, zone, of }) {
  const date = today(zone);
  const { data, error } = useApi(withQuery(path`/api/v1/orgs/${org}/apps/${app}/aggregates`, { from: date, to: date }));
  if (error) return html`<span class="muted" title=${error.message}>–</span>`;
  return data ? of(data.items[0]) : html`<${Skeleton} width="6ch" />`;
}

export function AppsTab({ scope: { org, config } }) {
  const list = useList(path`/api/v1/orgs/${org}/apps`, {}, { size: 25 });
  const columns = useMemo(() => [
    { key: 'name', label: 'App', sort: (row) => row.app_name ?? row.id, render: (row) => html`<span class="clip">${row.app_name ?? row.id}</span>` },
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
