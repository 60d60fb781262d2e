// The webhooks of an org with their last deliveries, and the form that creates or changes one.
import { html, useState } from '../app/view.js';
import { part } from '../app/router.js';
import { ApiError, get, put, mustBeAsLoaded } from '../app/api.js';
import { toast } from '../app/toast.js';
import { Dialog, act } from '../app/dialog.js';
import { Commands, weir } from '../app/command.js';
import { ErrorBox, Field, Card, Code, Empty, Facts, Skeleton, Status, Time } from '../app/ui.js';
import { useApi, useList } from '../app/data.js';
import { DataTable } from '../app/table.js';

const THRESHOLDS = [50, 80, 95, 100];

export function WebhookForm({ org, api, hook, onDone, onStale, onClose }) {
  const isNew = !hook.id;
  const [id, setId] = useState(hook.id ?? '');
  const [url, setUrl] = useState(hook.url ?? 'https://');
  const [thresholds, setThresholds] = useState(hook.thresholds_pct ?? THRESHOLDS);
  const [flips, setFlips] = useState(hook.flips ?? true);
  const [allExceeded, setAllExceeded] = useState(hook.all_exceeded ?? true);
  const [state, setState] = useState({});
  const address = `${api}/webhooks/${part(id)}`;
  const body = { url, thresholds_pct: thresholds, flips, all_exceeded: allExceeded };
  // The command line has no words for a webhook without thresholds: none is shown then.
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
      if (!isNew) await mustBeAsLoaded(address, hook, Object.keys(body));
      else if ((await get(`${api}/webhooks`)).items.some((one) => one.id === id)) {
        throw new ApiError(409, { error: 'EXISTS', detail: `The org has a webhook ${id} already. Choose another id, or close this and change that one.` });
      }
      const result = await put(address, body);
      toast(isNew ? 'Webhook added' : 'Webhook changed');
      onDone(result);
    } catch (error) {
      setState({ error });
      if (error.status === 409) onStale();
    }
  };
  return html`<${Dialog} title=${isNew ? 'Add a webhook' : `Change ${hook.id}`} onClose=${onClose}><form class="stack" onSubmit=${save}>
    ${isNew && html`<${Field} id="hook-id" label="Id" hint="A name of your choice, such as ops"><input id="hook-id" required value=${id} onInput=${(event) => setId(event.target.value)} /><//>`}
    <${Field} id="hook-url" label="URL that notices are posted to"><input id="hook-url" type="url" required value=${url} onInput=${(event) => setUrl(event.target.value)} /><//>
    <fieldset class="checks"><legend>Notify when a quota reaches</legend>${all.map((pct) => html`<label class="check"><input type="checkbox" checked=${thresholds.includes(pct)} onChange=${() => toggle(pct)} />${pct} %</label>`)}</fieldset>
    <label class="check"><input type="checkbox" checked=${flips} onChange=${() => setFlips(!flips)} />for each fallback to a later model</label>
    <label class="check"><input type="checkbox" checked=${allExceeded} onChange=${() => setAllExceeded(!allExceeded)} />when all quotas are spent</label>
    <${Commands} command=${thresholds.length > 0 && weir(...words)} request=${{ method: 'PUT', path: address, body }} />
    ${state.error && html`<${ErrorBox} error=${state.error} />`}
    <footer class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><button class="primary" disabled=${state.busy}>${isNew ? 'Add' : 'Save'}</button></footer>
  </form><//>`;
}

export function WebhooksTab({ scope: { org, api, config } }) {
  const { data, error, reload } = useApi(`${api}/webhooks`);
  const [form, setForm] = useState(null);
  const [made, setMade] = useState(null);
  const done = (result) => { setForm(null); reload(); if (result?.secret) setMade(result); };
  const add = html`<button type="button" class="primary" onClick=${() => setForm({})}>Add a webhook…</button>`;
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Card} title="Webhooks"><${Skeleton} width="60%" /><//>`;
  return html`
    ${data.items.length === 0 ? html`<${Card}><${Empty} title="No webhooks yet" text="A webhook gets a signed notice when a quota reaches a threshold, when a chain falls back, and when all quotas are spent."
        command=${weir('keeper', 'webhooks', 'set', org, 'ops', '--url', 'https://ops.example.com/weir')} action=${add} /><//>`
      : html`<div class="actions end">${add}</div>${data.items.map((hook) => html`<${Hook} key=${hook.id} hook=${hook} org=${org} api=${api} zone=${config.timezone} onEdit=${() => setForm(hook)} reload=${reload} />`)}`}
    ${form && html`<${WebhookForm} org=${org} api=${api} hook=${form} onDone=${done} onStale=${reload} onClose=${() => setForm(null)} />`}
    ${made && html`<${Dialog} title="Signing secret" onClose=${() => setMade(null)}><div class="secret"><strong>Copy it now: it is shown once.</strong><${Code} text=${made.secret} /></div><//>`}`;
}

const WAIT_MS = 60000;
const STATES = { delivered: 'good', queued: 'idle', failed: 'bad', dropped: 'bad' };

function Hook({ hook, org, api, zone, onEdit, reload }) {
  const address = `${api}/webhooks/${part(hook.id)}`;
  const list = useList(`${address}/deliveries`, {}, { size: 10 });
  const failing = list.items?.[0]?.status === 'failed';
  // Notices are sent in order: while one is tried again, those after it wait.
  const isWaiting = list.items?.some((row) => row.status === 'queued' && Date.now() - Date.parse(row.created_at) > WAIT_MS);
  const replay = (row) => act({
    title: `Send notice ${row.sequence} again`, button: 'Send again',
    text: 'The same body and sequence are sent, so that the receiver can tell it from a new one.',
    command: weir('keeper', 'webhooks', 'replay', org, hook.id, row.sequence),
    request: { method: 'POST', path: `${address}/deliveries/${row.sequence}/replay` }, done: 'The notice was sent again',
  }).then((result) => { if (result !== undefined) list.reload(); });
  const remove = () => act({
    title: `Remove the webhook ${hook.id}`, danger: true, typeName: hook.id, button: 'Remove',
    text: 'Notices that wait for it are dropped. This cannot be undone.',
    command: weir('keeper', 'webhooks', 'remove', org, hook.id),
    request: { method: 'DELETE', path: address }, done: 'Webhook removed',
  }).then((result) => { if (result !== undefined) reload(); });
  const columns = [
    { key: 'sequence', label: 'Notice', render: (row) => html`<span class="num">${row.sequence}</span> ${row.type}` },
    { key: 'status', label: 'State', render: (row) => html`<${Status} kind=${STATES[row.status] ?? 'idle'}>${row.status}<//>` },
    { key: 'at', label: 'Queued', render: (row) => html`<${Time} at=${row.created_at} zone=${zone} />` },
    { key: 'attempts', label: 'Attempts', align: 'right', render: (row) => row.attempts },
    { key: 'answer', label: 'Last response', render: (row) => (row.last_error ? html`<span class="wrap">${row.last_error}</span>` : row.http_status ?? '–') },
    { key: 'replay', name: 'Send again', align: 'right', render: (row) => html`<button type="button" class="small" onClick=${() => replay(row)}>Send again…</button>` },
  ];
  return html`<${Card} title=${hook.id} sub=${html`<span class="wrap">${hook.url}</span>`} actions=${html`
      ${failing ? html`<${Status} kind="bad">failing<//>` : isWaiting && html`<${Status} kind="bad" title="A notice could not be delivered and is tried again; those after it wait for it">notices wait<//>`}<button type="button" onClick=${onEdit}>Change…</button><button type="button" onClick=${remove}>Remove…</button>`}>
    <${Facts} items=${[['Thresholds', hook.thresholds_pct.map((one) => `${one} %`).join(', ')], ['Fallbacks', hook.flips ? 'yes' : 'no'],
      ['All quotas spent', hook.all_exceeded ? 'yes' : 'no'], ['Changed', html`<${Time} at=${hook.updated_at} zone=${zone} />`]]} />
    <h3 class="pad-y">Last notices</h3>
    <${DataTable} id=${`hook-${hook.id}`} label=${`notices to ${hook.id}`} search=${false} columns=${columns} list=${list} skeletonRows=${3} rowKey=${(row) => row.sequence}
      empty=${{ title: 'No notices yet', text: 'The first one is sent when a quota reaches a threshold.', command: weir('keeper', 'webhooks', 'deliveries', org, hook.id) }} />
  <//>`;
}
