// What a change would do, before it is saved.
import { html, useEffect, useRef } from '../app/view.js';
import { number } from '../app/format.js';
import { Status } from '../app/ui.js';
import { levelPhrase } from './limits-data.js';
import { rate } from './limits-rates.js';

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
    <div class="actions"><button type="button" class=${after ? 'primary' : 'danger'} disabled=${busy} onClick=${onSave}>${after ? 'Save the limits' : 'Remove the limits'}</button>
      <button type="button" onClick=${onCancel}>Back</button></div>
  </section>`;
}
