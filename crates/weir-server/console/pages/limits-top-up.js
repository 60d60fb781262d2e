// Adds tokens to a bucket, up to its capacity.
import { html, useState } from '../app/view.js';
import { post } from '../app/api.js';
import { Dialog } from '../app/dialog.js';
import { Field, ErrorBox } from '../app/ui.js';
import { Commands, weir } from '../app/command.js';
import { toast } from '../app/toast.js';
import { number } from '../app/format.js';
import { api } from './limits-data.js';

/** The amounts that were typed: whole numbers from 1, empty fields left out. */
export function amountsOf(typed) {
  return Object.fromEntries(Object.entries(typed).map(([name, text]) => [name, Number(text)]).filter(([, amount]) => Number.isSafeInteger(amount) && amount > 0));
}

export function TopUp({ ns, bucket, onClose, onDone }) {
  const [typed, setTyped] = useState({});
  const [state, setState] = useState({ busy: false, error: null });
  const { entity, resource, limits } = bucket;
  const amounts = amountsOf(typed);
  const path = api`${ns}/entities/${entity}/buckets/${resource}/top-up`;
  const send = async (event) => {
    event.preventDefault();
    setState({ busy: true, error: null });
    try {
      await post(path, { amounts });
      toast('Tokens were added');
      onDone();
      onClose();
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  const words = Object.entries(amounts).flatMap(([name, amount]) => ['--amount', `${name}=${amount}`]);
  return html`<${Dialog} title=${`Add tokens to ${entity} on ${resource}`} onClose=${onClose}>
    <form class="stack" onSubmit=${send}>
      <p>The tokens can be taken at once. A bucket never holds more than its capacity; what does not fit is gone.</p>
      <div class="fields">${limits.map((limit) => html`<${Field} key=${limit.name} id=${`top-up-${limit.name}`} label=${limit.name} hint=${`${number(limit.available)} of ${number(limit.capacity)} available`}>
        <input id=${`top-up-${limit.name}`} type="number" min="1" step="1" inputmode="numeric" value=${typed[limit.name] ?? ''} onInput=${(event) => setTyped({ ...typed, [limit.name]: event.target.value })} /><//>`)}</div>
      ${words.length > 0 && html`<${Commands} command=${weir('limiter', 'bucket', 'top-up', entity, resource, ...words, '--namespace', ns)} request=${{ method: 'POST', path, body: { amounts } }} />`}
      ${state.error && html`<${ErrorBox} error=${state.error} />`}
      <footer class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${state.busy || words.length === 0}>Add tokens</button></footer>
    </form>
  <//>`;
}
