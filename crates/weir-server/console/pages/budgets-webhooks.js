// The webhooks of an org with their last deliveries.
import { html, useState } from '../app/view.js';
import { useApi, useList } from '../app/data.js';
import { act, Dialog } from '../app/dialog.js';
import { weir } from '../app/command.js';
import { DataTable } from '../app/table.js';
import { Card, Code, Empty, ErrorBox, Facts, Skeleton, Status, Time } from '../app/ui.js';
import { WebhookForm } from './budgets-webhook-form.js';

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
    ${form && html`<${WebhookForm} org=${org} api=${api} hook=${form} onDone=${done} onClose=${() => setForm(null)} />`}
    ${made && html`<${Dialog} title="Signing secret" onClose=${() => setMade(null)}><div class="secret"><strong>Copy it now: it is shown once.</strong><${Code} text=${made.secret} /></div><//>`}`;
}

const STATES = { delivered: 'good', queued: 'idle', failed: 'bad', dropped: 'bad' };

function Hook({ hook, org, api, zone, onEdit, reload }) {
  const address = `${api}/webhooks/${encodeURIComponent(hook.id)}`;
  const list = useList(`${address}/deliveries`, {}, { size: 10 });
  const failing = list.items?.[0]?.status === 'failed';
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
      ${failing && html`<${Status} kind="bad">failing<//>`}<button type="button" onClick=${onEdit}>Change…</button><button type="button" onClick=${remove}>Remove…</button>`}>
    <${Facts} items=${[['Thresholds', hook.thresholds_pct.map((one) => `${one} %`).join(', ')], ['Fallbacks', hook.flips ? 'yes' : 'no'],
      ['All quotas spent', hook.all_exceeded ? 'yes' : 'no'], ['Changed', html`<${Time} at=${hook.updated_at} zone=${zone} />`]]} />
    <h3 class="pad-y">Last notices</h3>
    <${DataTable} id=${`hook-${hook.id}`} label=${`notices to ${hook.id}`} search=${false} columns=${columns} list=${list} skeletonRows=${3} rowKey=${(row) => row.sequence}
      empty=${{ title: 'No notices yet', text: 'The first one is sent when a quota reaches a threshold.' }} />
  <//>`;
}
