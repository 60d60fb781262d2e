// Keys that work everywhere: Ctrl-K or ⌘K opens the palette, / goes to the search box.
import { openPalette } from './palette.js';
import { session } from './api.js';
import { isHeld } from './router.js';

const isTyping = (element) => element?.matches?.('input, select, textarea, [contenteditable]');

export function startKeyboard() {
  addEventListener('keydown', (event) => {
    if (!session.get()) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      if (!isHeld()) openPalette();
    } else if (event.key === '/' && !isTyping(event.target) && !document.querySelector('dialog[open]')) {
      const box = document.querySelector('main [data-search]');
      if (box) { event.preventDefault(); box.focus(); box.select(); }
    }
  });
}
