// Starts the console: session first, then the page that the address names.
import { html, render, useEffect, useState } from './view.js';
import { route, segments, useRoute } from './router.js';
import { useStore } from './store.js';
import { session, loadSession } from './session.js';
import { startLive } from './live.js';
import { startKeyboard } from './keyboard.js';
import { startPalette } from './palette-sources.js';
import { SECTIONS } from './sections.js';
import { Shell } from './shell.js';
import { SignIn } from './signin.js';
import { Empty, ErrorBox } from './ui.js';

const pages = new Map();
const sectionOf = (path) => SECTIONS.find((one) => one.key === (segments(path)[0] ?? 'overview'));
const load = (section) => section.load().then((module) => { pages.set(section.key, module.default); });

function usePage(section) {
  const [state, setState] = useState({ key: null });
  const Page = section && pages.get(section.key);
  useEffect(() => {
    if (!section || Page) return;
    load(section).then(() => setState({ key: section.key }))
      .catch((error) => setState({ key: section.key, error }));
  }, [section]);
  return { Page, error: state.key === section?.key ? state.error : null };
}

function App() {
  const { path } = useRoute();
  const user = useStore(session);
  const [first = 'overview', ...rest] = segments(path);
  const section = sectionOf(path);
  const { Page, error } = usePage(user ? section : null);
  useEffect(() => { document.title = section ? `${[...rest].reverse().concat(section.label).join(' · ')} · Weir` : 'Weir'; }, [path]);
  if (user === undefined) return null;
  if (!user) return html`<${SignIn} />`;
  return html`<${Shell} range=${section?.range}>
    ${!section && html`<${Empty} title="There is no such page" text="The address does not name a section of the console." />`}
    ${error && html`<${ErrorBox} error=${error} retry=${() => location.reload()} />`}
    ${Page && html`<${Page} key=${first} segments=${rest} />`}
  <//>`;
}

startPalette();
startKeyboard();
startLive();
loadSession();
// Beside the session, so that the first drawing has the page; a failure is shown when the page is needed.
const section = sectionOf(route.get().path);
if (section) load(section).catch(() => {});
render(html`<${App} />`, document.getElementById('app'));
route.subscribe(() => document.querySelector('dialog[open]')?.close());
