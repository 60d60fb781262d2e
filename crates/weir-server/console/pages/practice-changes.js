// Changes by administrators, newest first.
import { html } from '../app/view.js';
import { useList } from '../app/data.js';
import { useQuery, Link } from '../app/router.js';
import { Card, Time } from '../app/ui.js';
import { DataTable } from '../app/table.js';
import { Commands, weir } from '../app/command.js';
import { userHref } from './practice-data.js';
import { LongText, useSettled } from './shared.js';

/** A subject such as `user 01M7…` or `problem baekjoon/1000`; users have a page. */
function Subject({ text }) {
  const [kind, id] = [text.split(' ', 1)[0], text.slice(text.indexOf(' ') + 1)];
  return kind === 'user' ? html`user <${Link} href=${userHref(id)}>${id}<//>` : html`<bdi>${text}</bdi>`;
}

const columns = [
  { key: 'at', label: 'When', render: (row) => html`<${Time} at=${row.at} />` },
  { key: 'action', label: 'Action', render: (row) => row.action.replaceAll('_', ' ') },
  { key: 'subject', label: 'Subject', render: (row) => html`<${Subject} text=${row.subject} />` },
  { key: 'detail', label: 'Detail', render: (row) => (row.detail ? html`<${LongText} text=${row.detail} shown=${200} />` : html`<span class="muted">–</span>`) },
  { key: 'actor', label: 'By', render: (row) => html`<bdi>${row.actor}</bdi>` },
];

export function Changes() {
  const [subject, setSubject] = useQuery('subject');
  const settled = useSettled(subject.trim());
  const list = useList('/v1/practice/audit', { subject: settled }, { size: 25 });
  const filters = html`<label class="choice"><span>Subject</span><input value=${subject} placeholder="any, or user ID" autocomplete="off" spellcheck=${false} onInput=${(event) => setSubject(event.target.value)} /></label>`;
  return html`<${Card}><${DataTable} id="changes" label="changes" columns=${columns} list=${list} filters=${filters}
      empty=${{ title: settled ? 'No change of this subject' : 'No change in the last 90 days', text: 'Changes of users, plans, problems and jobs by administrators are listed here.' }} />
    <${Commands} command=${weir('practice', 'audit', ...(settled ? ['--subject', settled] : []))} request=${{ path: '/v1/practice/audit' }} /><//>`;
}
