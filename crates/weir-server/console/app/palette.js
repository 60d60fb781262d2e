// Ctrl-K: pages, orgs, entities, reviews and commands in one list.
import { html, useState, useEffect, useRef } from './view.js';
import { navigate } from './router.js';
import { createStore, useStore } from './store.js';
import { Dialog } from './dialog.js';
import { Icon } from './ui.js';

const isOpen = createStore(false);
export const openPalette = () => isOpen.set(true);

const sources = new Map();
/**
 * Adds entries. `load(text, signal, isFirst)` returns (a promise of) [{ label, hint, href | run }]; it is asked once the
 * person pauses, with what was typed so far ('' at first). Entries are filtered here by label and hint.
 */
export function addPaletteSource(id, load) { sources.set(id, load); }

export const matches = (entry, text) => text.toLowerCase().split(/\s+/).every((word) => `${entry.label} ${entry.hint ?? ''}`.toLowerCase().includes(word));

function useEntries(text) {
  const [entries, setEntries] = useState([]);
  const isFirst = useRef(true);
  useEffect(() => {
    const abort = new AbortController();
    const found = new Map();
    // In the order of arrival, so that nothing moves under the cursor.
    const show = () => { if (!abort.signal.aborted) setEntries([...found.values()].flat()); };
    const timer = setTimeout(() => {
      const first = isFirst.current;
      isFirst.current = false;
      for (const [id, load] of sources) {
        Promise.resolve().then(() => load(text, abort.signal, first))
          .then((list) => { found.set(id, list); show(); })
          .catch(() => { /* a source the session may not read, or an aborted call: the others still serve */ });
      }
    }, text ? 120 : 0);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [text]);
  return entries.filter((entry) => matches(entry, text)).slice(0, 40);
}

export function Palette() {
  return useStore(isOpen) && html`<${Box} />`;
}

function Box() {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef(null);
  const entries = useEntries(text);
  const close = () => isOpen.set(false);
  const open = (entry) => {
    close();
    if (entry.href) navigate(entry.href); else entry.run();
  };
  const onKey = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && entries.length) {
      event.preventDefault();
      setAt((at + step + entries.length) % entries.length);
    } else if (event.key === 'Enter' && entries[at]) {
      event.preventDefault();
      open(entries[at]);
    }
  };
  useEffect(() => { setAt(0); }, [text]);
  useEffect(() => { list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }); }, [at]);
  return html`<${Dialog} title="Go to" class="palette" onClose=${close}>
    <label class="search"><${Icon} name="search" /><span class="visually-hidden">Search pages, orgs, entities, reviews and commands</span>
      <input autofocus type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${entries[at] ? `palette-${at}` : undefined}
        placeholder="Pages, orgs, entities, reviews, commands" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${onKey} /></label>
    <ul id="palette-list" role="listbox" aria-label="Results" ref=${list}>
      ${entries.map((entry, i) => html`<li id=${`palette-${i}`} role="option" aria-selected=${String(i === at)} onClick=${() => open(entry)} onMouseMove=${() => setAt(i)}>
        <span>${entry.label}</span><span class="muted">${entry.hint}</span></li>`)}
    </ul>
    ${entries.length === 0 && html`<p class="muted pad">Nothing matches.</p>`}
  <//>`;
}
