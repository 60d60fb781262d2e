// Budgets: every tab in every mode, and the actions end to end.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { api, check, checkEverywhere, close, eventually, open, settled, visit } from './browser.mjs';
import { fresh, seedOrg } from './seed.mjs';

const ORG = fresh('budget-tests');
let org;
before(async () => {
  org = await seedOrg(ORG, { name: 'Budget Tests' });
  await org.spend('premium', 1_250_000);
  await org.spend('standard', 40_000, 'search');
});
after(close);

test('every page of a budget loads', async (t) => {
  for (const tab of ['', '/what-if', '/apps', '/credentials', '/webhooks', '/audit', '/apps/chat']) {
    await checkEverywhere(t, `/budgets/${ORG}${tab}`, `budget${tab.replaceAll('/', '-')}`);
  }
  await checkEverywhere(t, '/budgets', 'budgets');
});

test('the spend that the API counts is the spend on the page', async () => {
  const page = await open();
  await visit(page, `/budgets/${ORG}`);
  await page.getByText('$1.29', { exact: true }).first().waitFor();
  assert.equal(await page.getByText('$1.29', { exact: true }).first().getAttribute('title'), '$1.290000');
});

test('a chart has a table of the same data', async () => {
  const page = await open();
  await visit(page, `/budgets/${ORG}`);
  await page.getByRole('button', { name: 'Spend by day and model: show as table' }).click();
  const table = page.getByRole('region', { name: 'Spend by day and model as a table' });
  await table.getByRole('cell', { name: '$1.25', exact: true }).waitFor();
  await check(page, 'chart as a table');
});

test('a changed quota is replayed, then saved, with the name of the person in the audit', async () => {
  const page = await open();
  await visit(page, `/budgets/${ORG}/what-if`);
  const today = await page.getByLabel('Replay the day').getAttribute('max');
  await page.getByLabel('Replay the day').fill(today);
  await page.getByLabel('Quota of premium in dollars a day').fill('0.50');
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText('what would have happened').waitFor();
  await page.getByText('2', { exact: true }).first().waitFor();
  await check(page, 'replay');
  assert.equal((await api('GET', `/api/v1/orgs/${ORG}`)).quotas.premium, 1_000_000, 'a replay saves nothing');
  await page.getByRole('button', { name: 'Save…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('quota of premium: $1.00 becomes $0.50').waitFor();
  await check(page, 'save dialog');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The budget is saved').waitFor();
  const saved = await api('GET', `/api/v1/orgs/${ORG}`);
  assert.deepEqual(saved.quotas, { premium: 500_000, standard: 5_000_000, economy: 500_000 });
  const { items } = await api('GET', `/api/v1/orgs/${ORG}/audit`);
  assert.match(items[0].actor, /ada/);
});

test('a replay says when the form has changed since, and its day is in the address', async () => {
  const page = await open();
  await visit(page, `/budgets/${ORG}/what-if`);
  const today = await page.getByLabel('Replay the day').getAttribute('max');
  await page.getByLabel('Replay the day').fill(today);
  await page.waitForURL(`**/what-if?replay=${today}`);
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText('what would have happened').waitFor();
  assert.equal(await page.getByText('Of other values').count(), 0);
  await page.getByLabel('Quota of premium in dollars a day').fill('0.25');
  await page.getByText('Of other values').waitFor();
  await check(page, 'a replay of other values');
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText('Of other values').waitFor({ state: 'detached' });
  await page.reload();
  await settled(page);
  assert.equal(await page.getByLabel('Replay the day').inputValue(), today);
});

test('a new webhook does not overwrite one with the same id', async () => {
  const hook = `/api/v1/orgs/${ORG}/webhooks/taken`;
  await api('PUT', hook, { url: 'https://ops.example.com/first', thresholds_pct: [50], flips: true, all_exceeded: true });
  const page = await open();
  await visit(page, `/budgets/${ORG}/webhooks`);
  await page.getByRole('button', { name: 'Add a webhook…' }).click();
  await page.getByLabel('Id', { exact: true }).fill('taken');
  await page.getByLabel('URL that notices are posted to').fill('https://ops.example.com/second');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('The org has a webhook taken already').waitFor();
  assert.equal((await api('GET', hook)).url, 'https://ops.example.com/first');
  await api('DELETE', hook);
});

test('what the request did not say is not said', async () => {
  const page = await open();
  await page.route('**/api/v1/budgets?org=*', (route) => route.fulfill({ status: 503, json: { detail: 'the store does not answer', request_id: 'f00' } }));
  await visit(page, `/budgets/${ORG}`);
  await page.getByText('not known: the request failed').waitFor();
  assert.equal(await page.getByText('Not today').count(), 0);
});

test('the order of the chain changes by keyboard', async () => {
  const page = await open();
  await visit(page, `/budgets/${ORG}/what-if`);
  await page.getByRole('button', { name: 'Move economy up' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('2. economy').waitFor();
  await page.getByRole('button', { name: 'Undo changes' }).click();
  await page.getByText('3. economy').waitFor();
});

test('a fallback is set by hand and reset', async () => {
  const page = await open();
  await visit(page, `/budgets/${ORG}`);
  await page.getByLabel('Use for the rest of the day').selectOption('economy');
  await page.getByRole('button', { name: 'Move…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Move to economy' }).click();
  await page.getByText('uses economy until midnight').waitFor();
  assert.equal((await api('GET', `/api/v1/orgs/${ORG}/aggregates/today`)).sticky.active_model_label, 'economy');
  await page.getByText('by hand').waitFor();
  await page.getByRole('button', { name: 'Reset…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).click();
  await page.getByText('starts at its first model again').waitFor();
  assert.notEqual((await api('GET', `/api/v1/orgs/${ORG}/aggregates/today`)).sticky?.reason, 'MANUAL_OVERRIDE');
});

test('a secret is rotated, shown once, and works', async () => {
  const page = await open();
  await visit(page, `/budgets/${ORG}/apps/chat/credentials`);
  await page.getByRole('button', { name: 'Rotate the secret…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await page.getByRole('button', { name: 'Fetch the secret' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Fetch the secret' }).click();
  await page.locator('[data-secret] code').nth(1).waitFor();
  const [id, secret] = await page.locator('[data-secret] code').allTextContents();
  const response = await fetch(`${process.env.WEIR_CONSOLE_URL}/auth/token`, {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'client_credentials', client_id: id, client_secret: secret }),
  });
  assert.equal(response.status, 200);
  await check(page, 'secret');
  await page.getByRole('button', { name: 'Done' }).click();
  await page.reload();
  await settled(page);
  assert.equal(await page.getByText(secret).count(), 0);
});

test('a webhook is added, changed and removed by typing its name', async () => {
  const page = await open();
  await visit(page, `/budgets/${ORG}/webhooks`);
  await page.getByRole('button', { name: 'Add a webhook…' }).click();
  await page.getByLabel('Id', { exact: true }).fill('ops');
  await page.getByLabel('URL that notices are posted to').fill('https://ops.example.com/weir');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('it is shown once').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Change…' }).click();
  await page.getByLabel('50 %').uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('80 %, 95 %, 100 %', { exact: true }).waitFor();
  assert.deepEqual((await api('GET', `/api/v1/orgs/${ORG}/webhooks/ops`)).thresholds_pct, [80, 95, 100]);
  await page.getByRole('button', { name: 'Remove…' }).click();
  const remove = page.getByRole('dialog').getByRole('button', { name: 'Remove' });
  await eventually(() => remove.isDisabled(), true);
  await page.getByLabel(/Type ops/).fill('ops');
  await remove.click();
  await page.getByText('No webhooks yet').waitFor();
});

test('an org that does not exist is an error with its request id', async () => {
  const page = await open();
  await visit(page, '/budgets/nobody');
  const alert = page.getByRole('alert');
  await alert.waitFor();
  assert.match(await alert.textContent(), /404.*Request id [0-9a-f]{32}/s);
});
