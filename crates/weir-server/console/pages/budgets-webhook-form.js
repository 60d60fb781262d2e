// Creates or changes a webhook.
import { html, useState } from '../app/view.js';
import { put } from '../app/api.js';
import { toast } from '../app/toast.js';
import { Dialog } from '../app/dialog.js';
import { Commands, weir } from '../app/command.js';
import { ErrorBox, Field } from '../app/ui.js';

const THRESHOLDS = [50, 80, 95, 100];

export function WebhookForm({ org, api, hook, onDone, onClose }) {
  const isNew = !hook.id;
  const [id, setId] = useState(hook.id ?? '');
  const [url, setUrl] = useState(hook.url ?? 'https://');
  const [thresholds, setThresholds] = useState(hook.thresholds_pct ?? THRESHOLDS);
  const [flips, setFlips] = useState(hook.flips ?? true);
  const [allExceeded, setAllExceeded] = useState(hook.all_exceeded ?? true);
  const [state, setState] = useState({});
  const address = `${api}/webhooks/${encodeURIComponent(id)}`;
  const body = { url, thresholds_pct: thresholds, flips, all_exceeded: allExceeded };
  const words = ['keeper', 'webhooks', 'set', org, id || 'ID', '--url', url, ...thresholds.flatMap((one) => ['--threshold', one]),
    ...(flips ? [] : ['--no-flips']), ...(allExceeded ? [] : ['--no-all-exceeded'])];
  // Those that were set elsewhere stay.
  const all = [...new Set([...THRESHOLDS, ...(hook.thresholds_pct ?? [])])].sort((a, b) => a - b);
  const toggle = (pct) => setThresholds(all.filter((one) => (one === pct ? !thresholds.includes(one) : thresholds.includes(one))));
  const save = async (event) => {
    event.preventDefault();
    if (state.busy) return;
    setState({ busy: true });
    try {
      const result = await put(address, body);
      toast(isNew ? 'Webhook added' : 'Webhook changed');
      onDone(result);
    } catch (error) { setState({ error }); }
  };
  return html`<${Dialog} title=${isNew ? 'Add a webhook' : `Change ${hook.id}`} onClose=${onClose}><form class="stack" onSubmit=${save}>
    ${isNew && html`<${Field} id="hook-id" label="Id" hint="A name of your choice, such as ops"><input id="hook-id" required value=${id} onInput=${(event) => setId(event.target.value)} /><//>`}
    <${Field} id="hook-url" label="URL that notices are posted to"><input id="hook-url" type="url" required value=${url} onInput=${(event) => setUrl(event.target.value)} /><//>
    <fieldset class="checks"><legend>Notify when a quota reaches</legend>${all.map((pct) => html`<label class="check"><input type="checkbox" checked=${thresholds.includes(pct)} onChange=${() => toggle(pct)} />${pct} %</label>`)}</fieldset>
    <label class="check"><input type="checkbox" checked=${flips} onChange=${() => setFlips(!flips)} />for each fallback to a later model</label>
    <label class="check"><input type="checkbox" checked=${allExceeded} onChange=${() => setAllExceeded(!allExceeded)} />when all quotas are spent</label>
    <${Commands} command=${weir(...words)} request=${{ method: 'PUT', path: address, body }} />
    ${state.error && html`<${ErrorBox} error=${state.error} />`}
    <footer class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><button class="primary" disabled=${state.busy}>${isNew ? 'Add' : 'Save'}</button></footer>
  </form><//>`;
}
