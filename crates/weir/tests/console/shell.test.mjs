// The frame: signing in and out, the palette, the header, the theme, the keyboard.
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { KEY, URL_BASE, api, check, close, eventually, open, openPage, settled, shot, signIn, visit } from './browser.mjs';
import { seedOrg } from './seed.mjs';

after(close);

test('the sign-in page refuses a wrong credential and accepts the admin key', async () => {
  const page = await openPage();
  await page.goto(URL_BASE);
  await page.getByLabel('Admin key or token').waitFor();
  await check(page, 'sign-in');
  await shot(page, 'sign-in-light');
  await page.getByLabel('Admin key or token').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('neither the admin key nor a token').waitFor();
  page.faults.length = 0; // the browser reports the refused request itself
  await signIn(page);
  await settled(page);
  const cookies = await page.context().cookies();
  const session = cookies.find((one) => one.name.startsWith('weir_session_'));
  assert.ok(session.httpOnly && session.sameSite === 'Strict');
  assert.ok(!session.value.includes(KEY), 'the admin key is not in the cookie');
  await page.reload();
  await settled(page);
  await check(page, 'overview after a reload');
});

test('signing out ends the session on the server', async () => {
  const page = await open();
  await visit(page, '/');
  const { name, value } = (await page.context().cookies()).find((one) => one.name.startsWith('weir_session_'));
  await page.getByRole('button', { name: 'ada' }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByLabel('Admin key or token').waitFor();
  const response = await fetch(`${URL_BASE}/v1/session`, { headers: { cookie: `${name}=${value}` } });
  assert.equal(response.status, 401);
});

test('signing out everywhere ends the other session too', async () => {
  const [one, other] = [await openPage(), await openPage()];
  await signIn(one, KEY, 'everywhere');
  await signIn(other, KEY, 'everywhere');
  await one.getByRole('button', { name: 'everywhere' }).click();
  await one.getByRole('button', { name: 'Sign out everywhere…' }).click();
  await one.getByRole('dialog').getByText('in this browser and in all others').waitFor();
  await one.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click();
  await one.getByLabel('Admin key or token').waitFor();
  await other.goto(`${URL_BASE}/budgets`);
  await other.getByLabel('Admin key or token').waitFor();
});

test('Ctrl-K finds pages and orgs, and / goes to the search box', async () => {
  await seedOrg('shell-palette', { name: 'Palette Works' });
  const page = await open();
  await visit(page, '/budgets');
  await page.keyboard.press('/');
  await eventually(() => page.evaluate(() => document.activeElement.matches('[data-search]')), true);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').waitFor();
  await page.getByRole('combobox').fill('palette works');
  await page.getByRole('option', { name: /Palette Works/ }).waitFor();
  await check(page, 'palette');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/budgets/shell-palette');
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Go to' });
  await palette.waitFor();
  await page.keyboard.press('Escape');
  await palette.waitFor({ state: 'detached' });
});

test('results of the palette that come late move nothing', async () => {
  const page = await open();
  await visit(page, '/');
  let release;
  const held = new Promise((done) => { release = done; });
  await page.route('**/api/v1/orgs?*', async (route) => { await held; return route.fulfill({ json: { items: [{ org_id: 'li-late', org_name: 'Limitless' }], next_cursor: null } }); });
  await page.route('**/entities?*', (route) => route.fulfill({ json: { items: [], next_cursor: null } }));
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search pages' }).fill('li');
  const chosen = page.locator('[role=option][aria-selected=true]');
  await page.getByRole('option', { name: /^Limits/ }).waitFor();
  await page.keyboard.press('ArrowDown');
  const before = await chosen.textContent();
  release();
  await page.getByRole('option', { name: /Limitless/ }).waitFor();
  assert.equal(await chosen.textContent(), before);
  assert.match(await page.getByRole('option').last().textContent(), /Limitless/);
});

test('arrows and Enter work in a list, and the skip link leads to the content', async () => {
  await seedOrg('shell-keys-a');
  await seedOrg('shell-keys-b');
  const page = await open();
  await visit(page, '/budgets?orgs.q=shell-keys&orgs.sort=name');
  await page.locator('[data-search]').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/budgets/shell-keys-b');
  await page.reload();
  await settled(page);
  await page.keyboard.press('Tab');
  await eventually(() => page.evaluate(() => document.activeElement.textContent), 'Skip to content');
});

test('the header leads to another org and another namespace', async () => {
  await seedOrg('shell-keys-a');
  await seedOrg('shell-keys-b');
  await api('PUT', '/v1/namespaces/shell-ns');
  const page = await open();
  await visit(page, '/budgets/shell-keys-a/audit');
  await page.getByRole('button', { name: 'org shell-keys-a' }).click();
  await page.getByRole('link', { name: 'shell-keys-b' }).waitFor();
  await check(page, 'orgs in the header');
  await page.getByRole('link', { name: 'shell-keys-b' }).click();
  await page.waitForURL('**/budgets/shell-keys-b/audit');
  await visit(page, '/limits/entities');
  await page.getByRole('button', { name: 'namespace default' }).click();
  await page.getByRole('link', { name: 'shell-ns' }).click();
  await page.waitForURL('**/limits/entities?ns=shell-ns');
});

test('the theme switch holds after a reload', async () => {
  const page = await open();
  await visit(page, '/');
  await page.getByRole('button', { name: 'Use the dark theme' }).click();
  const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.reload();
  await settled(page);
  await eventually(() => page.evaluate(() => getComputedStyle(document.body).backgroundColor), dark);
  await page.getByRole('button', { name: 'Use the light theme' }).click();
});

test('a token sees what its scopes reach, and script in a name is shown, not run', async () => {
  const hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
  await seedOrg('shell-mine', { name: hostile });
  await seedOrg('shell-other', { name: 'Not for this token' });
  const { access_token: token } = await api('POST', '/v1/tokens', { name: 'shell-org', scope: 'org:shell-mine:read' });
  const page = await openPage();
  await signIn(page, token, 'grace');
  await visit(page, '/budgets');
  await page.getByText(hostile).first().waitFor();
  assert.equal(await page.getByText('Not for this token').count(), 0);
  await eventually(() => page.getByRole('navigation', { name: 'Sections' }).getByRole('link').allTextContents(), ['Overview', 'Budgets'], 'what its scopes reach');
  await visit(page, '/budgets/shell-mine');
  await page.getByRole('heading', { name: hostile }).waitFor();
  await visit(page, '/settings/tokens');
  await page.getByText('Only for administrators').waitFor();
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await check(page, 'as a token of an org');
});
