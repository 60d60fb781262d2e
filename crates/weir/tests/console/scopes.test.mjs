// Tokens of one namespace, org or app: each reaches its own pages, no request is refused, and nothing stays for the next person.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { KEY, URL_BASE, api, check, close, eventually, openPage, settled, signIn, visit } from './browser.mjs';
import { fresh, seedOrg } from './seed.mjs';

const [ORG, OTHER, NS] = [fresh('scopes-org'), fresh('scopes-other'), fresh('scopes-ns')];
const token = async (scope) => (await api('POST', '/v1/tokens', { name: fresh('scopes'), scope })).access_token;
before(async () => {
  const org = await seedOrg(ORG, { name: 'First Person Works' });
  await org.spend('premium', 100_000);
  await seedOrg(OTHER, { name: 'Second Person Works' });
  await api('PUT', `/v1/namespaces/${NS}`);
  await api('PUT', `/v1/namespaces/${NS}/limits/resources/scoped-model`, { limits: [{ name: 'rpm', capacity: 10, refill_amount: 10, refill_period_seconds: 60 }] });
  await api('POST', `/v1/namespaces/${NS}/acquire`, { entity: 'scoped-user', resource: 'scoped-model', consume: { rpm: 1 } });
});
after(close);

/** A page with a session of a token; `refused` collects what the server refuses. */
async function as(scope) {
  const page = await openPage();
  page.refused = [];
  page.on('response', (response) => { if (response.status() === 403) page.refused.push(response.url()); });
  await signIn(page, await token(scope), '');
  await settled(page);
  return page;
}

test('a token of a namespace begins there, and reads without a refusal', async () => {
  const page = await as(`ns:${NS}:read`);
  await page.getByRole('link', { name: 'Limits', exact: true }).click();
  await page.getByRole('link', { name: 'scoped-model' }).waitFor();
  await page.getByRole('button', { name: `namespace ${NS}` }).waitFor();
  await eventually(() => page.getByRole('navigation', { name: 'Views of limits' }).getByRole('link').allTextContents(), ['Resources', 'Entities', 'Audit']);
  await page.getByText(`Changes take the scope ns:${NS}`).waitFor();
  // A level without limits is not found, which the browser reports itself.
  page.faults = page.faults.filter((one) => !one.includes('404'));
  await check(page, 'limits as a reader');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search pages' }).fill('scoped');
  await page.waitForTimeout(400);
  await page.keyboard.press('Escape');
  await visit(page, `/limits/entities/scoped-user?ns=${NS}`);
  await eventually(() => page.getByRole('button', { name: 'Reset…' }).isDisabled(), true);
  assert.equal(await page.getByRole('button', { name: 'Reset…' }).getAttribute('title'), `This takes the scope ns:${NS}`);
  await page.goto(`${URL_BASE}/limits/entities`);
  await settled(page);
  assert.deepEqual(page.refused, []);
});

test('a token that reads practice changes nothing there', async () => {
  const page = await as('practice:read');
  await page.getByRole('link', { name: 'Practice', exact: true }).click();
  await page.getByText('Changes take the scope practice').waitFor();
  await visit(page, '/practice/plans');
  await eventually(() => page.getByRole('button', { name: 'New plan…' }).isDisabled(), true);
  await check(page, 'practice as a reader');
  assert.deepEqual(page.refused, []);
});

test('a token of a repository begins with its reviews', async () => {
  await api('PUT', `/v1/reviews/${fresh('scopes-review')}`, { owner: 'scopes', repo: 'shop', pr_number: 7, pr_title: 'Scoped change', pr_url: 'https://example.com/7', files: [], requested_by: 'octocat', responses: [] });
  const page = await as('reviews:scopes/shop:read');
  await page.getByRole('link', { name: 'Reviews', exact: true }).click();
  await settled(page);
  await page.getByRole('navigation', { name: 'Views of reviews' }).getByRole('link', { name: 'Reviews' }).click();
  await page.getByRole('link', { name: 'Scoped change' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search pages' }).fill('scoped');
  await page.getByRole('option', { name: /Scoped change/ }).waitFor();
  assert.deepEqual(page.refused, []);
});

test('a token of an app finds its app', async () => {
  const page = await as(`org:${ORG} app:chat`);
  await page.getByText('reach none of the figures').waitFor();
  await page.getByRole('link', { name: 'Budgets', exact: true }).click();
  await page.getByRole('link', { name: 'chat' }).click();
  await page.waitForURL(`**/budgets/${ORG}/apps/chat`);
  await settled(page);
  await page.getByText('$0.10').first().waitFor();
  await check(page, 'an app as its token');
  assert.deepEqual(page.refused, []);
});

test('a token of an org that reads sees which scope a change takes', async () => {
  const page = await as(`org:${ORG}:read`);
  await page.getByText('Budgets and webhooks are in order').waitFor();
  await visit(page, `/budgets/${ORG}/what-if`);
  await page.getByText('Changes take the scope admin').waitFor();
  await page.getByLabel('Quota of premium in dollars a day').fill('3');
  for (const name of ['Replay', 'Save…']) await eventually(() => page.getByRole('button', { name, exact: true }).isDisabled(), true, name);
  await visit(page, `/budgets/${ORG}/credentials`);
  await eventually(() => page.getByRole('button', { name: 'Rotate the secret…' }).isDisabled(), true);
  await eventually(() => page.getByRole('navigation', { name: 'Views of the budget' }).getByRole('link').allTextContents(), ['Spend', 'What if', 'Apps', 'Credentials', 'Audit']);
  await check(page, 'a budget as a reader');
  assert.deepEqual(page.refused, []);
});

test('nothing of a person is left for the next one in the same tab', async () => {
  const page = await as(`org:${ORG}:read`);
  await visit(page, `/budgets/${ORG}`);
  await page.getByRole('heading', { name: 'First Person Works' }).waitFor();
  await visit(page, `/budgets/${OTHER}`);
  await page.getByRole('alert').getByText('403').waitFor();
  assert.equal(await page.getByText('Second Person Works').count(), 0);
  await visit(page, '/');
  await page.getByText('First Person Works').first().waitFor();
  page.refused.length = 0;
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search pages' }).fill('works');
  await page.getByRole('option', { name: /First Person Works/ }).waitFor();
  assert.equal(await page.getByRole('option', { name: /Second Person Works/ }).count(), 0);
  await page.keyboard.press('Escape');
  assert.deepEqual(page.refused, [], 'the palette asks for nothing that is refused');
  await page.evaluate(() => { window.memory = 'of the first person'; });
  await page.locator('.menu.user > button').click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByLabel('Admin key or token').waitFor();
  await eventually(() => page.evaluate(() => window.memory), undefined, 'the document starts anew');
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((key) => key !== 'weir.theme')), []);
  assert.equal(new URL(page.url()).pathname, '/');
  await page.getByLabel('Admin key or token').fill(await token(`org:${OTHER}:read`));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Budgets', exact: true }).click();
  await page.getByText('Second Person Works').first().waitFor();
  await settled(page);
  assert.equal(await page.getByText('First Person Works').count(), 0);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search pages' }).fill('works');
  await page.getByRole('option', { name: /Second Person Works/ }).waitFor();
  assert.equal(await page.getByRole('option', { name: /First Person Works/ }).count(), 0);
});

test('a session that another person continues starts anew', async () => {
  const page = await as(`org:${ORG}:read`);
  await page.evaluate(() => { window.memory = 'of the first person'; });
  const { items } = await api('GET', '/v1/tokens?limit=100');
  const [session] = items.filter((one) => one.session && one.scope === `org:${ORG}:read`).sort((a, b) => b.created_at.localeCompare(a.created_at));
  await api('DELETE', `/v1/tokens/${session.id}`);
  await page.getByRole('link', { name: 'Budgets', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.waitFor();
  await dialog.getByLabel('Admin key or token').fill(KEY);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Settings', exact: true }).waitFor();
  await eventually(() => page.evaluate(() => window.memory), undefined, 'the document starts anew');
});
