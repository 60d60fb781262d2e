// The server itself: health, tokens, background jobs, configuration, security log.
import { html } from '../app/view.js';
import { useStore } from '../app/store.js';
import { session } from '../app/session.js';
import { Card, Empty, NoPage, PageHead, Tabs } from '../app/ui.js';
import { ServerTab } from './settings-server.js';
import { TokensTab } from './settings-tokens.js';
import { JobsTab, ConfigurationTab, SecurityTab } from './settings-lists.js';

const TABS = [
  ['', 'Server', ServerTab], ['tokens', 'Tokens', TokensTab], ['jobs', 'Background jobs', JobsTab],
  ['configuration', 'Configuration', ConfigurationTab], ['security-log', 'Security log', SecurityTab],
];

export default function Settings({ segments: [tab = ''] }) {
  const user = useStore(session);
  const Tab = TABS.find(([key]) => key === tab)?.[2];
  const address = (key) => (key ? `/settings/${key}` : '/settings');
  if (!Tab) return html`<${NoPage} path=${address(tab)} home=${['Settings', '/settings']} />`;
  return html`<${PageHead} title="Settings" sub="Of this server; only an administrator sees and changes them" />
    <${Tabs} label="Settings" items=${TABS.map(([key, label]) => [address(key), label])} current=${address(tab)} />
    ${user.admin ? html`<${Tab} />` : html`<${Card}><${Empty} title="Only for administrators"
      text="Your token does not reach the settings. Sign in with the admin key or a token with the scope admin." command="weir token issue NAME --scope admin" /><//>`}`;
}
