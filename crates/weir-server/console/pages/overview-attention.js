// What a person should look at, worst first; each line leads to its cause.
import { html } from '../app/view.js';
import { Link, path } from '../app/router.js';
import { Card, Skeleton, Status, Time } from '../app/ui.js';
import { resourceHref } from './limits-data.js';
import { number, percent } from '../app/format.js';

const MANY = 6;
const REFUSED_SHARE = 0.05;

function findings({ store, jobs, keeper, limiter }) {
  const all = [];
  const add = (kind, text, href, more) => all.push({ kind, text, href, more });
  if (store && store.status !== 'ready') add('bad', `The store reports ${store.status.replaceAll('_', ' ')}`, '/settings');
  for (const name of jobs?.failed ?? []) add('bad', `Job ${name} failed`, '/settings/jobs');
  for (const org of keeper?.top ?? []) {
    if (org.status === 'EXCEEDED') add('bad', `${org.org_name} has spent every quota`, path`/budgets/${org.org_id}`);
  }
  if (keeper?.webhooks_failing) add('bad', `${number(keeper.webhooks_failing)} webhook${keeper.webhooks_failing > 1 ? 's' : ''} failing`, '/budgets');
  for (const org of keeper?.top ?? []) {
    if (org.status === 'EXCEEDED' || org.used_pct < 80) continue;
    add('warn', `${org.org_name} is at ${percent(org.used_pct)}`, path`/budgets/${org.org_id}`,
      org.projected_exhaustion_at && html`runs out <${Time} at=${org.projected_exhaustion_at} zone=${org.timezone} />`);
  }
  for (const name of jobs?.late ?? []) add('warn', `Job ${name} is late`, '/settings/jobs');
  for (const one of limiter?.top ?? []) {
    const refused = one.refused / Math.max(1, one.granted + one.refused);
    if (refused > REFUSED_SHARE) add('warn', `${percent(refused * 100)} of requests to ${one.resource} are refused`, resourceHref(one.namespace, one.resource));
  }
  return all;
}

const WORDS = { bad: 'now', warn: 'soon' };
export function Attention({ data }) {
  const all = data ? findings(data) : null;
  return html`<${Card} title="Needs attention" sub=${all?.length > MANY ? `${MANY} of ${all.length}` : undefined}>
    ${!all && html`<ul class="rows">${[1, 2, 3].map(() => html`<li><${Skeleton} width="80%" /></li>`)}</ul>`}
    ${all?.length === 0 && html`<p><${Status} kind="good">Nothing.<//> Budgets, jobs, webhooks and the store are in order.</p>`}
    ${all?.length > 0 && html`<ul class="rows attention">${all.slice(0, MANY).map((one) => html`<li>
      <${Status} kind=${one.kind}>${WORDS[one.kind]}<//><span><${Link} href=${one.href}>${one.text}<//>${one.more && html`<span class="sub"> ${one.more}</span>`}</span></li>`)}</ul>`}
  <//>`;
}
