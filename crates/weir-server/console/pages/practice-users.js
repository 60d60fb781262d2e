// Users, and one of them: the plan and what it leaves today, what was done, and runs.
import { html, useMemo, useState } from '../app/view.js';
import { useList, useApi } from '../app/data.js';
import { part, useQuery } from '../app/router.js';
import { Button, Card, Status, Time, PageHead, Facts } from '../app/ui.js';
import { DataTable } from '../app/table.js';
import { Commands, weir } from '../app/command.js';
import { withQuery } from '../app/api.js';
import { isDay } from '../app/format.js';
import { act } from '../app/dialog.js';
import { userHref, Against } from './practice-data.js';
import { Choice, Name, useSettled, Loaded, LongText } from './shared.js';
import { UserRuns } from './practice-lists.js';

const columnsOf = (plans) => [
  { key: 'name', label: 'User', sort: (row) => row.name, render: (row) => html`<${Name} text=${row.name} max=${80} />` },
  { key: 'email', label: 'Email', sort: (row) => row.email, render: (row) => html`<bdi>${row.email}</bdi>` },
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
  return html`<${Card}><${DataTable} id="users" label="users" hint="Whole email, or what is loaded" columns=${columns} list=${list} filters=${filters} href=${(row) => userHref(row.id)}
      empty=${plan ? { title: 'No user is on this plan' } : { title: 'No user yet', command: weir('practice', 'users', 'create', 'ann@example.com', '--name', 'Ann Lee') }} />
    <${Commands} command=${weir('practice', 'users', 'list', ...(plan ? ['--plan', plan] : []))} request=${{ path: '/v1/practice/users' }} /><//>`;
}

const pathOf = (id, rest = '') => `/v1/practice/users/${part(id)}${rest}`;

const move = (user, plan, name) => act({
  title: `Move ${user.email} to the plan ${name}?`, button: 'Move', done: `The plan is ${name} now`,
  text: 'The next request follows the new plan. What the user did today stays counted.',
  request: { method: 'PUT', path: pathOf(user.id, '/plan'), body: { plan_id: plan } }, command: weir('practice', 'users', 'move', user.id, plan),
});
const setActive = (user) => act(user.is_active ? {
  title: `Deactivate ${user.email}?`, danger: true, button: 'Deactivate', done: 'The user is inactive',
  text: 'Every request of the user is refused until the user is active again. Nothing is deleted.',
  request: { method: 'POST', path: pathOf(user.id, '/deactivate') }, command: weir('practice', 'users', 'deactivate', user.id),
} : {
  title: `Activate ${user.email} again?`, button: 'Activate', done: 'The user is active',
  request: { method: 'POST', path: pathOf(user.id, '/reactivate') }, command: weir('practice', 'users', 'reactivate', user.id),
});

function PlanForm({ user, plans, onDone }) {
  const [plan, setPlan] = useState(user.plan_id);
  const send = async (event) => {
    event.preventDefault();
    if (await move(user, plan, plans.get(plan)) !== undefined) onDone();
  };
  return html`<form class="inline-form" onSubmit=${send}>
    <${Choice} label="Plan" value=${String(plan)} onChange=${(value) => setPlan(Number(value))} options=${[...plans].map(([id, name]) => [String(id), name])} />
    <${Button} needs="practice" type="submit" disabled=${plan === user.plan_id}>Move…<//></form>`;
}

function Used({ id }) {
  const [asked, setDate] = useQuery('date');
  const date = isDay(asked) ? asked : '';
  const source = useApi(withQuery(pathOf(id, '/usage'), { date }), { every: 10 });
  const log = useList(pathOf(id, '/usage/log'), { date }, { size: 25 });
  const columns = useMemo(() => [
    { key: 'at', label: 'When', render: (row) => html`<${Time} at=${row.at} />` },
    { key: 'action', label: 'Action', render: (row) => row.action },
    { key: 'problem', label: 'Problem', render: (row) => html`<bdi>${row.problem_id ?? '–'}</bdi>` },
    { key: 'details', label: 'Details', render: (row) => (row.metadata ? html`<${LongText} text=${JSON.stringify(row.metadata)} shown=${160} />` : html`<span class="muted">–</span>`) },
  ], []);
  const pick = html`<label class="choice"><span>Day</span><input type="date" value=${date || source.data?.date || ''} onChange=${(event) => setDate(event.target.value)} /></label>`;
  return html`<${Card} title="Usage against the plan" sub=${source.data && html`${source.data.date}; the next day begins <${Time} at=${source.data.resets_at} />`} actions=${pick}>
      <${Loaded} source=${source} lines=${2}>${(data) => html`<${Facts} items=${data.actions.map((usage) => [`${usage.action}s`, html`<${Against} usage=${usage} />`])} />`}<//><//>
    <${Card} title="What the user did" sub="Every action that was counted on this day">
      <${DataTable} id="log" label="actions" columns=${columns} list=${log} search=${false} rowKey=${(row, i) => `${row.at}-${i}`} empty=${{ title: 'Nothing on this day', command: weir('practice', 'usage', 'log', id) }} /><//>`;
}

export function User({ id }) {
  const source = useApi(pathOf(id));
  const plans = usePlans();
  const user = source.data;
  const toggle = async () => { if (await setActive(user) !== undefined) source.reload(); };
  const actions = user && html`${plans.size > 0 && html`<${PlanForm} key=${user.plan_id} user=${user} plans=${plans} onDone=${source.reload} />`}<${Button} needs="practice" onClick=${toggle}>${user.is_active ? 'Deactivate…' : 'Activate…'}<//>`;
  return html`<${PageHead} title=${user ? html`<${Name} text=${user.name} max=${200} />` : id} sub=${user && html`<bdi>${user.email}</bdi>`} crumbs=${[['Practice', '/practice'], ['Users', '/practice/users']]} needs="practice" actions=${actions} />
    <${Loaded} source=${source}>${(data) => html`
      <${Card} title="User"><${Facts} items=${[
        ['State', html`<${Status} kind=${data.is_active ? 'good' : 'idle'}>${data.is_active ? 'active' : 'inactive'}<//>`],
        ['Plan', html`<bdi>${plans.get(data.plan_id) ?? data.plan_id}</bdi>`],
        ['Staff', data.is_staff ? 'yes: never refused' : 'no'],
        ['Created', html`<${Time} at=${data.created_at} />`],
        ['Id', html`<code>${data.id}</code>`],
      ]} /><//>
      <${Used} id=${id} />
      <${Card} title="Runs"><${UserRuns} id=${id} /><//>`}<//>
    <${Commands} command=${weir('practice', 'users', 'show', id)} request=${{ path: pathOf(id) }} />`;
}
