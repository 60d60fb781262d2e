// Short notices that something was done; they go away on their own.
import { html } from './view.js';
import { createStore, useStore } from './store.js';

const toasts = createStore([]);
let next = 1;

export function toast(text, kind = 'good') {
  const id = next;
  next += 1;
  toasts.set([...toasts.get(), { id, text, kind }]);
  setTimeout(() => toasts.set(toasts.get().filter((one) => one.id !== id)), kind === 'bad' ? 8000 : 4000);
}

export function Toasts() {
  const all = useStore(toasts);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${all.map((one) => html`<div key=${one.id} class="toast ${one.kind}">${one.text}</div>`)}
  </div>`;
}
