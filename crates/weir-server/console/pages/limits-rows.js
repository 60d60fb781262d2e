// The rows of the limits editor: a name and a rate each.
import { html } from '../app/view.js';
import { number, duration } from '../app/format.js';
import { Field } from '../app/ui.js';
import { parseRate } from './limits-rates.js';

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
    <${Field} id=${`${id}-name`} label="Name"><input id=${`${id}-name`} value=${row.name} maxlength="64" autocomplete="off" spellcheck="false" placeholder="rpm" onInput=${set('name')} /><//>
    <${Field} id=${`${id}-rate`} label="Rate" hint=${meaning(row.text)} error=${!isNew && error}>
      <input id=${`${id}-rate`} value=${row.text} autocomplete="off" spellcheck="false" placeholder="100/min" aria-invalid=${String(Boolean(error) && !isNew)} aria-describedby=${`${id}-rate-hint`} onInput=${set('text')} /><//>
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
