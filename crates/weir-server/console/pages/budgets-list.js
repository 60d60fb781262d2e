// All orgs with today's spend.
import { html, useMemo } from '../app/view.js';
import { path, useQuery } from '../app/router.js';
import { useList } from '../app/data.js';
import { session, appsOf } from '../app/session.js';
import { DataTable } from '../app/table.js';
import { Bar, Card, Money, PageHead, Segmented, Sparkline, Status, Time } from '../app/ui.js';
import { money, plain } from '../app/format.js';
import { Model, budgetStatus } from './budgets-shared.js';

const WORD = { EXCEEDED: 'exceeded', TIGHT: 'tight', NORMAL: 'normal' };
const word = (row) => (row.status === 'NORMAL' && row.used_pct >= 80 ? 'above 80 %' : WORD[row.status]);
const COLUMNS = [
  { key: 'name', label: 'Org', sort: (row) => row.org_name, render: (row) => html`<span class="clip" title=${`${plain(row.org_name)} (${row.org_id})`}>${plain(row.org_name)}</span>` },
  { key: 'state', label: 'State', sort: (row) => ['EXCEEDED', 'TIGHT', 'NORMAL'].indexOf(row.status), render: (row) => html`<${Status} ...${budgetStatus(row)}>${word(row)}<//>` },
  { key: 'spent', label: 'Spent today', align: 'right', sort: (row) => row.spent_usd_micros, render: (row) => html`<${Money} micros=${row.spent_usd_micros} />` },
  { key: 'quota', label: 'Quota', align: 'right', phone: false, sort: (row) => row.quota_usd_micros, render: (row) => html`<${Money} micros=${row.quota_usd_micros} />` },
  { key: 'used', label: 'Used', align: 'right', sort: (row) => row.used_pct, render: (row) => html`<${Bar} used=${row.spent_usd_micros} max=${row.quota_usd_micros} label=${`Quota of ${plain(row.org_name)}`} />` },
  { key: 'model', label: 'Current model', sort: (row) => row.current_model, render: (row) => (row.current_model ? html`<${Model} label=${row.current_model} />` : html`<span class="muted">none left</span>`) },
  { key: 'exhausted', label: 'Runs out', sort: (row) => row.projected_exhaustion_at, render: (row) => html`<${Time} at=${row.projected_exhaustion_at} zone=${row.timezone} missing=${row.status === 'EXCEEDED' ? 'already' : 'not today'} />` },
  { key: 'trend', label: '14 days', phone: false, render: (row) => html`<${Sparkline} values=${row.last_14_days} label=${`14 days to today: ${row.last_14_days.map(money).join(', ')}`} />` },
];
const STATES = [['', 'All'], ['tight', 'Above 80 %'], ['exceeded', 'Exceeded']];
const FILTERS = { '': () => true, tight: (row) => row.used_pct >= 80 || row.status !== 'NORMAL', exceeded: (row) => row.status === 'EXCEEDED' };

/** Who reaches apps only finds those: a list of orgs would be empty. */
const AppList = ({ apps }) => html`<${PageHead} title="Budgets" sub="The apps that your token reaches" />
  <${Card}><${DataTable} id="apps" label="apps" search=${false} items=${apps} rowKey=${(row) => row.app} href=${(row) => path`/budgets/${row.org}/apps/${row.app}`}
    columns=${[{ key: 'app', label: 'App', render: (row) => plain(row.app) }, { key: 'org', label: 'Org', render: (row) => plain(row.org) }]} /><//>`;

export function OrgList() {
  const apps = appsOf(session.get());
  return apps.length ? html`<${AppList} apps=${apps} />` : html`<${Orgs} />`;
}

function Orgs() {
  // The fullest may be on any page.
  const list = useList('/api/v1/budgets', {}, { size: 100 });
  const [state, setState] = useQuery('state');
  const shown = useMemo(() => ({ ...list, items: list.items?.filter(FILTERS[state] ?? FILTERS['']) }), [list.items, list.loading, list.error, state]);
  return html`<${PageHead} title="Budgets" sub="What each org has spent today, in its own time zone, against its daily quota" />
    <${Card}>
      <${DataTable} id="orgs" label="orgs" whole=${10} of=${list.items?.length} columns=${COLUMNS} list=${shown} sort="-used" rowKey=${(row) => row.org_id}
        searchText=${(row) => `${row.org_name} ${row.org_id}`} href=${(row) => path`/budgets/${row.org_id}`}
        filters=${html`<${Segmented} label="State" value=${state} options=${STATES} onChange=${setState} />`}
        empty=${state ? { title: 'No org is in this state', text: 'Every budget is within its quotas.' } : session.get().admin ? { title: 'No orgs yet', text: 'An org has a chain of models with a daily quota for each. Write one in a file and apply it.', command: 'weir keeper org apply org.yaml' } : { title: 'No org that your token names exists' }} />
    <//>`;
}
