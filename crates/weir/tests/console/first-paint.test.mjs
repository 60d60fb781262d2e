// What pages ask for before their modules are there.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KEY, api, close, eventually, open, settled, URL_BASE } from './browser.mjs';
import { fresh, seedOrg } from './seed.mjs';

const ids = { org: fresh('early'), entity: fresh('early'), review: fresh('early') };

before(async () => {
  await seedOrg(ids.org);
  await api('PUT', `/v1/namespaces/default/entities/${ids.entity}`, { name: 'Early' });
  await api('PUT', `/v1/reviews/${ids.review}`, {
    owner: 'acme', repo: 'shop', pr_number: 7, pr_title: 'Early', pr_url: 'https://example.com/acme/shop/pull/7', files: ['src/a.py'], requested_by: 'octocat',
    responses: [{ model_id: 'model-a', status: 'success', latency_ms: 1000, input_tokens: 10, output_tokens: 10, cost_usd: '0.01', findings: [] }],
  });
  ids.user = (await api('POST', '/v1/practice/users', { email: `${fresh('early')}@example.com`, name: 'Early', plan_id: 1 })).id;
});
after(close);

/** A page that counts what it asks for before the modules, and that keeps the responses until they are taken. */
async function openCounted() {
  const page = await open();
  await page.addInitScript(() => {
    window.before = 0;
    const isBefore = () => document.currentScript?.src.endsWith('/first-paint.js');
    const [send, later] = [window.fetch, window.setTimeout];
    window.fetch = (...args) => { if (isBefore()) window.before += 1; return send(...args); };
    window.setTimeout = (...args) => (isBefore() ? 0 : later(...args));
  });
  return page;
}

test('a page takes everything that was asked for before its modules', async () => {
  const page = await openCounted();
  for (const [path, count] of [
    ['/', 1], ['/budgets', 1], [`/budgets/${ids.org}`, 2], [`/budgets/${ids.org}/webhooks`, 2], ['/limits', 1], ['/limits/entities', 1], [`/limits/entities/${ids.entity}`, 2],
    ['/limits/audit', 1], ['/limits/namespaces', 1], [`/reviews/review/${ids.review}`, 1], ['/practice/jobs', 1], ['/practice/problems', 1], ['/practice/feed', 1],
    ['/practice/users', 2], [`/practice/users/${ids.user}`, 2], ['/practice/plans', 1], ['/practice/changes', 1], ['/settings', 3], ['/settings/tokens', 1],
    ['/settings/jobs', 1], ['/settings/configuration', 1], ['/budgets?state=tight', 0], ['/reviews', 0],
  ]) {
    await page.goto(URL_BASE + path);
    await settled(page);
    assert.equal(await page.evaluate(() => window.before), 1 + count, `${path}: the session, and what the page shows`);
    await eventually(() => page.evaluate(() => [...window.earlyResponses.keys()]), [], `${path} takes all of it`);
  }
});

test('who signs in after a session has ended asks anew', async () => {
  const page = await openCounted();
  await page.context().clearCookies();
  await page.goto(`${URL_BASE}/budgets`);
  await page.getByLabel('Admin key or token').fill(KEY);
  assert.equal(await page.evaluate(() => window.before), 2);
  assert.equal(await page.evaluate(() => window.earlyResponses.size), 0);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await settled(page);
  await page.getByText(ids.org).first().waitFor();
  await page.context().close();
});

test('a token, whose scopes may not reach all of it, asks for the session only', async () => {
  const page = await openCounted();
  await page.addInitScript(() => localStorage.removeItem('weir.admin'));
  await page.goto(`${URL_BASE}/budgets`);
  await settled(page);
  assert.equal(await page.evaluate(() => window.before), 1);
  await page.context().close();
});
