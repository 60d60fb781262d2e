// Budgets: the list of orgs, an org, an app of an org.
import { html } from '../app/view.js';
import { OrgList } from './budgets-list.js';
import { OrgPage } from './budgets-org.js';

/** /budgets · /budgets/ORG/TAB · /budgets/ORG/apps/APP/TAB */
export default function Budgets({ segments: [org, tab, app, appTab] }) {
  if (!org) return html`<${OrgList} />`;
  const isApp = tab === 'apps' && app;
  return html`<${OrgPage} key=${`${org}/${isApp ? app : ''}`} org=${org} app=${isApp ? app : null} tab=${isApp ? appTab : tab} />`;
}
