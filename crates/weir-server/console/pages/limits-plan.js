// Parts of the limits editor: a name and a rate in each row, and what a change would do before it is saved.
import { html, useEffect, useRef } from '../app/view.js';
import { number, duration } from '../app/format.js';
import { Field, Status } from '../app/ui.js';
import { parseRate, rate } from './limits-rates.js';
import { levelPhrase } from './limits-data.js';

/** What a rate means, in words. */
function meaning(text) {
  try {
    const limit = parseRate(text);
    return `${number(limit.refill_amount)} every ${duration(limit.refill_period_seconds * 1000).replace(/ 0 \w+$/, '')}; the bucket holds ${number(limit.capacity)}`;
  } catch {
    return 'such as 100/min, 5/s, or 10000/min,burst=20000';
  }
}

function Row({ row, index, error, onChange, onRemove }) {
  const isNew = row.text === '' && row.name !== '';
  const id = `limit-${index}`;
  const set = (name) => (event) => onChange({ ...row, [name]: event.target.value });
  return html`<fieldset class="limit-row"><legend class="visually-hidden">Limit ${index + 1}</legend>
    <${Field} id=${`${id}-name`} label="Name"><input id=${`${id}-name`} value=${row.name} maxlength="64" autocomplete="off" spellcheck=${false} placeholder="rpm" onInput=${set('name')} /><//>
    <${Field} id=${`${id}-rate`} label="Rate" hint=${meaning(row.text)} error=${!isNew && error}>
      <input id=${`${id}-rate`} value=${row.text} autocomplete="off" spellcheck=${false} placeholder="100/min" aria-invalid=${String(Boolean(error) && !isNew)} aria-describedby=${`${id}-rate-hint`} onInput=${set('text')} /><//>
    <button type="button" aria-label=${`Remove the limit ${row.name}`} onClick=${onRemove}>Remove</button>
  </fieldset>`;
}

export function LimitRows({ rows, errors, onChange }) {
  const change = (index) => (row) => onChange(rows.map((one, i) => (i === index ? row : one)));
  return html`${rows.map((row, i) => html`<${Row} key=${i} row=${row} index=${i} error=${errors?.[i]} onChange=${change(i)} onRemove=${() => onChange(rows.filter((_, at) => at !== i))} />`)}
    <div><button type="button" onClick=${() => onChange([...rows, { name: rows.some((row) => row.name === 'tpm') ? '' : 'tpm', text: '' }])}>Add a limit</button></div>`;
}

export const OnUnavailable = ({ value, onChange }) => html`<${Field} id="on-unavailable" label="While the store is unreachable">
  <select id="on-unavailable" value=${value} onChange=${(event) => onChange(event.target.value)}>
    <option value="" selected=${value === ''}>as the next level says</option>
    <option value="allow" selected=${value === 'allow'}>allow: grant without counting</option>
    <option value="block" selected=${value === 'block'}>block: refuse</option>
  </select><//>`;

/** One line for each limit that is added, changed or removed. */
export function steps(before, after) {
  const [old, now] = [before, after].map((level) => new Map((level?.limits ?? []).map((limit) => [limit.name, limit])));
  return [...new Set([...old.keys(), ...now.keys()])].sort().map((name) => {
    const [was, is] = [old.get(name), now.get(name)];
    if (!was) return { name, kind: 'added', text: rate(is) };
    if (!is) return { name, kind: 'removed', text: rate(was) };
    if (rate(was) === rate(is)) return { name, kind: 'same', text: rate(is) };
    const less = is.refill_amount / is.refill_period_seconds < was.refill_amount / was.refill_period_seconds || is.capacity < was.capacity;
    return { name, kind: less ? 'lowered' : 'raised', text: `${rate(was)} → ${rate(is)}` };
  });
}

const KINDS = { added: 'info', removed: 'bad', lowered: 'warn', raised: 'good', same: 'idle' };

function reach({ level }, { entities, is_complete: isComplete }) {
  if (level === 'entity') return 'The entity’s live buckets change before the response is sent; a bucket keeps its tokens, up to its new capacity.';
  const many = `${isComplete ? '' : 'at least '}${number(entities)} ${entities === 1 ? 'entity' : 'entities'}`;
  return `${many[0].toUpperCase()}${many.slice(1)} with a live bucket get${entities === 1 && isComplete ? 's' : ''} other limits within a minute. No change mints tokens.`;
}

export function Plan({ level, plan, busy, onSave, onCancel, children }) {
  const { change, after } = plan;
  const box = useRef(null);
  useEffect(() => box.current.scrollIntoView({ block: 'nearest' }), [plan]);
  return html`<section ref=${box} class="plan stack" aria-label="Plan" aria-live="polite">
    <h3>Plan: ${after ? (change.before ? 'change' : 'set') : 'remove'} the limits of ${levelPhrase(level)}</h3>
    <ul class="plan-steps">${steps(change.before, after).map((step) => html`<li key=${step.name}><${Status} kind=${KINDS[step.kind]}>${step.kind}<//> <b>${step.name}</b> <code>${step.text}</code></li>`)}</ul>
    ${(change.before?.on_unavailable ?? null) !== (after?.on_unavailable ?? null) && html`<p>While the store is unreachable: ${change.before?.on_unavailable ?? 'as the next level says'} → ${after?.on_unavailable ?? 'as the next level says'}</p>`}
    <p class="plan-reach">${reach(level, change)}</p>
    ${children}
    <div class="actions"><button type="button" class=${after ? 'primary' : 'danger'} disabled=${busy} onClick=${onSave}>${after ? 'Save the limits' : 'Remove the limits…'}</button>
      <button type="button" onClick=${onCancel}>Back</button></div>
  </section>`;
}
