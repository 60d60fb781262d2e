// Limits: every page in every mode; a limit is changed from preview to effect; buckets are filled; stored text is never run.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { api, check, checkEverywhere, close, eventually, open, shot, visit } from './browser.mjs';
import { HOSTILE, shownNotRun } from './hostile.mjs';

const NS = '/v1/namespaces/default';
const tokens = (name, amount) => ({ name, capacity: amount, refill_amount: amount, refill_period_seconds: 3600 });
const take = (entity, consume) => api('POST', `${NS}/acquire`, { entity, resource: 'lim-model', consume });
const resolve = (entity) => api('GET', `${NS}/limits/resolve?entity=${entity}&resource=lim-model`);

before(async () => {
  await api('PUT', `${NS}/limits/system`, { limits: [tokens('rpm', 900)] });
  await api('PUT', `${NS}/limits/resources/lim-model`, { limits: [tokens('rpm', 600), tokens('tpm', 60000)] });
  await api('PUT', `${NS}/entities/lim-team`, { name: 'Team' });
  await api('PUT', `${NS}/limits/entities/lim-team/lim-model`, { limits: [tokens('rpm', 5000)] });
  await api('PUT', `${NS}/entities/lim-user`, { name: 'User', parent: 'lim-team', cascade: true, metadata: { role: 'engineer' } });
  await api('PUT', `${NS}/entities/lim-hostile`, { name: HOSTILE, metadata: { note: HOSTILE } });
  await take('lim-user', { rpm: 100, tpm: 20000 });
  await take('lim-hostile', { rpm: 1 });
  await api('POST', '/v1/jobs/limiter-usage/run');
});
after(close);

test('every page of limits loads', async (t) => {
  const pages = { limits: '', entities: '/entities', audit: '/audit', namespaces: '/namespaces', resource: '/resources/lim-model', entity: '/entities/lim-user', edit: '/edit?level=entity&entity=lim-user&resource=lim-model' };
  for (const [name, route] of Object.entries(pages)) await checkEverywhere(t, `/limits${route}`, `limits-${name}`);
});

test('a limit is changed: preview, plan, save, and it is in force', async () => {
  const page = await open();
  await visit(page, '/limits/resources/lim-model');
  await page.getByRole('link', { name: 'Edit limits' }).click();
  const rate = page.getByLabel('Rate').first();
  await rate.fill('nonsense');
  await page.getByText('write it as 100/min').waitFor();
  await eventually(() => page.getByRole('button', { name: 'Show the plan' }).isDisabled(), true, 'a wrong rate has no plan');
  await rate.fill('300/h,burst=450');
  const preview = page.locator('section', { has: page.getByRole('heading', { name: 'What applies then' }) });
  await preview.locator('li.is-draft.applies').getByText('300 / h, burst 450').waitFor();
  assert.equal((await resolve('lim-user')).limits[0].capacity, 600, 'a preview changes nothing');
  await page.getByRole('button', { name: 'Show the plan' }).click();
  const plan = page.getByRole('region', { name: 'Plan' });
  await plan.getByText('600/h → 300/h,burst=450').waitFor();
  await plan.getByText(/2 entities with a live bucket/).waitFor();
  await plan.getByText('The same from a terminal').click();
  await plan.getByText(/weir limiter limits set --resource lim-model --limit rpm=300\/h,burst=450/).waitFor();
  await check(page, 'plan of limits');
  await shot(page, 'limits-plan');
  await rate.fill('300/h,burst=460');
  await plan.waitFor({ state: 'detached' });
  await rate.fill('300/h,burst=450');
  await page.getByRole('button', { name: 'Show the plan' }).click();
  await page.getByRole('button', { name: 'Save the limits' }).click();
  await page.getByText('the limits are set').waitFor();
  assert.deepEqual((await api('GET', `${NS}/limits/resources/lim-model`)).limits[0], { name: 'rpm', capacity: 450, refill_amount: 300, refill_period_seconds: 3600 });
  await page.getByText('300 / h, burst 450').first().waitFor();
  const [change] = (await api('GET', `${NS}/audit?entity=${encodeURIComponent('$RESOURCE:lim-model')}`)).items;
  assert.match(change.principal, /ada/, 'the audit names the person');
  await check(page, 'after the change');
});

test('a plan that comes after the next edit is not shown', async () => {
  await api('PUT', `${NS}/limits/resources/lim-late`, { limits: [tokens('rpm', 10)] });
  const page = await open();
  await visit(page, '/limits/edit?level=resource&resource=lim-late');
  let release;
  const held = new Promise((done) => { release = done; });
  await page.route('**/limits/plan', async (route) => { await held; await route.continue(); });
  await page.getByLabel('Rate').fill('20/h');
  await page.getByRole('button', { name: 'Show the plan' }).click();
  await page.getByLabel('Rate').fill('30/h');
  const answered = page.waitForResponse('**/limits/plan');
  release();
  await answered;
  await eventually(() => page.getByRole('button', { name: 'Show the plan' }).isDisabled(), false);
  assert.equal(await page.getByRole('button', { name: 'Save the limits' }).count(), 0, 'a plan of the old draft cannot be saved');
});

test('limits of an entity are set and removed', async () => {
  const page = await open();
  await visit(page, '/limits/edit?level=entity&entity=lim-user&resource=lim-model');
  await page.getByLabel('Rate').first().fill('77/h');
  await page.getByRole('button', { name: 'Show the plan' }).click();
  await page.getByRole('button', { name: 'Save the limits' }).click();
  await page.getByText('the limits are set').waitFor();
  const own = await resolve('lim-user');
  assert.deepEqual([own.limits_from, own.limits[0].capacity], ['entity', 77]);
  await visit(page, '/limits/edit?level=entity&entity=lim-user&resource=lim-model');
  await page.getByRole('button', { name: 'Plan to remove them' }).click();
  await page.getByRole('button', { name: 'Remove the limits…' }).click();
  await page.getByLabel(/Type lim-user/).fill('lim-user');
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('the limits are removed').waitFor();
  assert.equal((await resolve('lim-user')).limits_from, 'resource');
});

test('a bucket is topped up and filled after a question', async () => {
  const available = async () => (await api('GET', `${NS}/entities/lim-user/buckets`)).items[0].limits.find((one) => one.name === 'tpm').available;
  await take('lim-user', { tpm: 30000 });
  const low = await available();
  const page = await open();
  await visit(page, '/limits/entities/lim-user');
  const bucket = page.getByRole('region', { name: 'Bucket of lim-model' });
  await bucket.getByRole('button', { name: 'Top up…' }).click();
  await page.getByLabel('tpm', { exact: true }).fill('5000');
  await check(page, 'top up');
  await page.getByRole('dialog').getByRole('button', { name: 'Add tokens' }).click();
  await page.getByText('Tokens were added').waitFor();
  assert.ok(await available() >= low + 5000);
  await bucket.getByRole('button', { name: 'Reset…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  assert.ok(await available() < 60000, 'a cancelled question changes nothing');
  await bucket.getByRole('button', { name: 'Reset…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Fill it' }).click();
  await page.getByText('The bucket is full').waitFor();
  assert.equal(await available(), 60000);
  await bucket.getByRole('meter', { name: 'tpm available' }).and(page.locator('[aria-valuenow="60000"]')).waitFor();
});

test('rates of a resource that is not among the busiest are not said to be 0', async () => {
  const page = await open();
  const rates = (granted, refused) => ({ granted_per_sec: granted, refused_per_sec: refused });
  const tick = { at: new Date().toISOString(), keeper: [], limiter: [{ namespace: 'default', resource: 'busy-model', ...rates(40, 2) }],
    limiter_namespaces: [{ namespace: 'default', resources: 9, ...rates(100, 5) }], limiter_totals: { namespaces: 1, resources: 9, ...rates(100, 5) } };
  await page.route('**/v1/live', (route) => route.fulfill({ headers: { 'content-type': 'text/event-stream' }, body: `retry: 60000\nid: 1\nevent: tick\ndata: ${JSON.stringify(tick)}\n\n` }));
  await visit(page, '/limits');
  await page.getByRole('region', { name: 'Key figures' }).getByText('100', { exact: true }).waitFor();
  await eventually(() => page.getByRole('row', { name: /^lim-model/ }).locator('td').nth(2).textContent(), '–');
  await eventually(() => page.getByRole('row', { name: /^busy-model/ }).locator('td').nth(2).textContent(), '40');
});

test('limits that could not be read are not said to be none', async () => {
  const page = await open();
  await page.route('**/limits/resolve?*', (route) => route.fulfill({ status: 503, json: { detail: 'the store does not answer', request_id: 'f00' } }));
  await visit(page, '/limits/entities/lim-user');
  await page.getByText('where its limits come from is not known').waitFor();
  assert.equal(await page.getByText('no limits apply now').count(), 0);
});

test('entities are found by the beginning of their id, from the keyboard', async () => {
  const page = await open();
  await visit(page, '/limits/entities');
  await page.keyboard.press('/');
  await page.keyboard.type('lim-t');
  const names = page.locator('a[data-open]');
  await names.getByText('lim-user').or(names.getByText('lim-hostile')).first().waitFor({ state: 'detached' });
  await names.getByText('lim-team').waitFor();
  assert.match(page.url(), /entities\.q=lim-t/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'lim-team' }).waitFor();
  await page.getByRole('row', { name: /lim-user/ }).waitFor();
});

test('stored text of entities is shown and never run', async () => {
  const page = await open();
  for (const route of ['/limits/entities?entities.q=lim-h', '/limits/entities/lim-hostile', '/limits/audit']) {
    await visit(page, route);
    await shownNotRun(page, route);
  }
});
