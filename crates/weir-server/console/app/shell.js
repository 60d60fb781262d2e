// The frame around every page: navigation, header, user menu.
import { html, useEffect, useRef, useState } from './view.js';
import { Link, keeping, path, useRoute, segments } from './router.js';
import { useStore } from './store.js';
import { session, signOut, named, namespacesOf } from './session.js';
import { useApi } from './data.js';
import { withQuery } from './api.js';
import { plain } from './format.js';
import { useLive } from './live.js';
import { theme, toggleTheme } from './theme.js';
import { RangePicker, useRangeUsers } from './range.js';
import { ErrorBox, Icon, Status, Time, failureText } from './ui.js';
import { Palette, openPalette } from './palette.js';
import { ActionDialog, act } from './dialog.js';
import { Toasts, toast } from './toast.js';
import { reached } from './sections.js';

// With its version, which the page knows: a browser keeps that one.
const ICON = document.querySelector('link[rel=icon]').href;

const Nav = ({ current, user }) => html`<nav class="nav" aria-label="Sections">
  ${reached(user).map(({ key, label, href, range }) => html`<${Link} href=${range ? keeping(href) : href} aria-current=${key === current ? 'page' : undefined}><${Icon} name=${key} /><span>${label}</span><//>`)}
</nav>`;

const LIVE = {
  live: ['good', 'live', 'Live values arrive'],
  connecting: ['idle', 'connecting', 'Connecting to the live values'],
  lost: ['bad', 'connection lost', 'The connection to the live values is lost; it is tried again'],
  hidden: ['idle', 'paused', 'Paused while the tab is hidden'],
  off: ['idle', 'off', 'No live values'],
};
function LiveDot() {
  const { status } = useLive();
  const [kind, word, title] = LIVE[status];
  return html`<span class="live ${kind}" title=${title} role="status"><span class="dot" aria-hidden="true"></span><span>${word}</span></span>`;
}

const GRACE_MS = 4000;
/** Says that what is on the page may be old. A short pause, as of a restart, is only shown by the dot. */
function LostBanner() {
  const { status, lostAt, answers } = useLive();
  const [now, setNow] = useState(0);
  useEffect(() => {
    if (!lostAt) return undefined;
    const timer = setTimeout(() => setNow(Date.now()), GRACE_MS);
    return () => clearTimeout(timer);
  }, [lostAt]);
  if (status !== 'lost' || now - lostAt < GRACE_MS - 100) return null;
  return html`<p class="lost-banner" role="alert"><${Status} kind="bad">${answers ? 'Live values do not arrive' : 'The server does not answer'}<//>
    ${answers ? 'They are' : 'What you see is'} from before <${Time} at=${new Date(lostAt).toISOString()} />. It is tried again, and the page goes on by itself.</p>`;
}

/** A menu of buttons that closes on Escape, on a click elsewhere and when the focus leaves. */
export function Menu({ label, children, class: name = '' }) {
  const [isOpen, setOpen] = useState(false);
  const ref = useRef(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const away = (event) => { if (!ref.current?.contains(event.target)) setOpen(false); };
    document.addEventListener('pointerdown', away);
    return () => document.removeEventListener('pointerdown', away);
  }, [isOpen]);
  const onKey = (event) => { if (event.key === 'Escape') { setOpen(false); ref.current.querySelector('button').focus(); } };
  return html`<div class="menu ${name}" ref=${ref} onKeyDown=${onKey}>
    <button type="button" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>${label}<${Icon} name="down" /></button>
    ${isOpen && html`<div class="menu-list" onClick=${() => setOpen(false)}>${children}</div>`}
  </div>`;
}

function Others({ isNamespace, user, hrefOf }) {
  const own = isNamespace ? namespacesOf(user) : named(user, 'org');
  const { data, error, reload } = useApi(user.admin ? `${isNamespace ? '/v1/namespaces' : '/api/v1/orgs'}?limit=100` : null);
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  const found = user.admin ? data?.items.filter((one) => !isNamespace || one.state === 'active').map((one) => (isNamespace ? [one.name, one.name] : [one.org_id, plain(one.org_name)])) : own.map((one) => [one, one]);
  if (!found) return html`<p class="menu-note">Loading…</p>`;
  return html`${found.map(([id, name]) => html`<${Link} href=${hrefOf(id)}>${name}<//>`)}
    ${data?.next_cursor && html`<button type="button" onClick=${openPalette}>Search all…</button>`}`;
}

/** The namespace or the org that the page is about, and the way to the others. They are loaded when the list is opened. */
export function Subject({ user, class: name = '' }) {
  const { path: at, query } = useRoute();
  const [section, first, tab, ...rest] = segments(at);
  const isNamespace = section === 'limits';
  if (!isNamespace && !(section === 'budgets' && first)) return null;
  const home = namespacesOf(user)[0] ?? 'default';
  const id = isNamespace ? query.get('ns') ?? home : first;
  const hrefOf = (to) => (isNamespace ? withQuery(tab ? '/limits' : at, { ns: to === home ? null : to }) : path`/budgets/${to}` + (tab && !rest.length ? `/${tab}` : ''));
  return html`<${Menu} class="subject ${name}" label=${html`<span class="muted">${isNamespace ? 'namespace' : 'org'}</span> <span class="clip">${plain(id)}</span>`}>
    <${Others} key=${section} isNamespace=${isNamespace} user=${user} hrefOf=${hrefOf} /><//>`;
}

function UserMenu({ user }) {
  const leave = () => signOut().catch((error) => toast(failureText(error), 'bad'));
  const leaveAll = () => act({ title: 'Sign out everywhere?', danger: true, button: 'Sign out everywhere', request: () => signOut({ everywhere: true }),
    text: `Every session of ${user.name ?? user.subject} ends at once, in this browser and in all others.` });
  return html`<${Menu} label=${html`<${Icon} name="user" /><span class="user-name">${user.name ?? user.subject}</span>`} class="user">
    <p class="menu-note">${user.admin ? 'Administrator' : html`Scopes <code>${(user.scopes ?? []).join(' ')}</code>`}</p>
    <button type="button" onClick=${leave}>Sign out</button>
    <button type="button" onClick=${leaveAll}>Sign out everywhere…</button>
  <//>`;
}

export function Shell({ range, children }) {
  const { path: at } = useRoute();
  const user = useStore(session);
  const mode = useStore(theme);
  const isRangeUsed = useRangeUsers() > 0;
  const current = segments(at)[0] ?? 'overview';
  return html`<a class="skip" href="#main">Skip to content</a>
    <div class="shell">
      <header class="top">
        <${Link} href="/" class="brand" aria-label="Weir, overview"><img src=${ICON} alt="" width="22" height="22" /><span>Weir</span><//>
        ${user.demo && html`<span class="demo-mark" title="This server runs on generated data in a folder of its own">demo data</span>`}
        <span class="grow"></span>
        <${Subject} user=${user} />
        ${range && isRangeUsed && html`<${RangePicker} initial=${range} />`}
        <${LiveDot} />
        <button type="button" class="palette-button" onClick=${openPalette} title="Go to a page, org, entity or review"><${Icon} name="search" /><span class="visually-hidden">Go to</span><kbd>Ctrl K</kbd></button>
        <button type="button" class="icon-button" onClick=${toggleTheme} aria-label=${mode === 'dark' ? 'Use the light theme' : 'Use the dark theme'} title="Light or dark"><${Icon} name="theme" /></button>
        <${UserMenu} user=${user} />
      </header>
      <${Nav} current=${current} user=${user} />
      <main id="main" tabindex="-1"><${LostBanner} />${children}</main>
    </div>
    <${Palette} /><${ActionDialog} /><${Toasts} />`;
}
