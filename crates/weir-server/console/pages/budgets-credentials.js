// The client id, and a new secret that is shown once.
import { html, useState } from '../app/view.js';
import { post } from '../app/api.js';
import { act, Dialog } from '../app/dialog.js';
import { weir, Commands } from '../app/command.js';
import { Button, Card, Code, CopyButton, ErrorBox, Facts, Field, Time } from '../app/ui.js';

export function CredentialsTab({ scope }) {
  const { config, api, client, name } = scope;
  const [typed, setTyped] = useState('24');
  const hours = /^\d{1,3}$/.test(typed.trim()) && Number(typed) <= 168 ? Number(typed) : null;
  const [link, setLink] = useState(null);
  const rotate = () => act({
    title: `Rotate the secret of ${name}`, button: 'Rotate',
    text: `A one-time link to a new secret is created. The old secret works until ${hours} h after the new one is fetched, and nothing changes before that.`,
    command: weir('keeper', 'rotate', ...client, '--grace-hours', hours),
    request: { method: 'POST', path: `${api}/credentials/rotate`, body: { grace_period_hours: hours } },
  }).then((result) => { if (result) setLink(result); });
  const cancel = () => act({
    title: `Cancel the rotation of ${name}`, button: 'Cancel the rotation', danger: true,
    text: 'The one-time link becomes void, and the secret in force stays.',
    command: weir('keeper', 'rotate', ...client, '--cancel'),
    request: { method: 'DELETE', path: `${api}/credentials/rotate` }, done: 'The secret in force stays',
  });
  return html`<${Card} title="Credentials" sub="A client exchanges its id and secret for access tokens at POST /auth/token">
    <${Facts} items=${[['Client id', html`<span class="copyable"><code>${config.client_id}</code><${CopyButton} text=${config.client_id} label="Copy the client id" /></span>`],
      ['Created', html`<${Time} at=${config.created_at} zone=${config.timezone} />`], ['Configuration version', config.config_version]]} />
    <div class="inline-form pad-y">
      <${Field} id="grace" label="Old secret works for (h)" error=${hours === null && 'whole hours from 0 to 168'}><input id="grace" inputmode="numeric" value=${typed} aria-invalid=${String(hours === null)} onInput=${(event) => setTyped(event.target.value)} /><//>
      <${Button} needs="admin" class="primary" disabled=${hours === null} onClick=${rotate}>Rotate the secret…<//>
      <${Button} needs="admin" onClick=${cancel}>Cancel a rotation…<//>
    </div>
    <p class="sub">The server stores only a hash, so a secret in force cannot be shown again; rotate it instead.</p>
  <//>
  ${link && html`<${Secret} scope=${scope} link=${link} onClose=${() => setLink(null)} />`}`;
}

function Secret({ scope: { api, client, name, config }, link, onClose }) {
  const [state, setState] = useState({});
  const { token, expires_at: expires } = link.secret_retrieval;
  const fetchIt = async () => {
    setState({ busy: true });
    try { setState({ secret: await post(`${api}/credentials/secret`, { token }) }); } catch (error) { setState({ error }); }
  };
  return html`<${Dialog} title=${`New secret of ${name}`} onClose=${onClose}><div class="stack" data-once>
    ${state.secret ? html`<div class="secret" data-secret>
        <strong>Copy it now: it is shown once.</strong>
        <span>Client id</span><${Code} text=${state.secret.client_id} /><span>Client secret</span><${Code} text=${state.secret.client_secret} />
      </div>`
    : html`<p>Fetching the secret creates it, shows it once, and starts the ${link.rotation.grace_period_hours} h for which the old one still works. The link expires <${Time} at=${expires} zone=${config.timezone} />.</p>
      <${Commands} command=${weir('keeper', 'secret', ...client, '--token', token)} request=${{ method: 'POST', path: `${api}/credentials/secret`, body: { token } }} />`}
    ${state.error && html`<${ErrorBox} error=${state.error} />`}
    <footer class="dialog-foot"><button type="button" onClick=${onClose}>${state.secret ? 'Done' : 'Later'}</button>
      ${!state.secret && html`<button type="button" class="primary" disabled=${state.busy} onClick=${fetchIt}>Fetch the secret</button>`}</footer>
  </div><//>`;
}
