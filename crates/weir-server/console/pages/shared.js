// What the pages of limits, reviews and practice share.
import { html, useState, useEffect } from '../app/view.js';
import { number, plain } from '../app/format.js';
import { ErrorBox, Skeleton } from '../app/ui.js';

/** Shows what `source` (from useApi) loaded: a quiet placeholder before, the error when it failed, above what is older. */
export function Loaded({ source, lines = 3, children }) {
  if (source.error && source.data === undefined) return html`<${ErrorBox} error=${source.error} retry=${source.reload} />`;
  if (source.data === undefined) return html`<div class="loading-lines" aria-busy="true">${Array.from({ length: lines }, (_, i) => html`<${Skeleton} width=${`${90 - i * 18}%`} />`)}</div>`;
  return html`${source.error && html`<${ErrorBox} error=${source.error} retry=${source.reload} />`}${children(source.data)}`;
}

/** A value that waits until it has not changed for a moment, so that typing asks once. */
export function useSettled(value, ms = 200) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

const SHOWN = 800;

export { plain };

/** Text of others: as text, in full only when asked for, and isolated from the direction of what follows. */
export function LongText({ text: raw, shown = SHOWN }) {
  const text = plain(raw);
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > shown * 1.25;
  return html`<div class="long-text"><bdi>${isLong && !isWhole ? `${text.slice(0, shown)}…` : text}</bdi>
    ${isLong && html` <button type="button" class="link" aria-expanded=${String(isWhole)} onClick=${() => setWhole(!isWhole)}>
      ${isWhole ? 'Show less' : `Show all ${number(text.length)} characters`}</button>`}</div>`;
}

/** A name that others chose, in one line. */
export function Name({ text: raw, max = 120 }) {
  const text = plain(raw);
  return html`<bdi class="name" title=${text.length > max ? text.slice(0, 1000) : undefined}>${text.length > max ? `${text.slice(0, max)}…` : text}</bdi>`;
}

/** A select as a filter of a list. options: [[value, label], …] */
export const Choice = ({ label, value, options, onChange }) => html`<label class="choice"><span>${label}</span>
  <select value=${value} onChange=${(event) => onChange(event.target.value)}>
    ${options.map(([key, text]) => html`<option value=${key} selected=${key === value}>${text}</option>`)}</select></label>`;
