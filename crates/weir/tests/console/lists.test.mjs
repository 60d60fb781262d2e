// Lists that are longer than a page, the colours of many series, exact figures, names, and the commands that pages show.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { URL_BASE, api, close, eventually, open, visit } from './browser.mjs';
import { seedOrg } from './seed.mjs';

before(async () => {
  const org = await seedOrg('lists-org', { name: 'ordinary\u202Etxt.exe' });
  await org.spend('premium', 1_000);
});
after(close);

const budget = (id, status) => ({
  org_id: id, org_name: `Org ${id}`, timezone: 'UTC', day: '2026-11-19', status, used_pct: status === 'EXCEEDED' ? 120 : 1, spent_usd_micros: 1, quota_usd_micros: 100, current_model: 'premium',
  projected_exhaustion_at: null, last_14_days: Array(14).fill(0), models: [],
});

test('the fullest orgs come first, and a filter finds them, on whatever page they are', async () => {
  const page = await open();
  let last = 3;
  await page.route('**/api/v1/budgets?*', (route) => {
    const at = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
    const items = Array.from({ length: 100 }, (_, i) => budget(`o-${at}-${i}`, 'NORMAL'));
    return route.fulfill({ json: at === 3 ? { items: [budget('late', 'EXCEEDED')], next_cursor: null } : { items, next_cursor: at < last ? String(at + 1) : null } });
  });
  await visit(page, '/budgets');
  await page.getByText('301 orgs', { exact: true }).waitFor();
  await eventually(() => page.locator('tbody tr').first().textContent().then((text) => text.startsWith('Org late')), true);
  await visit(page, '/budgets?state=exceeded');
  await page.getByText('1 of 301 orgs').waitFor();
  await page.unroute('**/api/v1/budgets?*');
  last = Infinity;
  await page.route('**/api/v1/budgets?*', (route) => {
    const at = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
    return route.fulfill({ json: { items: Array.from({ length: 100 }, (_, i) => budget(`o-${at}-${i}`, 'NORMAL')), next_cursor: String(at + 1) } });
  });
  await visit(page, '/budgets');
  await page.getByText('1,000 orgs loaded; search and order are of these').waitFor();
  await visit(page, '/budgets?state=exceeded');
  await page.getByText('None of the 1,000 loaded orgs is of this kind.').waitFor();
  await page.getByRole('button', { name: 'Load more' }).waitFor();
});

test('a list that is read again keeps its rows, its loaded pages and the focus', async () => {
  const page = await open();
  const token = (n) => ({ id: `t-${n}`, name: `token-${n}`, scope: 'metrics', created_at: '2026-11-01T00:00:00Z', expires_at: '2099-01-01T00:00:00Z', revoked_at: null, session: false });
  let reads = 0;
  let isGone = false;
  await page.route('**/v1/tokens?*', (route) => {
    reads += 1;
    const isSecond = route.request().url().includes('cursor=');
    return route.fulfill({ json: isSecond ? { items: [token(3), ...(isGone ? [] : [token(4)])], next_cursor: null } : { items: [token(1), token(2)], next_cursor: 'next' } });
  });
  await page.route('**/v1/tokens/t-4', (route) => { isGone = true; return route.fulfill({ status: 204 }); });
  await visit(page, '/settings/tokens');
  await page.getByRole('button', { name: 'Load more' }).click();
  const rows = page.locator('tbody tr');
  await eventually(() => rows.count(), 4);
  await page.evaluate(() => {
    window.skeletons = 0;
    new MutationObserver(() => { window.skeletons += document.querySelectorAll('main .skeleton').length; }).observe(document.body, { subtree: true, childList: true });
  });
  await page.getByRole('row', { name: /token-4/ }).getByRole('button', { name: 'Revoke…' }).click();
  await page.getByLabel(/Type token-4/).fill('token-4');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await eventually(() => rows.count(), 3, 'both pages are read again');
  assert.equal(reads, 4);
  await page.getByRole('row', { name: /token-3/ }).waitFor();
  assert.equal(await page.evaluate(() => window.skeletons), 0, 'rows stay while they are read again');
});

test('a list that follows jobs keeps the focus', async () => {
  await api('POST', '/v1/practice/jobs/script-generation', { platform: 'baekjoon', problem_id: '1000', title: 'Lists focus', solution_code: 'print(1)' });
  const page = await open();
  await visit(page, '/practice/jobs?state=PENDING');
  const job = page.getByRole('link', { name: 'Lists focus' }).first();
  await job.focus();
  await page.waitForResponse((response) => response.url().includes('/v1/practice/jobs/'), { timeout: 8000 });
  await page.waitForResponse((response) => response.url().includes('/v1/practice/jobs/'), { timeout: 8000 });
  await eventually(() => page.evaluate(() => document.activeElement.textContent), 'Lists focus');
});

test('models that come together differ in colour, and money keeps every micro-dollar', async () => {
  const page = await open();
  await visit(page, '/settings');
  const [colours, texts] = await page.evaluate(async () => {
    const modules = await import(document.querySelector('script[type=module]').src);
    const { app_series: { seriesOf }, app_format: { count, exactMoney, smallMoney } } = modules;
    localStorage.removeItem('weir.series');
    const names = (prefix) => Array.from({ length: 7 }, (_, i) => seriesOf(`${prefix}-${i}`));
    const colours = [names('first'), names('second')].map((all) => new Set(all).size);
    return [colours, [exactMoney(999999999999999), exactMoney(1), smallMoney(200120), smallMoney(1234567890), smallMoney(12), count(1, 'entities'), count(2, 'notices to ops')]];
  });
  assert.deepEqual(colours, [7, 7]);
  assert.deepEqual(texts, ['$999,999,999.999999', '$0.000001', '$0.2001', '$1,234.57', '$0.000012', '1 entity', '2 notices to ops']);
});

test('marks that reorder text are written out in names', async () => {
  const page = await open();
  for (const route of ['/budgets?orgs.q=lists-org', '/budgets/lists-org', '/']) {
    await visit(page, route);
    await page.locator('main').getByText('ordinary[U+202E]txt.exe').first().waitFor();
    assert.equal(await page.locator('main').getByText('\u202E').count(), 0, route);
  }
});

test('marks that reorder text are written out in audits, the security log and tokens', async () => {
  const page = await open();
  const [mark, at] = ['a\u202Eb', '2026-11-18T10:00:00Z'];
  const list = (item) => (route) => route.fulfill({ json: { items: [item], next_cursor: null } });
  await page.route('**/v1/security-log?*', list({ action: 'session_opened', actor: mark, target: mark, detail: mark, client_address: mark, at, request_id: 'f00' }));
  await page.route('**/api/v1/orgs/lists-org/audit?*', list({ action: 'org_put', subject: mark, detail: mark, actor: mark, at }));
  await page.route('**/v1/tokens?*', list({ id: 't', name: mark, scope: 'metrics', created_at: at, expires_at: '2099-01-01T00:00:00Z', revoked_at: null }));
  for (const [route, count] of [['/settings/security-log', 4], ['/budgets/lists-org/audit', 3], ['/settings/tokens', 1]]) {
    await visit(page, route);
    await eventually(() => page.locator('tbody').getByText('a[U+202E]b', { exact: true }).count(), count, route);
    assert.equal(await page.locator('tbody').getByText('\u202E').count(), 0, route);
  }
});

test('a figure that could not be loaded is not known, and its request id is there', async () => {
  const page = await open();
  await page.route('**/v1/practice/plans/*', (route) => route.fulfill({ status: 503, json: { detail: 'the store does not answer', request_id: 'f00d' } }));
  await visit(page, '/practice/plans');
  assert.match(await page.getByText('not known').first().getAttribute('title'), /the store does not answer Request id f00d/);
  await page.unroute('**/v1/practice/plans/*');
  await page.route('**/v1/overview', (route) => route.fulfill({ status: 503, json: { detail: 'the store does not answer', request_id: 'f00e' } }));
  await page.goto(`${URL_BASE}/settings`);
  await page.getByRole('alert').getByText('f00e').waitFor();
});

test('every command that a page shows is one that weir understands', async () => {
  const page = await open();
  const routes = ['/', '/budgets/lists-org', '/budgets/lists-org/webhooks', '/budgets/lists-org/apps/chat', '/budgets/lists-org/audit', '/limits', '/limits/entities', '/limits/entities/nobody', '/limits/resources/nothing',
    '/reviews', '/reviews/list', '/reviews/findings', '/practice', '/practice/jobs', '/practice/jobs?type=problem-extraction', '/practice/problems', '/practice/feed', '/practice/users', '/practice/changes', '/settings', '/settings/tokens'];
  const commands = new Set();
  const collect = async () => {
    for (const text of await page.locator('code').allTextContents()) if (text.startsWith('weir ')) commands.add(text);
  };
  for (const route of routes) { await visit(page, route); await collect(); }
  await visit(page, '/practice/plans');
  await page.getByRole('button', { name: 'Edit…' }).first().click();
  await collect();
  assert.ok([...commands].some((one) => one.startsWith('weir practice plans put') && one.includes('--max-problems')), 'the command of a plan sets all that the form sets');
  const empty = mkdtempSync(path.join(tmpdir(), 'console-'));
  const usage = /unexpected argument|unrecognized subcommand|required arguments|invalid value|unknown/;
  for (const command of commands) {
    // Nothing listens there: a command that is understood fails to connect.
    const ran = spawnSync('sh', ['-c', command.replace(/^weir /, `${process.env.WEIR_BIN} `)], { cwd: empty, env: { PATH: process.env.PATH, WEIR_URL: 'http://127.0.0.1:9' }, encoding: 'utf8', timeout: 20_000 });
    assert.doesNotMatch(ran.stderr, usage, command);
  }
  rmSync(empty, { recursive: true });
});
