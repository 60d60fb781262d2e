// Settings: every tab in every mode; tokens are issued and revoked, jobs run.
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { URL_BASE, api, check, checkEverywhere, close, open, visit } from './browser.mjs';

after(close);

test('every page of the settings loads', async (t) => {
  for (const tab of ['', '/tokens', '/jobs', '/configuration', '/security-log']) {
    await checkEverywhere(t, `/settings${tab}`, `settings${tab.replaceAll('/', '-')}`);
  }
});

test('a token is issued, shown once, works, and is revoked by typing its name', async () => {
  const page = await open();
  await visit(page, '/settings/tokens');
  await page.getByRole('button', { name: 'Issue a token…' }).click();
  await page.getByLabel('Name', { exact: true }).fill('console-test');
  await page.getByLabel('Scopes, separated by spaces').fill('metrics');
  await check(page, 'issue a token');
  await page.getByRole('button', { name: 'Issue', exact: true }).click();
  const token = await page.locator('[data-secret] code').textContent();
  const metrics = () => fetch(`${URL_BASE}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await metrics()).status, 200);
  await page.getByRole('button', { name: 'Done' }).click();
  const row = page.getByRole('row', { name: /console-test/ });
  await row.getByRole('button', { name: 'Revoke…' }).click();
  await page.getByLabel(/Type console-test/).fill('console-test');
  await check(page, 'revoke a token');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('console-test is revoked').waitFor();
  await row.waitFor({ state: 'detached' });
  assert.equal((await metrics()).status, 401);
});

test('a job runs now', async () => {
  const runs = async () => (await api('GET', '/v1/jobs')).items.find((one) => one.name === 'keeper-purge').runs;
  const before = await runs();
  const page = await open();
  await visit(page, '/settings/jobs');
  await page.getByRole('row', { name: /keeper-purge/ }).getByRole('button', { name: 'Run now…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run' }).click();
  await page.getByText('keeper-purge ran').waitFor();
  assert.ok(await runs() > before);
});

test('the configuration hides secrets and finds a setting', async () => {
  const page = await open();
  await visit(page, '/settings/configuration?settings.q=listen');
  await page.getByText('server.listen').waitFor();
  await check(page, 'search of the settings');
});
