// The report of a review as Markdown, to copy into a pull request.
import { html } from '../app/view.js';
import { useApi } from '../app/data.js';
import { Dialog } from '../app/dialog.js';
import { copyText } from '../app/ui.js';
import { Commands, weir } from '../app/command.js';
import { Loaded, plain } from './shared.js';

export function ReportDialog({ id, onClose }) {
  const path = `/v1/reviews/${encodeURIComponent(id)}/report?format=markdown`;
  const source = useApi(path);
  return html`<${Dialog} wide title="Report as Markdown" onClose=${onClose}><div class="stack">
    <${Loaded} source=${source} lines=${5}>${(text) => html`<pre class="raw" tabindex="0">${plain(text)}</pre>
      <footer class="dialog-foot"><button type="button" class="primary" onClick=${() => copyText(text)}>Copy</button></footer>`}<//>
    <${Commands} command=${weir('reviews', 'report', id, '--format', 'markdown')} request=${{ path }} />
  </div><//>`;
}
