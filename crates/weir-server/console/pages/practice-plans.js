// Plans: how often a user may do what on a day.
import { html, useMemo, useState } from '../app/view.js';
import { useList, useApi } from '../app/data.js';
import { request, mustBeAsLoaded } from '../app/api.js';
import { act, Dialog } from '../app/dialog.js';
import { toast } from '../app/toast.js';
import { Button, Card, NotKnown, Status, Field, ErrorBox } from '../app/ui.js';
import { Link } from '../app/router.js';
import { DataTable } from '../app/table.js';
import { Commands, weir } from '../app/command.js';
import { number } from '../app/format.js';
import { limitText } from './practice-data.js';
import { Name } from './shared.js';

const yes = (value) => (value ? 'yes' : html`<span class="muted">no</span>`);
const NEW = { name: '', description: null, max_hints_per_day: 5, max_executions_per_day: 50, max_problems: -1, can_view_all_problems: true, can_register_problems: false, is_active: true };

/** The number of users of a plan, which a list does not carry. */
function Users({ id }) {
  const { data, error } = useApi(`/v1/practice/plans/${id}`);
  if (error && !data) return html`<${NotKnown} error=${error} />`;
  return html`<${Link} href=${`/practice/users?plan=${id}`}><span class="num">${number(data?.users)}</span><//>`;
}

const remove = (plan) => act({
  title: `Delete the plan ${plan.name}?`, danger: true, button: 'Delete', typeName: plan.name, done: 'The plan was deleted',
  text: 'A plan with users is not deleted; move them first.', request: { method: 'DELETE', path: `/v1/practice/plans/${plan.id}` }, command: weir('practice', 'plans', 'delete', plan.id),
});

/** The number that was typed: empty or -1 is unlimited; null is no number. */
export function limitOf(text) {
  if (text.trim() === '' || text.trim() === '-1') return -1;
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : null;
}

function commandOf(plan, body) {
  const limit = (value) => (value < 0 ? 'unlimited' : value);
  const words = ['--hints', limit(body.max_hints_per_day), '--executions', limit(body.max_executions_per_day), '--max-problems', limit(body.max_problems),
    ...(body.description ? ['--description', body.description] : []), ...(body.can_register_problems ? ['--register-problems'] : []),
    ...(body.can_view_all_problems ? [] : ['--own-problems-only']), ...(body.is_active ? [] : ['--inactive'])];
  return plan.id ? weir('practice', 'plans', 'put', plan.id, body.name, ...words) : weir('practice', 'plans', 'create', body.name, ...words);
}

const LIMITS = [['max_hints_per_day', 'Hints a day'], ['max_executions_per_day', 'Executions a day'], ['max_problems', 'Problems']];
const FLAGS = [['can_view_all_problems', 'Sees the problems of others'], ['can_register_problems', 'May register problems'], ['is_active', 'Users can be put on it']];

function PlanDialog({ plan, onClose, onDone }) {
  const [form, setForm] = useState(() => ({ ...plan, ...Object.fromEntries(LIMITS.map(([key]) => [key, plan[key] < 0 ? '' : String(plan[key])])) }));
  const [state, setState] = useState({ busy: false, error: null });
  const limits = Object.fromEntries(LIMITS.map(([key]) => [key, limitOf(form[key])]));
  const body = { name: form.name.trim(), description: form.description || null, ...limits, ...Object.fromEntries(FLAGS.map(([key]) => [key, form[key]])) };
  const isReady = body.name && Object.values(limits).every((value) => value !== null);
  const call = plan.id ? { method: 'PUT', path: `/v1/practice/plans/${plan.id}`, body } : { method: 'POST', path: '/v1/practice/plans', body };
  const send = async (event) => {
    event.preventDefault();
    setState({ busy: true, error: null });
    try {
      if (plan.id) await mustBeAsLoaded(call.path, plan, Object.keys(NEW));
      await request(call.method, call.path, { body });
      toast(`The plan ${body.name} is saved`);
      onDone();
      onClose();
    } catch (error) {
      setState({ busy: false, error });
      if (error.status === 409) onDone();
    }
  };
  const set = (key) => (event) => setForm({ ...form, [key]: event.target.type === 'checkbox' ? event.target.checked : event.target.value });
  return html`<${Dialog} title=${plan.id ? `Plan ${plan.name}` : 'New plan'} onClose=${onClose}><form class="stack" onSubmit=${send}>
    ${plan.id && html`<p>The next request of each of its users follows the changed plan. What they did today stays counted.</p>`}
    <${Field} id="plan-name" label="Name"><input id="plan-name" value=${form.name} required maxlength="64" onInput=${set('name')} /><//>
    <div class="fields">${LIMITS.map(([key, label]) => html`<${Field} key=${key} id=${key} label=${`${label}; empty for any number`} error=${limits[key] === null && 'a whole number'}>
      <input id=${key} inputmode="numeric" value=${form[key]} placeholder="unlimited" onInput=${set(key)} /><//>`)}</div>
    ${FLAGS.map(([key, label]) => html`<label class="check" key=${key}><input type="checkbox" checked=${form[key]} onChange=${set(key)} /> ${label}</label>`)}
    ${isReady && html`<${Commands} command=${commandOf(plan, body)} request=${call} />`}
    ${state.error && html`<${ErrorBox} error=${state.error} />`}
    <footer class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${!isReady || state.busy}>Save</button></footer>
  </form><//>`;
}

export function Plans() {
  const list = useList('/v1/practice/plans', {}, { size: 25 });
  const [open, setOpen] = useState(null);
  const drop = async (plan) => { if (await remove(plan) !== undefined) list.reload(); };
  const columns = useMemo(() => [
    { key: 'name', label: 'Plan', sort: (row) => row.name, render: (row) => html`<${Name} text=${row.name} />` },
    ...LIMITS.map(([key, label]) => ({ key, label, align: 'right', sort: (row) => (row[key] < 0 ? Infinity : row[key]), render: (row) => html`<span class=${`num ${row[key] < 0 ? 'muted' : ''}`}>${limitText(row[key])}</span>` })),
    { key: 'sees', label: 'Sees all', render: (row) => yes(row.can_view_all_problems) },
    { key: 'registers', label: 'Registers', render: (row) => yes(row.can_register_problems) },
    { key: 'active', label: 'State', render: (row) => html`<${Status} kind=${row.is_active ? 'good' : 'idle'}>${row.is_active ? 'open' : 'closed'}<//>` },
    { key: 'users', label: 'Users', align: 'right', render: (row) => html`<${Users} id=${row.id} />` },
    { key: 'do', label: '', align: 'right', render: (row) => html`<${Button} needs="practice" class="small" onClick=${() => setOpen(row)}>Edit…<//> <${Button} needs="practice" class="small" onClick=${() => drop(row)}>Delete…<//>` },
  ], []);
  return html`<${Card}><${DataTable} id="plans" label="plans" columns=${columns} list=${list} sort="name" empty=${{ title: 'No plan yet', text: 'A plan says how often a user may do what on a day.', command: weir('practice', 'plans', 'create', 'Free', '--hints', 5, '--executions', 50) }} actions=${html`<${Button} needs="practice" onClick=${() => setOpen(NEW)}>New plan…<//>`} />
    ${open && html`<${PlanDialog} plan=${open} onClose=${() => setOpen(null)} onDone=${list.reload} />`}<//>`;
}
