// What if: other quotas or another order, replayed on a recorded day beside what happened, then saved.
import { html, useEffect, useMemo, useRef, useState } from '../app/view.js';
import { ApiError, get, post } from '../app/api.js';
import { useQuery } from '../app/router.js';
import { act } from '../app/dialog.js';
import { Commands } from '../app/command.js';
import { Button, Card, ErrorBox, Field, Icon, Status } from '../app/ui.js';
import { addDays, fullMoney, isDay, today } from '../app/format.js';
import { Recorded, Replay } from './budgets-replay.js';

const MICROS = 1000000;
/** The largest quota: a billion dollars a day. */
const MOST = 1000000000 * MICROS;
const dollars = (micros) => `${Math.floor(micros / MICROS)}.${String(micros % MICROS).padStart(6, '0')}`.replace(/0{1,4}$/, '');
/** "12.50" as micro-dollars without a floating-point step, or null. */
function micros(text) {
  const match = /^(\d{1,10})(?:\.(\d{0,6}))?$/.exec(text.trim());
  const value = match && Number(match[1]) * MICROS + Number((match[2] ?? '').padEnd(6, '0'));
  return match && value <= MOST ? value : null;
}

const draftOf = (config) => ({
  order: config.model_ordering, quotas: Object.fromEntries(config.model_ordering.map((label) => [label, dollars(config.quotas[label] ?? 0)])), sticky: config.sticky_fallback_enabled,
});
/** A draft on top of a configuration that has changed below it: what the person has not touched follows. */
function rebased(draft, was, now) {
  const isTouched = String(draft.order) !== String(was.order);
  const kept = draft.order.filter((label) => now.order.includes(label));
  const order = isTouched ? [...kept, ...now.order.filter((label) => !kept.includes(label))] : now.order;
  const quotas = Object.fromEntries(order.map((label) => [label, draft.quotas[label] === undefined || micros(draft.quotas[label]) === micros(was.quotas[label] ?? '') ? now.quotas[label] : draft.quotas[label]]));
  return { order, quotas, sticky: draft.sticky === was.sticky ? now.sticky : draft.sticky };
}
const isSame = (draft, now) => String(draft.order) === String(now.order) && draft.sticky === now.sticky
  && draft.order.every((label) => micros(draft.quotas[label]) === micros(now.quotas[label]));

export function WhatIfTab({ scope }) {
  const { config, api } = scope;
  const now = useMemo(() => draftOf(config), [config]);
  const [draft, setDraft] = useState(now);
  const was = useRef(now);
  useEffect(() => { setDraft((old) => rebased(old, was.current, now)); was.current = now; }, [now]);
  const yesterday = addDays(today(config.timezone), -1);
  const [asked, setDate] = useQuery('replay', yesterday);
  const date = isDay(asked) ? asked : yesterday;
  const [state, setState] = useState({});
  const quotas = Object.fromEntries(draft.order.map((label) => [label, micros(draft.quotas[label])]));
  const wrong = draft.order.find((label) => quotas[label] === null);
  const isChanged = !isSame(draft, now);
  const body = { date, model_ordering: draft.order, quotas, sticky_fallback_enabled: draft.sticky };
  const replay = async (event) => {
    event?.preventDefault();
    if (state.busy || wrong) return;
    setState({ ...state, busy: true, error: null });
    try { setState({ result: await post(`${api}/simulate`, body), of: JSON.stringify(body) }); } catch (error) { setState({ error }); }
  };
  const save = () => saveConfig(scope, draft, quotas, now).then((result) => { if (result !== undefined) scope.reload(); });
  return html`<div class="columns wide-right">
    <${Card} title="Change" sub="Nothing changes for clients before you save">
      <form class="stack" onSubmit=${replay}>
        <${Chain} draft=${draft} setDraft=${setDraft} config=${config} />
        <label class="check"><input type="checkbox" checked=${draft.sticky} onChange=${() => setDraft({ ...draft, sticky: !draft.sticky })} />A fallback lasts for the rest of the day</label>
        <${Field} id="replay-day" label="Replay the day" hint=${`A recorded day of ${config.timezone}`}><input id="replay-day" type="date" required value=${date} max=${today(config.timezone)} onInput=${(event) => { if (event.target.value) setDate(event.target.value); }} /><//>
        ${wrong && html`<p class="field-error" role="alert">The quota of ${wrong} is not an amount in dollars, such as 12.50, from 0 to a billion.</p>`}
        <div class="actions"><${Button} needs=${`org:${scope.org}`} type="submit" class="primary" disabled=${state.busy || wrong}>${state.busy ? 'Replaying…' : 'Replay'}<//>
          <${Button} needs="admin" disabled=${!isChanged || wrong} onClick=${save}>Save…<//>
          <button type="button" disabled=${!isChanged} onClick=${() => setDraft(now)}>Undo changes</button></div>
        <${Commands} request=${{ method: 'POST', path: `${api}/simulate`, body }} />
      </form>
    <//>
    <div class="stack">
      ${state.error && html`<${ErrorBox} error=${state.error} retry=${replay} />`}
      ${state.result && state.of !== JSON.stringify(body) && html`<p role="status"><${Status} kind="warn">Of other values<//> The form has changed since this replay. Replay again to see what its values do.</p>`}
      ${state.result ? html`<${Replay} result=${state.result} config=${config} />`
        : html`<${Recorded} scope=${scope} date=${date} />`}
    </div>
  </div>`;
}

function Chain({ draft, setDraft, config }) {
  const move = (from, to) => {
    const order = [...draft.order];
    order.splice(to, 0, ...order.splice(from, 1));
    setDraft({ ...draft, order });
  };
  const last = draft.order.length - 1;
  return html`<ol class="order" aria-label="Chain of models, preferred first">${draft.order.map((label, i) => html`<li key=${label}>
    <span class="moves">
      <button type="button" class="icon-button up" aria-label=${`Move ${label} up`} disabled=${i === 0} onClick=${() => move(i, i - 1)}><${Icon} name="down" /></button>
      <button type="button" class="icon-button" aria-label=${`Move ${label} down`} disabled=${i === last} onClick=${() => move(i, i + 1)}><${Icon} name="down" /></button></span>
    <label for=${`quota-${label}`} class="wrap">${i + 1}. ${label}<span class="sub"> now ${fullMoney(config.quotas[label] ?? 0)}</span></label>
    <span class="amount"><span aria-hidden="true">$</span><input id=${`quota-${label}`} inputmode="decimal" required aria-label=${`Quota of ${label} in dollars a day`} value=${draft.quotas[label]}
      onInput=${(event) => setDraft({ ...draft, quotas: { ...draft.quotas, [label]: event.target.value } })} /></span>
  </li>`)}</ol>`;
}

/** Another person's change since the page was loaded is not overwritten unseen. */
const unchanged = ({ config, api, reload }) => async () => {
  const present = await get(api);
  if (present.config_version === config.config_version) return;
  reload();
  throw new ApiError(409, { error: 'CHANGED_MEANWHILE', detail: 'Somebody else has changed this budget since the page was loaded. The page shows it now with your changes on top: close this, look, and save again.' });
};

function saveConfig(scope, draft, quotas, now) {
  const { config, api, name, org } = scope;
  const changes = [];
  if (String(draft.order) !== String(now.order)) changes.push(`order ${now.order.join(' → ')} becomes ${draft.order.join(' → ')}`);
  for (const label of draft.order) if (quotas[label] !== config.quotas[label]) changes.push(`quota of ${label}: ${fullMoney(config.quotas[label] ?? 0)} becomes ${fullMoney(quotas[label])}`);
  if (draft.sticky !== now.sticky) changes.push(draft.sticky ? 'a fallback lasts for the rest of the day' : 'a fallback ends when its reason does');
  // A time zone or a quota scope that waits for midnight must not be undone by saving something else.
  const { timezone, quota_scope: quotaScope } = config.pending ?? config;
  const body = { org_name: config.org_name, timezone, quota_scope: quotaScope, model_ordering: draft.order, quotas: { ...config.quotas, ...quotas } };
  if (draft.sticky !== now.sticky) body.overrides = { ...overridesOf(config), sticky_fallback_enabled: draft.sticky };
  return act({
    title: `Save the budget of ${name}`, button: 'Save',
    text: 'It takes effect at the next selection of each client. Spend so far today counts against the new quotas.',
    detail: html`<ul class="changes">${changes.map((one) => html`<li>${one}</li>`)}</ul>`,
    command: `echo '${JSON.stringify({ org_id: org, ...body }).replaceAll("'", "'\\''")}' | weir keeper org apply -`,
    request: { method: 'PUT', path: api, body }, check: unchanged(scope), done: 'The budget is saved',
  });
}
const overridesOf = (config) => ({
  tight_mode_threshold_pct: config.tight_mode_threshold_pct, agg_shard_count: config.agg_shard_count,
  refresh_interval_normal_secs: config.refresh_interval_normal_secs, refresh_interval_tight_secs: config.refresh_interval_tight_secs,
});
