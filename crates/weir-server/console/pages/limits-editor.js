// Edits the limits of a level: first what applies then, then the plan, then the change.
import { html, useState, useLayoutEffect, useRef } from '../app/view.js';
import { request, post } from '../app/api.js';
import { useRoute, navigate, setQuery } from '../app/router.js';
import { useApi } from '../app/data.js';
import { toast } from '../app/toast.js';
import { act } from '../app/dialog.js';
import { PageHead, Card, Field, Segmented, ErrorBox, Button } from '../app/ui.js';
import { Commands, weir } from '../app/command.js';
import { parseRows, rate, sameLimits } from './limits-rates.js';
import { api, to, entityHref, resourceHref, useLadder, levelPath, levelName, levelPhrase, ALL, Ladder } from './limits-data.js';
import { LimitRows, OnUnavailable, Plan } from './limits-plan.js';
import { Loaded } from './shared.js';

const words = ({ level, entity, resource }) => [
  ...(level === 'system' ? ['--system'] : []),
  ...(level === 'entity' ? ['--entity', entity] : []),
  ...(level !== 'system' && resource !== ALL ? ['--resource', resource] : []),
];

/** The same change as a `weir` command. */
export function commandOf(ns, level, after) {
  if (!after) return weir('limiter', 'limits', 'delete', ...words(level), '--namespace', ns);
  const limits = after.limits.flatMap((limit) => ['--limit', `${limit.name}=${rate(limit)}`]);
  const decision = after.on_unavailable ? ['--on-unavailable', after.on_unavailable] : [];
  return weir('limiter', 'limits', 'set', ...words(level), ...limits, ...decision, '--namespace', ns);
}

/** The level that the address names, or null while something is missing. */
function levelOf(query) {
  const level = query.get('level') ?? 'resource';
  const [resource, entity] = [query.get('resource') ?? '', query.get('entity') ?? ''];
  if (level === 'system') return { level };
  if (level === 'resource') return resource ? { level, resource } : null;
  return entity ? { level: 'entity', entity, resource: resource || ALL } : null;
}

function Target({ ns }) {
  const { query } = useRoute();
  const { data } = useApi(api`${ns}/resources`);
  const level = query.get('level') ?? 'resource';
  const set = (name) => (event) => setQuery({ [name]: event.target.value.trim() });
  return html`<div class="stack"><${Segmented} label="Level" value=${level} onChange=${(value) => setQuery({ level: value })} options=${[['system', 'System'], ['resource', 'Resource'], ['entity', 'Entity']]} />
    <datalist id="resource-names">${(data?.items ?? []).map((name) => html`<option value=${name} />`)}</datalist>
    ${level !== 'system' && html`<div class="fields">
      ${level === 'entity' && html`<${Field} id="entity" label="Entity"><input id="entity" value=${query.get('entity') ?? ''} placeholder="user-1" autocomplete="off" spellcheck=${false} onChange=${set('entity')} /><//>`}
      <${Field} id="resource" label=${level === 'entity' ? 'Resource; empty for all' : 'Resource'}>
        <input id="resource" list="resource-names" value=${query.get('resource') === ALL ? '' : query.get('resource') ?? ''} placeholder="gpt-4" autocomplete="off" spellcheck=${false} onChange=${set('resource')} /><//>
    </div>`}</div>`;
}

/** Sets a level. What this form does not show of the system's stays as it is. */
async function replace(ns, level, now, after) {
  const path = levelPath(ns, level);
  if (level.level !== 'system' || !now) return request('PUT', path, { body: after });
  const { strict_version, auto_update } = await request('GET', path);
  return request('PUT', path, { body: { ...after, strict_version, auto_update } });
}

const levelNow = (ns, level) => request('GET', levelPath(ns, level)).catch((error) => {
  if (error.status === 404) return null;
  throw error;
});
const isLevel = (one, other) => sameLimits(one?.limits, other?.limits) && (one?.on_unavailable ?? null) === (other?.on_unavailable ?? null);

const remove = (ns, level) => act({
  title: `Remove the limits of ${levelPhrase(level)}?`, danger: true, button: 'Remove', typeName: level.entity ?? level.resource ?? 'system', done: `${levelName(level)}: the limits are removed`,
  text: 'The next level with limits applies then. If there is none, acquires are errors.',
  request: { method: 'DELETE', path: levelPath(ns, level) }, command: commandOf(ns, level, null),
});

const rowsOf = (now) => (now?.limits?.length ? now.limits.map((limit) => ({ name: limit.name, text: rate(limit) })) : [{ name: 'rpm', text: '' }]);

/** The form for one level. It starts from what is set now, and from nothing when that is nothing. */
function Form({ ns, level, levels }) {
  const own = levels.find((one) => one.level === level.level && one.resource === level.resource);
  const [rows, setRows] = useState(() => rowsOf(own.now));
  const [decision, setDecision] = useState(own.now?.on_unavailable ?? '');
  const [plan, setPlan] = useState(null);
  const [state, setState] = useState({ busy: false, error: null });
  const { limits, errors } = parseRows(rows);
  const after = limits && { limits, on_unavailable: decision || null };
  const isSame = Boolean(own.now) && after && sameLimits(own.now.limits, limits) && (own.now.on_unavailable ?? '') === decision;
  const draft = levels.map((one) => (one === own && after ? { ...one, now: after, was: own.now, isDraft: true } : one));
  // A plan stands for one draft: whatever changes it makes a new plan necessary.
  const asked = useRef(0);
  useLayoutEffect(() => { asked.current += 1; setPlan(null); }, [JSON.stringify(rows), decision]);
  const show = async (next) => {
    setState({ busy: true, error: null });
    asked.current += 1;
    const mine = asked.current;
    try {
      const answer = await post(api`${ns}/limits/plan`, { levels: [{ ...level, limits: next?.limits ?? null, ...(next?.on_unavailable ? { on_unavailable: next.on_unavailable } : {}) }] });
      if (mine === asked.current) setPlan({ change: answer.changes[0], after: next });
      setState({ busy: false, error: null });
    } catch (error) { setState({ busy: false, error }); }
  };
  const save = async () => {
    setState({ busy: true, error: null });
    try {
      // Another person's change since the plan was made is not overwritten unseen.
      if (!isLevel(await levelNow(ns, level), plan.change.before)) {
        await show(plan.after);
        setState({ busy: false, error: { message: 'Somebody else has changed these limits meanwhile. The plan above is new: look, and save again.' } });
        return;
      }
      if (plan.after) {
        await replace(ns, level, own.now, plan.after);
        toast(`${levelName(level)}: the limits are set`);
      } else if (await remove(ns, level) === undefined) {
        setState({ busy: false, error: null });
        return;
      }
      navigate(backTo(ns, level));
    } catch (error) { setState({ busy: false, error }); }
  };
  return html`<div class="columns wide-left">
    <${Card} title=${`Limits of ${levelPhrase(level)}`} sub="They replace all limits that the level has now">
      <form class="stack" onSubmit=${(event) => { event.preventDefault(); if (after && !isSame) show(after); }}>
        <${LimitRows} rows=${rows} errors=${errors} onChange=${setRows} />
        <${OnUnavailable} value=${decision} onChange=${setDecision} />
        <div class="actions"><${Button} needs=${`ns:${ns}`} type="submit" class=${plan ? '' : 'primary'} disabled=${!after || isSame || state.busy}>Show the plan<//>
          ${own.now && html`<${Button} needs=${`ns:${ns}`} disabled=${state.busy} onClick=${() => show(null)}>Plan to remove them<//>`}
          ${isSame && html`<span class="muted">These are the limits now.</span>`}</div>
      </form>
      ${plan && html`<${Plan} ns=${ns} level=${level} plan=${plan} busy=${state.busy} onSave=${save} onCancel=${() => setPlan(null)}>
        <${Commands} command=${commandOf(ns, level, plan.after)} request=${{ method: plan.after ? 'PUT' : 'DELETE', path: levelPath(ns, level), body: plan.after ?? undefined }} /><//>`}
      ${state.error && html`<${ErrorBox} error=${state.error} />`}
    <//>
    <${Card} title="What applies then" sub="The first level with limits applies as a whole"><${Ladder} ns=${ns} levels=${draft} edit=${false} /><//>
  </div>`;
}

const backTo = (ns, level) => {
  if (level.level === 'system') return to(ns);
  return level.level === 'resource' ? resourceHref(ns, level.resource) : entityHref(ns, level.entity);
};

function Levels({ ns, level }) {
  const source = useLadder(ns, level.entity, level.resource ?? ALL);
  return html`<${Loaded} source=${source}>${(levels) => html`<${Form} ns=${ns} level=${level} levels=${levels} />`}<//>`;
}

export function Editor({ ns }) {
  const { query } = useRoute();
  const level = levelOf(query);
  return html`<${PageHead} title="Edit limits" needs=${`ns:${ns}`} sub=${`Namespace ${ns}. Nothing changes before you save.`} crumbs=${[['Limits', to(ns)], ...(level && level.level !== 'system' ? [[level.entity ?? level.resource, backTo(ns, level)]] : [])]} />
    <${Card} title="Which limits"><${Target} ns=${ns} /><//>
    ${level ? html`<${Levels} key=${JSON.stringify(level)} ns=${ns} level=${level} />` : html`<p class="muted">Name ${query.get('level') === 'entity' ? 'an entity' : 'a resource'} to set its limits.</p>`}`;
}
