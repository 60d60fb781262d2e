// Limits: resources with live rates, entities, audit and namespaces. The address selects the view.
import { html } from '../app/view.js';
import { useRoute, segments } from '../app/router.js';
import { session } from '../app/session.js';
import { NoPage, PageHead, Tabs } from '../app/ui.js';
import { useNamespace, to } from './limits-data.js';
import { Subject } from '../app/shell.js';
import { Resources, Resource } from './limits-resources.js';
import { Entities, Entity } from './limits-entities.js';
import { Editor } from './limits-editor.js';
import { Audit, Namespaces } from './limits-lists.js';

const VIEWS = { '': Resources, entities: Entities, audit: Audit, namespaces: Namespaces };

function Index({ view }) {
  const [ns] = useNamespace();
  const View = VIEWS[view];
  const tabs = [[to(ns), 'Resources'], [to(ns, '/entities'), 'Entities'], [to(ns, '/audit'), 'Audit'], ...(session.get().admin ? [[to(ns, '/namespaces'), 'Namespaces']] : [])];
  return html`<${PageHead} title="Limits" needs=${`ns:${ns}`} sub="What every user, key and project may use, and what it uses now" actions=${view !== 'namespaces' && html`<${Subject} user=${session.get()} class="phone-only" />`} />
    <${Tabs} label="Views of limits" current=${to(ns, view && `/${view}`)} items=${tabs} />
    <${View} key=${ns} ns=${ns} />`;
}

export default function LimitsPage() {
  const { path } = useRoute();
  const [ns] = useNamespace();
  const [, view = '', name] = segments(path);
  if (view === 'edit') return html`<${Editor} ns=${ns} />`;
  if (view === 'entities' && name) return html`<${Entity} key=${`${ns}/${name}`} ns=${ns} id=${name} />`;
  if (view === 'resources' && name) return html`<${Resource} key=${`${ns}/${name}`} ns=${ns} name=${name} />`;
  if (!Object.hasOwn(VIEWS, view)) return html`<${NoPage} path=${path} home=${['Limits', to(ns)]} />`;
  return html`<${Index} view=${view} />`;
}
