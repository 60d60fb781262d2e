// The overview in every mode.
import { after, test } from 'node:test';
import { checkEverywhere, close, open, visit } from './browser.mjs';
import { fresh, seedOrg } from './seed.mjs';

const ORG = fresh('overview-full');
after(close);

test('the overview loads', async (t) => {
  const org = await seedOrg(ORG, { name: ORG, quotas: { premium: 1_000_000, standard: 200_000 } });
  await org.spend('premium', 1_150_000);
  await checkEverywhere(t, '/', 'overview');
});

test('a budget above 80 % needs attention, and the line leads to it', async () => {
  const page = await open();
  await visit(page, '/');
  await page.getByRole('region', { name: 'Needs attention' }).getByRole('link', { name: new RegExp(ORG) }).click();
  await page.waitForURL(`**/budgets/${ORG}`);
});
