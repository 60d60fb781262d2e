import { html } from '../app/view.js';
import { PageHead } from '../app/ui.js';

export default () => html`<${PageHead} title="settings" />`;
