// Dialogs: the browser's <dialog> keeps the focus inside and closes on Escape.
import { html, useState, useEffect, useRef } from './view.js';
import { createStore, useStore } from './store.js';
import { request } from './api.js';
import { ONCE } from './router.js';
import { toast } from './toast.js';
import { Commands } from './command.js';
import { Icon, ErrorBox } from './ui.js';

export function Dialog({ title, onClose, children, wide, class: name = '' }) {
  const ref = useRef(null);
  const down = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    const element = ref.current;
    element.showModal();
    element.querySelector('[autofocus], form :is(input, select, textarea)')?.focus();
    const onDown = (event) => {
      // The second click of the double-click that opened it takes no focus.
      if (!down.current && event.detail > 1) event.preventDefault();
      down.current = event.target;
    };
    element.addEventListener('mousedown', onDown);
    return () => { element.removeEventListener('mousedown', onDown); before?.focus?.(); };
  }, []);
  // A click beside it closes what is only read. A form keeps what was typed, also when a drag ends outside, and a secret stays
  // until it is closed on purpose; the second click of a double-click is none.
  const onClick = (event) => {
    const isBeside = event.target === ref.current && down.current === ref.current && event.detail < 2;
    if (isBeside && !ref.current.querySelector('form') && !hasSecret()) onClose();
  };
  const hasSecret = () => ref.current.querySelector(ONCE);
  const onCancel = (event) => { if (hasSecret()) event.preventDefault(); };
  // A browser closes it all the same when Escape is pressed twice.
  const onClosed = () => { if (hasSecret()) ref.current.showModal(); else onClose(); };
  return html`<dialog ref=${ref} class="dialog ${wide ? 'wide' : ''} ${name}" aria-label=${title} onClose=${onClosed} onCancel=${onCancel} onClick=${onClick}>
    <div class="dialog-body">
      <header class="dialog-head"><h2>${title}</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick=${onClose}><${Icon} name="close" /></button></header>
      ${children}
    </div>
  </dialog>`;
}

const current = createStore(null);

/**
 * Asks once, then sends the request. Resolves to the response, or to undefined when the person cancels.
 *   { title, text, button, danger, typeName, request: { method, path, body }, command, done }
 * `typeName`: a name to type before the button works. `request` may be a function for several calls; `check` is called before it
 * and throws when the request must not be sent any more.
 */
export const act = (action) => new Promise((resolve) => { current.set({ ...action, resolve }); });

export function ActionDialog() {
  const action = useStore(current);
  return action && html`<${Ask} key=${action.title} action=${action} />`;
}

function Ask({ action }) {
  const [typed, setTyped] = useState('');
  const [state, setState] = useState({ busy: false, error: null });
  const close = (value) => { current.set(null); action.resolve(value); };
  const send = async (event) => {
    event.preventDefault();
    if (state.busy) return;
    setState({ busy: true, error: null });
    try {
      const { request: call } = action;
      await action.check?.();
      const result = typeof call === 'function' ? await call() : await request(call.method, call.path, { body: call.body });
      if (action.done) toast(action.done);
      close(result ?? null);
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  const isReady = !action.typeName || typed === action.typeName;
  return html`<${Dialog} title=${action.title} onClose=${() => close(undefined)}>
    <form onSubmit=${send} class="stack">
      ${action.text && html`<p>${action.text}</p>`}
      ${action.detail}
      ${action.typeName && html`<label class="field"><span>Type <code>${action.typeName}</code> to confirm</span>
        <input value=${typed} onInput=${(event) => setTyped(event.target.value)} autocomplete="off" spellcheck=${false} autofocus /></label>`}
      ${(action.command || typeof action.request === 'object') && html`<${Commands} command=${action.command}
        request=${typeof action.request === 'object' ? action.request : undefined} />`}
      ${state.error && html`<${ErrorBox} error=${state.error} />`}
      <footer class="dialog-foot">
        <button type="button" autofocus=${action.danger && !action.typeName} onClick=${() => close(undefined)}>Cancel</button>
        <button type="submit" class=${action.danger ? 'danger' : 'primary'} autofocus=${!action.danger && !action.typeName} disabled=${!isReady || state.busy}>${action.button ?? 'Confirm'}</button>
      </footer>
    </form>
  <//>`;
}
