// What goes wrong around a page: sessions that end, servers that are gone, other people, other tabs, strange addresses.
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { KEY, URL_BASE, api, check, close, eventually, open, openPage, settled, shot, signIn, visit } from './browser.mjs';
import { fresh, seedOrg } from './seed.mjs';

after(close);

/** Ends the newest session of a name, as another administrator would. */
async function endSession(name) {
  const { items } = await api('GET', '/v1/tokens?limit=100');
  const [newest] = items.filter((one) => one.session && one.name === name).sort((a, b) => b.created_at.localeCompare(a.created_at));
  await api('DELETE', `/v1/tokens/${newest.id}`);
}
const own = (faults) => faults.filter((one) => !/Failed to load resource|net::/.test(one));

test('an address without sense shows a page all the same', async () => {
  await seedOrg('trouble-address');
  const page = await open();
  const routes = ['/budgets/trouble-address?day=garbage&from=1&to=99999999999999999', '/budgets/trouble-address/nothing', '/limits/toString', '/practice/constructor', '/practice?range=toString',
    '/limits/entities/nobody?window=nothing&from=5&to=4', '/settings/nothing', '/reviews/list?by=nothing&value=1', '/budgets?state=nothing&orgs.sort=nothing'];
  for (const route of routes) {
    await visit(page, route);
    assert.deepEqual(own(page.faults), [], route);
    assert.doesNotMatch(await page.locator('main').textContent(), /\[object|undefined|NaN|failed/, route);
  }
});

test('a page that fails keeps the frame and the way to other pages', async () => {
  const page = await open();
  await page.route('**/v1/overview', (route) => route.fulfill({ json: { keeper: { top: 5 } } }));
  await visit(page, '/');
  await page.getByText('This page failed').waitFor();
  await page.getByRole('link', { name: 'Budgets', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Budgets' }).waitFor();
});

test('an ended session asks for the credential and keeps what was typed', async () => {
  const org = fresh('trouble-session');
  await seedOrg(org);
  const page = await openPage();
  await signIn(page, KEY, org);
  await visit(page, `/budgets/${org}/what-if`);
  const quota = page.getByLabel('Quota of premium in dollars a day');
  await quota.fill('7.25');
  await endSession(org);
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.waitFor();
  page.faults.length = 0;
  await check(page, 'ended session');
  await shot(page, 'session-ended');
  await dialog.getByLabel('Admin key or token').fill(KEY);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.waitFor({ state: 'detached' });
  await eventually(() => quota.inputValue(), '7.25');
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText('what would have happened').waitFor();
});

test('tabs of one browser sign out together, and in', async () => {
  const page = await openPage();
  await signIn(page, KEY, 'trouble-tabs');
  const other = await page.context().newPage();
  await other.goto(URL_BASE);
  await other.getByRole('button', { name: 'trouble-tabs' }).click();
  await other.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByLabel('Admin key or token').waitFor();
  await signIn(other, KEY, 'trouble-again');
  await page.getByRole('button', { name: 'trouble-again' }).waitFor();
});

test('a server that is gone is said, and the page goes on by itself when it is back', async () => {
  const page = await open();
  await page.route('**/v1/live', (route) => route.abort());
  await page.route('**/api/v1/budgets?*', (route) => route.abort());
  await page.goto(`${URL_BASE}/budgets`);
  await page.locator('.shell').waitFor();
  await page.route('**/v1/session', (route) => route.abort());
  await page.getByRole('alert').getByText('The server does not answer', { exact: true }).waitFor();
  await page.getByText('It may be restarting').waitFor();
  await shot(page, 'server-gone');
  await page.unroute('**/v1/live');
  await page.unroute('**/api/v1/budgets?*');
  await page.unroute('**/v1/session');
  await page.getByText('It may be restarting').waitFor({ state: 'detached' });
  await page.getByText('live', { exact: true }).waitFor();
  await settled(page);
});

test('a restarting server signs nobody out', async () => {
  const page = await open();
  await page.route('**/v1/session', (route) => route.fulfill({ status: 503, json: { detail: 'the store does not answer', request_id: 'f00' } }));
  await page.goto(URL_BASE);
  await page.getByText(/the store does not answer.*f00/s).waitFor();
  await page.unroute('**/v1/session');
  await page.locator('.shell').waitFor();
});

test('a budget that somebody else changed meanwhile is not overwritten unseen', async () => {
  const org = fresh('trouble-budget');
  await seedOrg(org);
  const page = await open();
  await visit(page, `/budgets/${org}/what-if`);
  await page.getByLabel('Quota of premium in dollars a day').fill('2');
  const { org_name, timezone, quota_scope, model_ordering } = await api('GET', `/api/v1/orgs/${org}`);
  await api('PUT', `/api/v1/orgs/${org}`, { org_name, timezone, quota_scope, model_ordering, quotas: { premium: 1_000_000, standard: 9_000_000, economy: 500_000, ultra_premium: 1 } });
  const save = async () => {
    await page.getByRole('button', { name: 'Save…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).dblclick();
  };
  await save();
  await page.getByText('Somebody else has changed this budget').waitFor();
  assert.equal((await api('GET', `/api/v1/orgs/${org}`)).quotas.premium, 1_000_000);
  await page.keyboard.press('Escape');
  await page.getByText('now $9.00').waitFor();
  await save();
  await page.getByText('The budget is saved').waitFor();
  assert.deepEqual((await api('GET', `/api/v1/orgs/${org}`)).quotas, { premium: 2_000_000, standard: 9_000_000, economy: 500_000, ultra_premium: 1 }, 'what the page does not show stays');
  await page.getByLabel('Quota of premium in dollars a day').fill('2.000000');
  await eventually(() => page.getByRole('button', { name: 'Save…' }).isDisabled(), true, 'the same amount is no change');
  for (const [text, isGood] of [['1000000000', true], ['1000000000.000001', false], ['-1', false], ['0.0000001', false], ['1e3', false], ['', false], ['999999999.999999', true]]) {
    await page.getByLabel('Quota of premium in dollars a day').fill(text);
    await eventually(() => page.getByRole('button', { name: 'Replay', exact: true }).isDisabled(), !isGood, text);
  }
  await save();
  await page.getByText('The budget is saved').last().waitFor();
  await page.getByText('now $999,999,999.999999').waitFor();
  assert.equal((await api('GET', `/api/v1/orgs/${org}`)).quotas.premium, 999_999_999_999_999, 'no micro-dollar is lost');
});

test('limits that somebody else changed meanwhile get a new plan', async () => {
  const level = '/v1/namespaces/default/limits/resources/trouble-model';
  const rpm = (amount) => ({ limits: [{ name: 'rpm', capacity: amount, refill_amount: amount, refill_period_seconds: 60 }] });
  await api('PUT', level, rpm(10));
  const page = await open();
  await visit(page, '/limits/edit?level=resource&resource=trouble-model');
  await page.getByLabel('Rate').fill('20/min');
  await page.getByRole('button', { name: 'Show the plan' }).click();
  await page.getByText('10/min → 20/min').waitFor();
  await api('PUT', level, rpm(15));
  await page.getByRole('button', { name: 'Save the limits' }).click();
  await page.getByText('Somebody else has changed these limits').waitFor();
  assert.equal((await api('GET', level)).limits[0].capacity, 15);
  await page.getByText('15/min → 20/min').waitFor();
  await page.getByRole('button', { name: 'Save the limits' }).click();
  await page.getByText('the limits are set').waitFor();
  assert.equal((await api('GET', level)).limits[0].capacity, 20);
});

test('a plan and a webhook that somebody else changed meanwhile are not overwritten', async () => {
  const org = fresh('trouble-hook');
  await seedOrg(org);
  const hook = `/api/v1/orgs/${org}/webhooks/ops`;
  await api('PUT', hook, { url: 'https://ops.example.com/one', thresholds_pct: [50], flips: true, all_exceeded: true });
  const { id } = await api('POST', '/v1/practice/plans', { name: org, max_hints_per_day: 3, max_executions_per_day: 10 });
  const page = await open();
  await visit(page, `/budgets/${org}/webhooks`);
  await page.getByRole('button', { name: 'Change…' }).click();
  await page.getByLabel('80 %', { exact: true }).check();
  await api('PUT', hook, { url: 'https://ops.example.com/two', thresholds_pct: [50], flips: true, all_exceeded: true });
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('Somebody else has changed this').waitFor();
  assert.deepEqual((await api('GET', hook)).thresholds_pct, [50]);
  await visit(page, `/practice/plans?plans.q=${org}`);
  await page.getByRole('button', { name: 'Edit…' }).click();
  await page.getByLabel(/Hints a day/).fill('4');
  await api('PUT', `/v1/practice/plans/${id}`, { name: org, max_hints_per_day: 9, max_executions_per_day: 10 });
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('Somebody else has changed this').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Edit…' }).click();
  await eventually(() => page.getByLabel(/Hints a day/).inputValue(), '9');
  await page.getByLabel(/Hints a day/).fill('4');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('is saved').waitFor();
  assert.equal((await api('GET', `/v1/practice/plans/${id}`)).max_hints_per_day, 4);
});

test('a dialog with a form stays until it is closed on purpose', async () => {
  const org = fresh('trouble-dialog');
  await seedOrg(org);
  const page = await open();
  await visit(page, `/budgets/${org}/webhooks`);
  await page.getByRole('button', { name: 'Add a webhook…' }).dblclick();
  const dialog = page.getByRole('dialog');
  const name = dialog.getByLabel('Id', { exact: true });
  await name.waitFor();
  await eventually(() => page.evaluate(() => document.activeElement.id), 'hook-id', 'typing can begin at once');
  await name.fill('operations');
  const box = await name.boundingBox();
  await page.mouse.move(box.x + 40, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(20, 500, { steps: 4 });
  await page.mouse.up();
  assert.equal(await name.inputValue(), 'operations');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
});
