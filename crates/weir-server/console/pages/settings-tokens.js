// Tokens: issue with scopes, revoke.
import { html, useMemo, useState } from '../app/view.js';
import { useList } from '../app/data.js';
import { post } from '../app/api.js';
import { act, Dialog } from '../app/dialog.js';
import { Commands, weir } from '../app/command.js';
import { DataTable } from '../app/table.js';
import { Card, Code, ErrorBox, Field, Segmented, Status, Time } from '../app/ui.js';
import { useQuery } from '../app/router.js';
import { plain } from '../app/format.js';

const isOver = (row) => row.revoked_at || Date.parse(row.expires_at) <= Date.now();
const SHOW = [['', 'In force'], ['all', 'All']];

export function TokensTab() {
  const list = useList('/v1/tokens', {}, { size: 100 });
  const [show, setShow] = useQuery('show');
  const [isIssuing, setIssuing] = useState(false);
  const revoke = (row) => act({
    title: `Revoke ${row.name}`, danger: true, typeName: row.name, button: 'Revoke',
    text: 'Every request with this token is refused from now on. This cannot be undone; issue another one instead.',
    command: weir('token', 'revoke', row.id), request: { method: 'DELETE', path: `/v1/tokens/${encodeURIComponent(row.id)}` }, done: `${row.name} is revoked`,
  }).then((result) => { if (result !== undefined) list.reload(); });
  const columns = useMemo(() => [
    { key: 'name', label: 'Name', sort: (row) => row.name, render: (row) => html`<span class="wrap" title=${row.id}>${plain(row.name)}</span>${row.session && html` <span class="tag">session</span>`}` },
    { key: 'scope', label: 'Scopes', sort: (row) => row.scope, render: (row) => html`<span class="tags">${row.scope.split(' ').map((one) => html`<span class="tag">${one}</span>`)}</span>` },
    { key: 'state', label: 'State', render: (row) => (row.revoked_at ? html`<${Status} kind="bad">revoked<//>` : html`<${Status} kind="good">in force<//>`) },
    { key: 'created', label: 'Issued', sort: (row) => row.created_at, render: (row) => html`<${Time} at=${row.created_at} />` },
    { key: 'expires', label: 'Expires', sort: (row) => row.expires_at, render: (row) => html`<${Time} at=${row.expires_at} />` },
    { key: 'revoke', name: 'Revoke', align: 'right', render: (row) => !isOver(row) && html`<button type="button" class="small" onClick=${() => revoke(row)}>Revoke…</button>` },
  ], []);
  const shown = useMemo(() => ({ ...list, items: show ? list.items : list.items?.filter((row) => !isOver(row)) }), [list.items, list.loading, list.error, show]);
  return html`<${Card} title="Tokens" sub="For programs and people; a token is shown once, when it is issued" actions=${html`<button type="button" class="primary" onClick=${() => setIssuing(true)}>Issue a token…</button>`}>
    <${DataTable} id="tokens" label="tokens" of=${list.items?.length} columns=${columns} list=${shown} sort="-created" filters=${html`<${Segmented} label="Which tokens" value=${show} options=${SHOW} onChange=${setShow} />`}
      empty=${{ title: 'No tokens in force', text: 'Issue one for each program, with the narrowest scope that serves it.', command: 'weir token issue nightly-report --scope ns:default:read' }} /><//>
  ${isIssuing && html`<${Issue} onClose=${() => setIssuing(false)} onDone=${list.reload} />`}`;
}

const EXAMPLES = [['ns:default', 'rate limits of a namespace'], ['org:ID', 'a budget'], ['org:ID app:ID:submit', 'submit usage of an app'], ['reviews', 'all reviews'],
  ['practice:read', 'read practice'], ['metrics', 'GET /metrics'], ['admin', 'everything']];

function Issue({ onClose, onDone }) {
  const [name, setName] = useState('');
  const [scope, setScope] = useState('ns:default:read');
  const [typed, setDays] = useState('90');
  const days = /^\d{1,3}$/.test(typed.trim()) && Number(typed) >= 1 && Number(typed) <= 366 ? Number(typed) : null;
  const [state, setState] = useState({});
  const body = { name, scope: scope.trim(), expires_in: days * 86400 };
  const issue = async (event) => {
    event.preventDefault();
    if (state.busy || days === null) return;
    setState({ busy: true });
    try { setState({ made: await post('/v1/tokens', body) }); onDone(); } catch (error) { setState({ error }); }
  };
  if (state.made) {
    return html`<${Dialog} title=${`Token ${state.made.name}`} onClose=${onClose}><div class="stack">
      <div class="secret" data-secret><strong>Copy it now: it is shown once.</strong><${Code} text=${state.made.access_token} /></div>
      <footer class="dialog-foot"><button type="button" class="primary" onClick=${onClose}>Done</button></footer></div><//>`;
  }
  return html`<${Dialog} title="Issue a token" onClose=${onClose}><form class="stack" onSubmit=${issue}>
    <${Field} id="token-name" label="Name" hint="Of the program that uses it"><input id="token-name" required maxlength="100" value=${name} onInput=${(event) => setName(event.target.value)} /><//>
    <${Field} id="token-scope" label="Scopes, separated by spaces"><input id="token-scope" required spellcheck=${false} value=${scope} onInput=${(event) => setScope(event.target.value)} /><//>
    <div class="tags">${EXAMPLES.map(([value, title]) => html`<button type="button" class="small" title=${title} onClick=${() => setScope(value)}>${value}</button>`)}</div>
    <${Field} id="token-days" label="Valid for (days)" error=${days === null && 'whole days from 1 to 366'}><input id="token-days" inputmode="numeric" required value=${typed} aria-invalid=${String(days === null)} onInput=${(event) => setDays(event.target.value)} /><//>
    ${days !== null && html`<${Commands} command=${weir('token', 'issue', name || 'NAME', '--scope', scope, '--days', days)} request=${{ method: 'POST', path: '/v1/tokens', body }} />`}
    ${state.error && html`<${ErrorBox} error=${state.error} />`}
    <footer class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><button class="primary" disabled=${state.busy || !name.trim() || !scope.trim() || days === null}>Issue</button></footer>
  </form><//>`;
}
