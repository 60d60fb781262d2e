// The first page: asks for the admin key or a token.
import { html, useState } from './view.js';
import { signIn } from './session.js';
import { Code, Field } from './ui.js';

export function SignIn() {
  const [credential, setCredential] = useState('');
  const [name, setName] = useState(localStorage.getItem('weir.name') ?? '');
  const [state, setState] = useState({ busy: false, error: null });
  const submit = async (event) => {
    event.preventDefault();
    setState({ busy: true, error: null });
    try {
      localStorage.setItem('weir.name', name.trim());
      await signIn(credential.trim(), name.trim());
    } catch (error) {
      const text = error.status === 401 ? 'This is neither the admin key nor a token that is in force.' : error.message;
      setState({ busy: false, error: text });
    }
  };
  return html`<main class="sign-in" id="main">
    <form class="card" onSubmit=${submit}>
      <h1><img src="/assets/icon.svg" alt="" width="28" height="28" /> Weir</h1>
      <p class="sub">Sign in with the admin key, or with a token: it sees what its scopes reach.</p>
      <${Field} id="credential" label="Admin key or token" error=${state.error}>
        <input id="credential" type="password" autocomplete="current-password" required autofocus spellcheck="false" value=${credential} onInput=${(event) => setCredential(event.target.value)} />
      <//>
      <${Field} id="name" label="Your name" hint="Stands beside your changes in the audit. Optional.">
        <input id="name" autocomplete="nickname" maxlength="64" aria-describedby="name-hint" value=${name} onInput=${(event) => setName(event.target.value)} />
      <//>
      <button class="primary" disabled=${state.busy || !credential.trim()}>Sign in</button>
      <details><summary>Where is the admin key?</summary>
        <p class="sub">In the file <code>admin.key</code> of the data folder, or in the variable <code>WEIR_ADMIN_KEY</code>. To issue a token instead:</p>
        <${Code} text="weir token issue console --scope admin" /></details>
    </form>
  </main>`;
}
