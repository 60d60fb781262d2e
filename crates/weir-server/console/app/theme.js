// Light or dark: as the system says, until a person chooses.
import { createStore } from './store.js';

const dark = matchMedia('(prefers-color-scheme: dark)');
const chosen = () => document.documentElement.dataset.theme;
const effective = () => chosen() || (dark.matches ? 'dark' : 'light');

export const theme = createStore(effective());
dark.addEventListener('change', () => theme.set(effective()));

export function toggleTheme() {
  const next = effective() === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  localStorage.setItem('weir.theme', next);
  theme.set(next);
}

const probe = document.createElement('span');
// Reading a colour makes the browser compute styles again, and a chart needs a dozen.
const colors = new Map();
theme.subscribe(() => colors.clear());
/** The value of a colour token in the current theme, for a canvas. */
export function color(token) {
  if (!colors.has(token)) {
    if (!probe.isConnected) { probe.hidden = true; document.body.append(probe); }
    probe.style.color = `var(--${token})`;
    colors.set(token, getComputedStyle(probe).color);
  }
  return colors.get(token);
}
