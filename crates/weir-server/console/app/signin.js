// The first page asks for the admin key or a token; so does a dialog over a page whose session has ended.
import { html, useState } from './view.js';
import { session, signIn, forget } from './session.js';
import { Dialog } from './dialog.js';
import { Code, Field } from './ui.js';

const WRONG = 'This is neither the admin key nor a token that is in force.';

function useSignIn() {
  const [state, setState] = useState({ busy: false, error: null });
  const send = async (credential, name) => {
    setState({ busy: true, error: null });
    try {
      localStorage.setItem('weir.name', name.trim());
      await signIn(credential.trim(), name.trim());
    } catch (error) {
      const id = error.requestId ? ` Request id ${error.requestId}` : '';
      setState({ busy: false, error: error.status === 401 ? WRONG : `${error.message}${id}` });
    }
  };
  return { ...state, send };
}

const Credential = ({ value, onChange, error }) => html`<${Field} id="credential" label="Admin key or token" error=${error}>
  <input id="credential" type="password" autocomplete="current-password" required autofocus spellcheck=${false} value=${value} onInput=${(event) => onChange(event.target.value)} />
<//>`;

export function SignIn() {
  const [credential, setCredential] = useState('');
  const [name, setName] = useState(localStorage.getItem('weir.name') ?? '');
  const { busy, error, send } = useSignIn();
  return html`<main class="sign-in" id="main">
    <form class="card" onSubmit=${(event) => { event.preventDefault(); if (!busy) send(credential, name); }}>
      <h1><img src="/assets/icon.svg" alt="" width="28" height="28" /> Weir</h1>
      <p class="sub">Sign in with the admin key, or with a token: it sees what its scopes reach.</p>
      <${Credential} value=${credential} onChange=${setCredential} error=${error} />
      <${Field} id="name" label="Your name" hint="With the admin key: stands beside your changes in the audit. A token has a name of its own.">
        <input id="name" autocomplete="nickname" maxlength="64" aria-describedby="name-hint" value=${name} onInput=${(event) => setName(event.target.value)} />
      <//>
      <button class="primary" disabled=${busy || !credential.trim()}>Sign in</button>
      <details><summary>Where is the admin key?</summary>
        <p class="sub">In the file <code>admin.key</code> of the data folder, or in the variable <code>WEIR_ADMIN_KEY</code>. To issue a token instead:</p>
        <${Code} text="weir token issue console --scope admin" /></details>
    </form>
  </main>`;
}

/** The page stays as it is below the dialog, with what was typed. Closing it leaves the page. */
export function SignInAgain() {
  const [credential, setCredential] = useState('');
  const { busy, error, send } = useSignIn();
  const { name, subject } = session.get();
  return html`<${Dialog} title="Your session has ended" onClose=${forget}>
    <form class="stack" onSubmit=${(event) => { event.preventDefault(); if (!busy) send(credential, name ?? ''); }}>
      <p>It expired, or was ended elsewhere. Sign in again as <b>${name ?? subject}</b>, and the page goes on as it is.</p>
      <${Credential} value=${credential} onChange=${setCredential} error=${error} />
      <footer class="dialog-foot"><button type="button" onClick=${forget}>Leave the page</button>
        <button class="primary" disabled=${busy || !credential.trim()}>Sign in</button></footer>
    </form>
  <//>`;
}
