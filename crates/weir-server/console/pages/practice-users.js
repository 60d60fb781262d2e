// Users, newest first: all, those of a plan, or the one with an email address.
import { html, useMemo } from '../app/view.js';
import { useList, useApi } from '../app/data.js';
import { useQuery } from '../app/router.js';
import { Card, Status, Time } from '../app/ui.js';
import { DataTable } from '../app/table.js';
import { Commands, weir } from '../app/command.js';
import { userHref } from './practice-data.js';
import { Choice, Name, useSettled } from './shared.js';

const columnsOf = (plans) => [
  { key: 'name', label: 'User', sort: (row) => row.name, render: (row) => html`<${Name} text=${row.name} max=${80} />` },
  { key: 'email', label: 'Email address', sort: (row) => row.email, render: (row) => html`<bdi>${row.email}</bdi>` },
  { key: 'plan', label: 'Plan', sort: (row) => row.plan_id, render: (row) => html`<bdi>${plans.get(row.plan_id) ?? row.plan_id}</bdi>` },
  { key: 'state', label: 'State', sort: (row) => Number(row.is_active), render: (row) => html`<${Status} kind=${row.is_active ? 'good' : 'idle'}>${row.is_active ? 'active' : 'inactive'}<//>${row.is_staff && html` <span class="tag">staff</span>`}` },
  { key: 'created', label: 'Created', align: 'right', sort: (row) => row.created_at, render: (row) => html`<${Time} at=${row.created_at} />` },
];

/** Plans by id, with their names. */
export function usePlans() {
  const { data } = useApi('/v1/practice/plans?limit=100');
  return useMemo(() => new Map((data?.items ?? []).map((plan) => [plan.id, plan.name])), [data]);
}

export function Users() {
  const plans = usePlans();
  const [plan, setPlan] = useQuery('plan');
  const [q] = useQuery('users.q');
  const text = useSettled(q.trim());
  const email = text.includes('@') && text.length > 2 ? text : '';
  const list = useList('/v1/practice/users', email ? { email } : { plan }, { size: 25 });
  const columns = useMemo(() => columnsOf(plans), [plans]);
  const filters = html`<${Choice} label="Plan" value=${plan} onChange=${setPlan} options=${[['', 'any'], ...[...plans].map(([id, name]) => [String(id), name])]} />`;
  return html`<${Card}><${DataTable} id="users" label="users: a whole email address, or what is loaded" columns=${columns} list=${list} filters=${filters} href=${(row) => userHref(row.id)}
      empty=${plan ? { title: 'No user is on this plan' } : { title: 'No user yet', command: weir('practice', 'users', 'create', 'ann@example.com', '--name', 'Ann Lee') }} />
    <${Commands} command=${weir('practice', 'users', 'list', ...(plan ? ['--plan', plan] : []))} request=${{ path: '/v1/practice/users' }} /><//>`;
}
