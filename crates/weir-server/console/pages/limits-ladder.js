// The levels of limits from the nearest to the farthest, and which of them applies.
import { html } from '../app/view.js';
import { Status } from '../app/ui.js';
import { Link } from '../app/router.js';
import { sameLimits } from './limits-rates.js';
import { levelName, editHref, Limits } from './limits-data.js';

/** The first level with limits; null: none, and an acquire is an error. */
export const inForce = (levels) => levels.find((one) => one.now?.limits?.length) ?? null;

/** levels: [{ level, entity, resource, now, was?, isDraft? }], the nearest first. */
export function Ladder({ ns, levels, edit = true }) {
  const applies = inForce(levels);
  return html`<ol class="ladder">
    ${levels.map((one, i) => html`<li key=${i} class=${`${one === applies ? 'applies' : ''} ${one.isDraft ? 'is-draft' : ''}`}>
      <div class="ladder-head"><b>${levelName(one)}</b>
        ${one.isDraft && html`<span class="tag">draft</span>`}
        ${one === applies ? html`<${Status} kind="good">applies<//>` : one.now?.limits?.length ? html`<span class="muted">not reached</span>` : null}
        ${edit && html`<${Link} class="ladder-edit" href=${editHref(ns, { level: one.level, entity: one.entity, resource: one.resource })}>${one.now ? 'Edit' : 'Set'}<//>`}</div>
      <${Limits} limits=${one.now?.limits} />
      ${one.now?.on_unavailable && html`<span class="muted"> while the store is unreachable: ${one.now.on_unavailable}</span>`}
      ${one.isDraft && !sameLimits(one.was?.limits, one.now?.limits) && html`<div class="was"><span class="muted">now</span> <${Limits} limits=${one.was?.limits} /></div>`}
    </li>`)}
  </ol>
  ${!applies && html`<p><${Status} kind="bad">No level has limits<//> <span class="muted">An acquire is an error and takes no tokens.</span></p>`}`;
}
