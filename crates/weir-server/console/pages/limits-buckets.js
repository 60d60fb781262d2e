// Live buckets of an entity: a bar for each limit, which fills between two readings as the bucket does.
import { html, useState, useEffect, useMemo } from '../app/view.js';
import { post } from '../app/api.js';
import { Dialog, act } from '../app/dialog.js';
import { Field, ErrorBox, Card, Empty, Status, Button, failureText } from '../app/ui.js';
import { Commands, weir } from '../app/command.js';
import { toast } from '../app/toast.js';
import { number, duration } from '../app/format.js';
import { useApi } from '../app/data.js';
import { Link } from '../app/router.js';
import { api, resourceHref, editHref, useLadder, SOURCES, ALL, Ladder } from './limits-data.js';
import { filled, readable } from './limits-rates.js';
import { Loaded } from './shared.js';

/** The amounts that were typed: whole numbers from 1, empty fields left out. */
export function amountsOf(typed) {
  return Object.fromEntries(Object.entries(typed).map(([name, text]) => [name, Number(text)]).filter(([, amount]) => Number.isSafeInteger(amount) && amount > 0));
}

export function TopUp({ ns, bucket, onClose, onDone }) {
  const [typed, setTyped] = useState({});
  const [state, setState] = useState({ busy: false, error: null });
  const { entity, resource, limits } = bucket;
  const amounts = amountsOf(typed);
  const path = api`${ns}/entities/${entity}/buckets/${resource}/top-up`;
  const send = async (event) => {
    event.preventDefault();
    setState({ busy: true, error: null });
    try {
      await post(path, { amounts });
      toast('Tokens were added');
      onDone();
      onClose();
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  const words = Object.entries(amounts).flatMap(([name, amount]) => ['--amount', `${name}=${amount}`]);
  return html`<${Dialog} title=${`Add tokens to ${entity} on ${resource}`} onClose=${onClose}>
    <form class="stack" onSubmit=${send}>
      <p>The tokens can be taken at once. A bucket never holds more than its capacity; what does not fit is gone.</p>
      <div class="fields">${limits.map((limit) => html`<${Field} key=${limit.name} id=${`top-up-${limit.name}`} label=${limit.name} hint=${`${number(limit.available)} of ${number(limit.capacity)} available`}>
        <input id=${`top-up-${limit.name}`} type="number" min="1" step="1" inputmode="numeric" value=${typed[limit.name] ?? ''} onInput=${(event) => setTyped({ ...typed, [limit.name]: event.target.value })} /><//>`)}</div>
      ${words.length > 0 && html`<${Commands} command=${weir('limiter', 'bucket', 'top-up', entity, resource, ...words, '--namespace', ns)} request=${{ method: 'POST', path, body: { amounts } }} />`}
      ${state.error && html`<${ErrorBox} error=${state.error} />`}
      <footer class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${state.busy || words.length === 0}>Add tokens</button></footer>
    </form>
  <//>`;
}

/** The time, a few times a second while the page is seen: bars move with it. */
export function useClock(every = 250) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) setNow(Date.now()); }, every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** How full a limit is, as a kind of status and a word. */
export function fullness(available, capacity) {
  if (available < 0) return ['bad', 'in debt'];
  if (available === 0) return ['bad', 'empty'];
  return available / capacity < 0.2 ? ['warn', 'low'] : ['good', ''];
}

export function BucketBar({ limit, readAt, now }) {
  const elapsed = Math.max(0, now - readAt);
  const available = filled(limit, elapsed);
  const [kind, word] = fullness(available, limit.capacity);
  const fullIn = limit.full_in_ms - elapsed;
  const part = Math.max(0, Math.min(1, available / limit.capacity));
  return html`<div class="bucket">
    <div class="bucket-line"><b>${limit.name}</b> <span class="muted">${readable(limit)}</span>
      ${word && html`<${Status} kind=${kind}>${word}<//>`}
      <span class="left num">${number(available)} <span class="muted">of ${number(limit.capacity)}</span></span></div>
    <div class=${`bucket-bar ${kind}`} role="meter" aria-label=${`${limit.name} available`} aria-valuemin="0" aria-valuemax=${limit.capacity}
      aria-valuenow=${Math.max(0, available)} aria-valuetext=${`${number(available)} of ${number(limit.capacity)}`}><span style=${{ width: `${part * 100}%` }}></span></div>
    <div class="bucket-line sub"><span title="Tokens taken since the bucket was made, less those returned">${number(limit.consumed)} used</span><span class="grow"></span>
      <span>${fullIn > 0 ? `full in ${duration(Math.ceil(fullIn / 1000) * 1000)}` : 'full'}</span></div>
  </div>`;
}

const reset = (ns, entity, resource) => act({
  title: `Fill the bucket of ${entity} on ${resource}?`, button: 'Fill it', done: 'The bucket is full',
  text: 'Every limit of the bucket gets its whole capacity at once. Tokens that were taken stay counted as usage. This cannot be undone.',
  request: { method: 'POST', path: api`${ns}/entities/${entity}/buckets/${resource}/reset` }, command: weir('limiter', 'bucket', 'reset', entity, resource, '--namespace', ns),
});

function Source({ ns, entity, resource }) {
  const { data, error } = useApi(`${api`${ns}/limits/resolve`}?${new URLSearchParams({ entity, resource })}`);
  if (error && !data) return error.code === 'NO_LIMITS' ? html`<${Status} kind="bad">no limits apply now<//>` : html`<span class="muted" title=${failureText(error)}>where its limits come from is not known</span>`;
  if (!data) return html`<span class="muted">…</span>`;
  const level = { entity: { level: 'entity', entity, resource }, entity_default: { level: 'entity', entity, resource: ALL }, resource: { level: 'resource', resource }, system: { level: 'system' } }[data.limits_from];
  const words = `limits from ${SOURCES[data.limits_from]}`;
  return level ? html`<${Link} href=${editHref(ns, level)}>${words}<//>` : words;
}

function Levels({ ns, entity, resource }) {
  const source = useLadder(ns, entity, resource);
  return html`<${Loaded} source=${source}>${(levels) => html`<${Ladder} ns=${ns} levels=${levels} />`}<//>`;
}

function Bucket({ ns, bucket, readAt, now, reload }) {
  const { entity, resource } = bucket;
  const [open, setOpen] = useState(null);
  const fill = async () => { if (await reset(ns, entity, resource) !== undefined) reload(); };
  return html`<section class="bucket-card" aria-label=${`Bucket of ${resource}`}>
    <header class="bucket-line"><h3><${Link} href=${resourceHref(ns, resource)}>${resource}<//></h3>
      <span class="sub"><${Source} ns=${ns} entity=${entity} resource=${resource} /></span>
      ${bucket.shards > 1 && html`<span class="tag" title="The bucket is spread over several items because of its load">${bucket.shards} shards</span>`}
    </header>
    ${bucket.limits.map((limit) => html`<${BucketBar} key=${limit.name} limit=${limit} readAt=${readAt} now=${now} />`)}
    <footer class="actions">
      <${Button} needs=${`ns:${ns}`} class="small" onClick=${fill}>Reset…<//>
      <${Button} needs=${`ns:${ns}`} class="small" onClick=${() => setOpen('top-up')}>Top up…<//>
      <button type="button" class="small" aria-expanded=${String(open === 'levels')} onClick=${() => setOpen(open === 'levels' ? null : 'levels')}>${open === 'levels' ? 'Hide levels' : 'Levels'}</button>
    </footer>
    ${open === 'levels' && html`<${Levels} ns=${ns} entity=${entity} resource=${resource} />`}
    ${open === 'top-up' && html`<${TopUp} ns=${ns} bucket=${bucket} onClose=${() => setOpen(null)} onDone=${reload} />`}
  </section>`;
}

/** Buckets are read every two seconds; between two readings they refill here as they do there. */
export function Buckets({ ns, entity }) {
  const source = useApi(api`${ns}/entities/${entity}/buckets`, { every: 2 });
  const readAt = useMemo(() => Date.now(), [source.data]);
  const now = useClock();
  const command = weir('limiter', 'acquire', entity, 'gpt-4', '--take', 'rpm=1', '--namespace', ns);
  return html`<${Card} title="Buckets" sub="Live: what is left to take now">
    <${Loaded} source=${source}>${({ items }) => (items.length === 0
      ? html`<${Empty} title="No bucket yet" text="A bucket exists from the first acquire of the entity on a resource until it has been full for some time." command=${command} />`
      : html`<div class="buckets">${items.map((bucket) => html`<${Bucket} key=${bucket.resource} ns=${ns} bucket=${bucket} readAt=${readAt} now=${now} reload=${source.reload} />`)}</div>`)}<//>
  <//>`;
}
