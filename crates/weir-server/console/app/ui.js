// Small components that every page uses.
import { html, useState, useEffect, useRef } from './view.js';
import { Link, keeping } from './router.js';
import { number, compact, money, smallMoney, exactMoney, relative, exactTime, percent, HERE } from './format.js';
import { toast } from './toast.js';
import { session, may } from './session.js';

const ICONS = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z',
  budgets: 'M12 3v18M16.5 7.5C16 6 14.3 5.2 12 5.2c-2.5 0-4.3 1.2-4.3 3.2 0 4.7 9 2.3 9 7.2 0 2-2 3.2-4.7 3.2s-4.3-1-4.9-2.6',
  limits: 'M4 17a8 8 0 1 1 16 0M12 17l4-6',
  reviews: 'M4 5h16v11H9l-5 4zM8 9h8M8 12h5',
  practice: 'M8 6l-5 6 5 6M16 6l5 6-5 6M13.5 5l-3 14',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20c.8-3.5 3.8-5 7.5-5s6.7 1.5 7.5 5',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5',
  theme: 'M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  close: 'M6 6l12 12M18 6L6 18',
  down: 'M7 10l5 5 5-5',
  check: 'M5 13l4 4L19 7',
  table: 'M4 5h16v14H4zM4 10h16M4 14.5h16M10 5v14',
  chart: 'M4 4v16h16M8 16v-4M12 16V8M16 16v-6',
  refresh: 'M20 12a8 8 0 1 1-2.5-5.8M20 3v5h-5',
};
export const Icon = ({ name }) => html`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${ICONS[name]} /></svg>`;

/** A titled section. `actions` stands at the right of the title. */
export const Card = ({ title, sub, actions, children, class: name = '', id }) => html`
  <section class="card ${name}" aria-label=${title} id=${id}>
    ${(title || actions) && html`<header class="card-head">
      <div><h2>${title}</h2>${sub && html`<p class="sub">${sub}</p>`}</div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>`}
    ${children}
  </section>`;

const lacks = (needs) => needs && !may(session.get(), ...[needs].flat());
/** A button of an action. A session that has none of the scopes that it `needs` (a text, or several) sees which one it takes. */
export const Button = ({ needs, disabled, title, children, ...rest }) => html`<button type="button" ...${rest} disabled=${disabled || lacks(needs)}
  title=${lacks(needs) ? `This takes the scope ${[needs].flat().join(' or ')}` : title}>${children}</button>`;

/** `needs`: the scope that changes on the page take; who has it not is told so. */
export const PageHead = ({ title, sub, crumbs = [], actions, needs }) => html`
  <header class="page-head">
    <div>
      ${crumbs.length > 0 && html`<nav class="crumbs" aria-label="Breadcrumb">
        ${crumbs.map(([label, href], i) => html`${i > 0 && html`<span aria-hidden="true">/</span>`}<${Link} href=${href}>${label}<//>`)}
      </nav>`}
      <h1 title=${typeof title === 'string' && title.length > 80 ? title : undefined}>${title}</h1>
      ${sub && html`<p class="sub">${sub}</p>`}
      ${lacks(needs) && html`<p class="sub"><${Status}>read only<//> Changes take the scope <code>${[needs].flat()[0]}</code>.</p>`}
    </div>
    ${actions && html`<div class="actions">${actions}</div>`}
  </header>`;

/** An address that names no page; home: [label, href]. */
export const NoPage = ({ path, home }) => html`<${PageHead} title="There is no such page" crumbs=${[home]} sub=${html`<code>${path}</code>`} />
  <p>The address does not name a page of the console. Go to <${Link} href=${home[1]}>${home[0]}<//>, or press Ctrl K to search.</p>`;

const SHAPES = {
  good: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2z',
  warn: 'M8 1.5 15 14H1z',
  bad: 'M2.5 2.5h11v11h-11z',
  idle: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3zm0 2.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5z',
  info: 'M8 1.5 14.5 8 8 14.5 1.5 8z',
};
/** State as colour, word and shape. kind: good, warn, bad, idle, info. */
export const Status = ({ kind = 'idle', children, title }) => html`
  <span class="status ${kind}" title=${title}><svg viewBox="0 0 16 16" aria-hidden="true"><path d=${SHAPES[kind]} fill-rule="evenodd" /></svg>${children}</span>`;

export const Money = ({ micros }) => html`<span class="num" title=${exactMoney(micros)}>${money(micros)}</span>`;
/** A price, with every micro-dollar on hover. */
export const Price = ({ micros }) => html`<span class="num" title=${exactMoney(micros)}>${smallMoney(micros)}</span>`;
/** A whole number; `short` shows 1.2M with the exact value on hover. */
export const Num = ({ value, short }) => html`<span class="num" title=${short ? number(value) : undefined}>${short ? compact(value) : number(value)}</span>`;

/** A relative time that keeps itself current; the exact one, with its zone, on hover and for screen readers. */
export function Time({ at, zone = HERE, missing = '–' }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) tick((n) => n + 1); }, 15000);
    return () => clearInterval(timer);
  }, []);
  if (!at) return html`<span class="muted">${missing}</span>`;
  return html`<time datetime=${at} title=${exactTime(at, zone)}>${relative(at)}</time>`;
}

/** A figure with its context: value large, sub below, optionally a link to where it comes from. */
export function Stat({ label, value, sub, kind, href, children, loading }) {
  const inner = html`
    <span class="stat-label">${label}</span>
    <span class="stat-value ${kind || ''}">${loading ? html`<${Skeleton} width="6ch" />` : value}</span>
    ${children}
    <span class="stat-sub">${loading ? html`<${Skeleton} width="10ch" />` : sub}</span>`;
  return href ? html`<${Link} href=${href} class="stat">${inner}<//>` : html`<div class="stat">${inner}</div>`;
}
export const Stats = ({ children, label = 'Key figures' }) => html`<section class="stats" aria-label=${label}>${children}</section>`;

/** Used against a maximum. From `warn` % it is amber, from 100 % red; the words stand beside it. */
export function Bar({ used, max, label, warn = 80, text }) {
  const pct = max > 0 ? (used / max) * 100 : 0;
  const kind = pct >= 100 ? 'bad' : pct >= warn ? 'warn' : 'good';
  return html`<span class="bar-line">
    <span class="bar ${kind}" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax="100"
      aria-valuenow=${Math.round(Math.min(pct, 100))} aria-valuetext=${percent(pct)}>
      <span style=${{ width: `${Math.min(pct, 100)}%` }}></span>
    </span>
    ${text !== false && html`<span class="bar-text num ${kind}">${text ?? percent(pct, 0)}</span>`}
  </span>`;
}

/** A line without axes for a list; `label` says it in words. */
export function Sparkline({ values = [], label }) {
  const max = Math.max(1, ...values);
  const step = values.length > 1 ? 96 / (values.length - 1) : 96;
  const y = (value) => 22 - (value / max) * 20;
  const points = values.map((value, i) => `${(2 + i * step).toFixed(1)},${y(value).toFixed(1)}`);
  const last = values.length - 1;
  return html`<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label=${label}>
    ${values.length > 1 && html`<polygon points=${`2,24 ${points.join(' ')} 98,24`} /><polyline points=${points.join(' ')} />`}
    ${values.length === 1 && html`<circle cx="50" cy=${y(values[last])} r="1.5" />`}
  </svg>`;
}

export const Skeleton = ({ width = '8ch' }) => html`<span class="skeleton" style=${{ width }} aria-hidden="true"></span>`;

/** An error in one line, for a hint. */
export const failureText = (error) => `${error.message}${error.requestId ? ` Request id ${error.requestId}` : ''}`;

/** In place of a figure that could not be loaded. */
export const NotKnown = ({ error }) => html`<span class="bad" title=${failureText(error)}>not known</span>`;

/** What failed, what to do, and the id to give to whoever reads the server's log. */
export const ErrorBox = ({ error, retry }) => html`
  <div class="error-box" role="alert">
    <div><strong>${error.status ? `Failed (${error.status}${error.code ? ` ${error.code}` : ''})` : 'Failed'}</strong> ${error.message}
      ${error.requestId && html`<p class="sub">Request id <code>${error.requestId}</code></p>`}</div>
    ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
  </div>`;

/** Nothing here yet: says what to do next, with the command that does it. */
export const Empty = ({ title, text, command, action }) => html`
  <div class="empty">
    <strong>${title}</strong>
    ${text && html`<p>${text}</p>`}
    ${command && html`<${Code} text=${command} />`}
    ${action}
  </div>`;

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied');
  } catch {
    toast('The browser does not allow copying here; select the text instead.', 'bad');
  }
}
export const CopyButton = ({ text, label = 'Copy' }) => html`
  <button type="button" class="icon-button" aria-label=${label} title=${label} onClick=${() => copyText(text)}><${Icon} name="copy" /></button>`;
/** A line of text to copy. */
export const Code = ({ text }) => html`<span class="code-line"><code tabindex="0">${text}</code><${CopyButton} text=${text} label="Copy command" /></span>`;

/** Label and value pairs. items: [[label, node], …] */
export const Facts = ({ items }) => html`<dl class="facts">
  ${items.filter(Boolean).map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
</dl>`;

/** Tabs as links: the selected one is in the address. items: [[href, label], …] */
export function Tabs({ items, current, label = 'Views' }) {
  const bar = useRef(null);
  // On a narrow page the selected tab may lie beyond the edge.
  useEffect(() => {
    const tab = bar.current.querySelector('[aria-current]');
    if (tab) bar.current.scrollLeft = tab.offsetLeft - (bar.current.clientWidth - tab.offsetWidth) / 2;
  }, [current]);
  return html`<nav class="tabs" aria-label=${label} ref=${bar}>
  ${items.map(([href, text]) => html`<${Link} href=${keeping(href)} aria-current=${href === current ? 'page' : undefined}>${text}<//>`)}
</nav>`;
}

/** One of a few choices. options: [[value, label], …] */
export const Segmented = ({ value, options, onChange, label }) => html`<div class="segmented" role="group" aria-label=${label}>
  ${options.map(([key, text]) => html`<button type="button" aria-pressed=${String(key === value)} onClick=${() => onChange(key)}>${text}</button>`)}
</div>`;

/** A labelled form control. `control` is an input, select or textarea node with the given id. */
export const Field = ({ id, label, hint, error, children }) => html`<div class="field">
  <label for=${id}>${label}</label>${children}
  ${hint && html`<p class="sub" id=${`${id}-hint`}>${hint}</p>`}
  ${error && html`<p class="field-error" role="alert">${error}</p>`}
</div>`;
