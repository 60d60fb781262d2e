// Starts the console: session first, then the page that the address names.
import { html, render, useEffect, useErrorBoundary, useRef, useState } from './view.js';
import { route, segments, useRoute } from './router.js';
import { useStore } from './store.js';
import { session, sessionError, ended, followOtherTabs, loadSession } from './session.js';
import { startLive } from './live.js';
import { startKeyboard } from './keyboard.js';
import { startPalette } from './palette-sources.js';
import { SECTIONS } from './sections.js';
import { Shell } from './shell.js';
import { SignIn, SignInAgain } from './signin.js';
import { ErrorBox, NoPage, PageHead } from './ui.js';

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

/** A page that cannot be shown says so; the frame and the way to other pages stay. */
function Guard({ children }) {
  const now = useRoute();
  const [error, reset] = useErrorBoundary((fault) => console.error(fault));
  useEffect(() => { if (error) reset(); }, [now]);
  if (!error) return children;
  return html`<${PageHead} title="This page failed" sub="The console met an error of its own. Nothing was changed on the server." />
    <${ErrorBox} error=${{ message: String(error.message ?? error) }} retry=${() => location.reload()} />`;
}

/** What has the focus may be gone after a page change: the keyboard goes on at the content. A first page begins at its start. */
function useFocusOn(path) {
  const before = useRef(null);
  useEffect(() => {
    const isFirst = !before.current;
    before.current = path;
    if (isFirst) return undefined;
    const timer = setTimeout(() => { if (document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true }); }, 50);
    return () => clearTimeout(timer);
  }, [path]);
}

function App() {
  const { path } = useRoute();
  const user = useStore(session);
  const [first = 'overview', ...rest] = segments(path);
  const section = sectionOf(path);
  const { Page, error } = usePage(user ? section : null);
  useFocusOn(user && path);
  useEffect(() => { document.title = section ? `${[...rest].reverse().concat(section.label).join(' · ')} · Weir` : 'Weir'; }, [path]);
  const hasEnded = useStore(ended);
  const failed = useStore(sessionError);
  if (user === undefined) return failed && html`<main class="sign-in" id="main"><${ErrorBox} error=${failed} retry=${loadSession} /></main>`;
  if (!user) return html`<${SignIn} />`;
  return html`<${Shell} key=${user.subject} range=${section?.range}>
    ${!section && html`<${NoPage} path=${path} home=${['Overview', '/']} />`}
    ${error && html`<${ErrorBox} error=${error} retry=${() => location.reload()} />`}
    ${Page && html`<${Guard}><${Page} key=${first} segments=${rest} /><//>`}
  <//>${hasEnded && html`<${SignInAgain} />`}`;
}

startPalette();
startKeyboard();
startLive();
followOtherTabs();
loadSession();
// Beside the session, so that the first drawing has the page; a failure is shown when the page is needed.
const section = sectionOf(route.get().path);
if (section) load(section).catch(() => {});
render(html`<${App} />`, document.getElementById('app'));
route.subscribe(() => { if (!ended.get()) document.querySelector('dialog[open]')?.close(); });
