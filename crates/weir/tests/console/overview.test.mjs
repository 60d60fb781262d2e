// The overview in every mode.
import { after, test } from 'node:test';
import { checkEverywhere, close, eventually, open, visit } from './browser.mjs';
import { fresh, seedOrg } from './seed.mjs';

const ORG = fresh('overview-full');
after(close);

test('the overview loads', async (t) => {
  const org = await seedOrg(ORG, { name: ORG, quotas: { premium: 1_000_000, standard: 200_000 } });
  await org.spend('premium', 1_150_000);
  await checkEverywhere(t, '/', 'overview');
});

test('today is drawn hour by hour against its quota, with the fallback', async () => {
  const page = await open();
  await visit(page, '/');
  const card = page.getByRole('region', { name: 'Today by the hour' });
  await card.getByText('last fallback').waitFor();
  await card.getByText('quota', { exact: true }).waitFor();
  await card.getByRole('button', { name: /show as table/ }).click();
  await card.getByRole('cell', { name: '$1.15', exact: true }).first().waitFor();
});

test('a failed refresh is shown above what is older', async () => {
  const page = await open();
  await page.clock.install();
  await visit(page, '/');
  await page.route('**/v1/overview', (route) => route.fulfill({ status: 503, json: { detail: 'the store does not answer', request_id: 'f00d' } }));
  await page.clock.runFor(16_000);
  await page.getByRole('alert').getByText('f00d').waitFor();
  await page.getByRole('region', { name: 'Needs attention' }).getByRole('link', { name: new RegExp(ORG) }).waitFor();
});

test('all that needs attention can be shown', async () => {
  const page = await open();
  await page.route('**/v1/overview', async (route) => {
    const json = await (await route.fetch()).json();
    return route.fulfill({ json: { ...json, jobs: { total: 9, failed: [], late: Array.from({ length: 9 }, (_, i) => `late-${i}`) } } });
  });
  await visit(page, '/');
  const rows = page.getByRole('region', { name: 'Needs attention' }).locator('li');
  await eventually(() => rows.count(), 6);
  await page.getByRole('button', { name: 'Show all' }).click();
  await eventually(() => rows.count().then((count) => count >= 10), true);
});

test('a budget above 80 % needs attention, and the line leads to it', async () => {
  const page = await open();
  await visit(page, '/');
  await page.getByRole('region', { name: 'Needs attention' }).getByRole('link', { name: new RegExp(ORG) }).click();
  await page.waitForURL(`**/budgets/${ORG}`);
});
