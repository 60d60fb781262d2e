// The same action elsewhere: as a `weir` command and as a curl call.
import { html } from './view.js';
import { Code } from './ui.js';

const quote = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${String(text).replaceAll("'", "'\\''")}'`);

/** A `weir` command from its words, each quoted for a shell where it needs it. */
export const weir = (...words) => ['weir', ...words].map((word) => quote(String(word))).join(' ');

export function curl(method, path, body) {
  const parts = ['curl'];
  if (method !== 'GET') parts.push('-X', method);
  parts.push('-H', '"Authorization: Bearer $WEIR_TOKEN"');
  if (body !== undefined) parts.push('-H', quote('Content-Type: application/json'), '-d', quote(JSON.stringify(body)));
  parts.push(quote(location.origin + path));
  return parts.join(' ');
}

/** Shows both. `command` is a finished `weir …` line; request is { method, path, body }. */
export const Commands = ({ command, request }) => html`<details class="commands">
  <summary>The same from a terminal</summary>
  ${command && html`<${Code} text=${command} />`}
  ${request && html`<${Code} text=${curl(request.method ?? 'GET', request.path, request.body)} />`}
</details>`;
