// Lists that are longer than a page, the colours of many series, exact figures, and the commands that pages show.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { api, close, eventually, open, visit } from './browser.mjs';
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

test('a filter that finds nothing on the first page does not end there', async () => {
  const page = await open();
  await page.route('**/api/v1/budgets?*', (route) => route.fulfill({ json: route.request().url().includes('cursor=')
    ? { items: [budget('late', 'EXCEEDED')], next_cursor: null } : { items: Array.from({ length: 100 }, (_, i) => budget(`o-${i}`, 'NORMAL')), next_cursor: 'next' } }));
  await visit(page, '/budgets?state=exceeded');
  await page.getByText('None of the 100 loaded orgs is of this kind.').waitFor();
  await page.getByRole('button', { name: 'Load more' }).click();
  await page.getByText('Org late').waitFor();
  await page.getByText('1 of 101 orgs').waitFor();
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
    const { seriesOf } = await import('/assets/app/series.js');
    const { count, exactMoney, smallMoney } = await import('/assets/app/format.js');
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

test('a drag zooms, the address says the range, and Back undoes it', async () => {
  const page = await open();
  await visit(page, '/budgets/lists-org');
  const before = page.url();
  const box = await page.locator('.u-over').first().boundingBox();
  await page.mouse.move(box.x + 100, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + 400, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/from=\d+&to=\d+/);
  await eventually(() => page.getByLabel('Time range').inputValue(), 'custom');
  await page.goBack();
  assert.equal(page.url(), before);
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
