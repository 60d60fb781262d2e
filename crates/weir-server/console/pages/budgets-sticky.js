// Where the chain stands today, and how to move it by hand.
import { html, useState } from '../app/view.js';
import { act } from '../app/dialog.js';
import { weir } from '../app/command.js';
import { Button, Card, ErrorBox, Field, Skeleton, Status, Time } from '../app/ui.js';
import { Model } from './budgets-shared.js';

export function StickyCard({ scope }) {
  const { config, day: { data: day, error, reload } } = scope;
  if (!day) return html`<${Card} title="Fallback">${error ? html`<${ErrorBox} error=${error} retry=${reload} />` : html`<${Skeleton} width="80%" />`}<//>`;
  const { sticky } = day;
  const isSpent = config.model_ordering.every((label) => day.models[label]?.quota_status === 'EXCEEDED');
  return html`<${Card} title="Fallback" sub=${config.sticky_fallback_enabled ? 'A fallback lasts until midnight' : 'A fallback ends when its reason does'}>
    <ol class="chain">${config.model_ordering.map((label) => html`<li aria-current=${label === day.current_active_model && !isSpent ? 'step' : undefined}>
      <${Model} label=${label} />${label === day.current_active_model && !isSpent && html`<${Status} kind=${sticky ? 'warn' : 'good'}>in use<//>`}
      ${day.models[label]?.quota_status === 'EXCEEDED' && html`<${Status} kind="bad">exceeded<//>`}</li>`)}</ol>
    <p class="sub pad-y">${sticky ? html`${sticky.previous_model_label ?? 'The chain'} gave way to ${sticky.active_model_label} <${Time} at=${sticky.activated_at} zone=${config.timezone} />, ${sticky.reason === 'MANUAL_OVERRIDE' ? 'by hand' : 'because its quota was spent'}.`
      : isSpent ? 'Every quota of the chain is spent; the next day begins at midnight.' : 'The chain is at its first model with quota left.'}</p>
    <${Move} scope=${scope} sticky=${sticky} current=${day.current_active_model} />
  <//>`;
}

function Move({ scope, sticky, current }) {
  const { config, api, client, name, day } = scope;
  const [label, setLabel] = useState(config.model_ordering.find((one) => one !== current) ?? '');
  const after = (result) => { if (result !== undefined) day.reload(); };
  const move = () => act({
    title: `Move ${name} to ${label}`, button: `Move to ${label}`,
    text: `Selections return ${label} for the rest of the day, whatever is spent on the models before it.`,
    command: weir('keeper', 'sticky', 'set', ...client, '--to', label),
    request: { method: 'PUT', path: `${api}/sticky`, body: { model_label: label } }, done: `${name} uses ${label} until midnight`,
  }).then(after);
  const reset = () => act({
    title: `Reset the fallback of ${name}`, button: 'Reset',
    text: 'The chain starts again at its first model with quota left. If that quota is spent, the next selection falls back again.',
    command: weir('keeper', 'sticky', 'reset', ...client),
    request: { method: 'DELETE', path: `${api}/sticky` }, done: 'The chain starts at its first model again',
  }).then(after);
  return html`<div class="inline-form">
    <${Field} id="sticky-model" label="Use for the rest of the day"><select id="sticky-model" value=${label} onChange=${(event) => setLabel(event.target.value)}>
      ${config.model_ordering.map((one) => html`<option value=${one} selected=${one === label}>${one}</option>`)}</select><//>
    <${Button} needs="admin" onClick=${move} disabled=${!label}>Move…<//>
    <${Button} needs="admin" onClick=${reset} disabled=${!sticky}>Reset…<//>
  </div>`;
}
