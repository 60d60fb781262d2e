// Health of the store and of the process, and the keys that sign tokens.
import { html, useMemo } from '../app/view.js';
import { useApi, useList } from '../app/data.js';
import { act } from '../app/dialog.js';
import { weir } from '../app/command.js';
import { DataTable } from '../app/table.js';
import { Card, ErrorBox, Facts, Stat, Stats, Status } from '../app/ui.js';
import { bytes, duration } from '../app/format.js';

export function ServerTab() {
  const ready = useApi('/readyz', { every: 10 });
  const overview = useApi('/v1/overview', { every: 10 });
  const store = overview.data?.store;
  const isReady = ready.data?.status === 'ready';
  return html`${[ready, overview].map((one) => one.error && html`<${ErrorBox} error=${one.error} retry=${one.reload} />`)}
    <${Stats}>
      <${Stat} label="Server" loading=${!ready.data} value=${html`<${Status} kind=${isReady ? 'good' : 'bad'}>${ready.data?.status.replaceAll('_', ' ')}<//>`} sub=${`version ${ready.data?.version}`} />
      <${Stat} label="Store" loading=${!store} value=${html`<${Status} kind=${store?.status === 'ready' ? 'good' : 'bad'}>${store?.status.replaceAll('_', ' ')}<//>`} sub=${store?.detail ?? store?.backend} />
      <${Stat} label="Response time of the store" loading=${!store} value=${duration(store?.latency_ms)} sub="measured now" />
      ${(!store || store.disk_free_bytes !== undefined) && html`<${Stat} label="Disk" loading=${!store} value=${bytes(store?.disk_free_bytes)} sub="free for the store" />`}
    <//>
    <${SigningKeys} />
    <${Card} title="From a terminal" sub="What a page does not do"><${Facts} items=${[
      ['Check everything', html`<code>weir doctor</code>`], ['Copy the store while it is in use', html`<code>weir backup FOLDER</code>`],
      ['Verify every byte of a store', html`<code>weir verify --data FOLDER</code>`], ['Metrics for Prometheus', html`<code>GET /metrics</code>`]]} /><//>`;
}

function SigningKeys() {
  const list = useList('/v1/signing-keys', {}, { size: 20 });
  const rotate = () => act({
    title: 'Replace the signing key', button: 'Replace',
    text: 'New tokens are signed with a new key. Tokens signed with the old key work until they expire, or until the old key is ended.',
    command: weir('signing-key', 'rotate'), request: { method: 'POST', path: '/v1/signing-key/rotate' }, done: 'New tokens are signed with the new key',
  }).then((result) => { if (result !== undefined) list.reload(); });
  const end = (row) => act({
    title: 'End a signing key', danger: true, typeName: row.kid, button: 'End the key',
    text: 'Every token that it signed becomes void at once, sessions of this console included. This cannot be undone.',
    command: weir('signing-key', 'end', row.kid), request: { method: 'DELETE', path: `/v1/signing-keys/${encodeURIComponent(row.kid)}` }, done: 'The key is ended',
  }).then((result) => { if (result !== undefined) list.reload(); });
  const columns = useMemo(() => [
    { key: 'kid', label: 'Key id', render: (row) => html`<code>${row.kid}</code>` },
    { key: 'signs', label: 'Use', render: (row) => (row.signs ? html`<${Status} kind="good">signs and verifies<//>` : html`<${Status} kind="idle">verifies<//>`) },
    { key: 'end', name: 'End', align: 'right', render: (row) => !row.signs && html`<button type="button" class="small" onClick=${() => end(row)}>End…</button>` },
  ], []);
  return html`<${Card} title="Signing keys" sub="They sign and verify access tokens and sessions" actions=${html`<button type="button" onClick=${rotate}>Replace…</button>`}>
    <${DataTable} id="keys" label="signing keys" search=${false} foot=${false} columns=${columns} list=${list} skeletonRows=${1} rowKey=${(row) => row.kid} /><//>`;
}
