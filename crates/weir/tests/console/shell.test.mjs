// The frame: signing in and out, the palette, the theme, the keyboard, lost connections.
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { createServer, request as ask } from 'node:http';
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
  const session = cookies.find((one) => one.name.endsWith('weir_session'));
  assert.ok(session.httpOnly && session.sameSite === 'Strict');
  assert.ok(!session.value.includes(KEY), 'the admin key is not in the cookie');
  await page.reload();
  await settled(page);
  await check(page, 'overview after a reload');
});

test('signing out ends the session on the server', async () => {
  const page = await open();
  await visit(page, '/');
  const { value } = (await page.context().cookies()).find((one) => one.name.endsWith('weir_session'));
  await page.getByRole('button', { name: 'ada' }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByLabel('Admin key or token').waitFor();
  const response = await fetch(`${URL_BASE}/v1/session`, { headers: { cookie: `weir_session=${value}` } });
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

test('a hidden tab asks for nothing, and goes on when it is seen', async () => {
  const page = await open();
  await page.addInitScript(() => {
    window.isHidden = false;
    Object.defineProperty(document, 'hidden', { get: () => window.isHidden });
    window.hide = (is) => { window.isHidden = is; document.dispatchEvent(new Event('visibilitychange')); };
  });
  await visit(page, '/settings/jobs');
  await page.getByText('live', { exact: true }).waitFor();
  await page.evaluate(() => window.hide(true));
  await page.getByText('paused', { exact: true }).waitFor();
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.waitForTimeout(6_500);
  assert.deepEqual(asked, [], 'the jobs are read every five seconds, and live values come every two');
  await page.evaluate(() => window.hide(false));
  await page.getByText('live', { exact: true }).waitFor();
  await eventually(() => asked.some((one) => one.endsWith('/v1/jobs')), true, 'what is older than its interval is read at once');
});

test('a stream that ends goes on with the id of its last event', async () => {
  // Between the browser and the server: the browser's own header is seen only there.
  const ids = [];
  const between = createServer((request, response) => {
    if (request.url !== '/v1/live') {
      const { hostname, port } = new URL(URL_BASE);
      const headers = { ...request.headers, host: `${hostname}:${port}` };
      request.pipe(ask({ hostname, port, path: request.url, method: request.method, headers }, (answer) => { response.writeHead(answer.statusCode, answer.headers); answer.pipe(response); }));
      return;
    }
    ids.push(request.headers['last-event-id'] ?? '');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`retry: 100\nid: ${41 + ids.length}\nevent: tick\ndata: ${JSON.stringify({ at: new Date().toISOString(), limiter: [], limiter_namespaces: [], limiter_totals: { granted_per_sec: 0, refused_per_sec: 0, resources: 0, namespaces: 0 }, keeper: [] })}\n\nevent: reconnect\ndata: {"reason":"renew"}\n\n`);
  });
  await new Promise((done) => { between.listen(0, '127.0.0.1', done); });
  try {
    const page = await open();
    await page.addInitScript(() => new MutationObserver(() => { window.lost ||= document.body.textContent.includes('connection lost'); }).observe(document, { subtree: true, childList: true, characterData: true }));
    await page.goto(`http://127.0.0.1:${between.address().port}/settings`);
    await page.getByText('live', { exact: true }).waitFor();
    await eventually(() => ids.slice(0, 3), ['', '42', '43']);
    assert.equal(await page.evaluate(() => window.lost), false, 'an end that was announced is no loss');
    await page.close();
  } finally {
    between.close();
    between.closeAllConnections();
  }
});

for (const [mode, options] of [['dark', { theme: 'dark' }], ['phone', { phone: true }]]) {
  test(`sign-in, palette, dialogs and menus are in order, ${mode}`, async () => {
    const signedOut = await openPage(options);
    await signedOut.goto(URL_BASE);
    await signedOut.getByLabel('Admin key or token').waitFor();
    await check(signedOut, `sign-in ${mode}`);
    const page = await open(options);
    await visit(page, '/settings/tokens');
    await page.keyboard.press('Control+k');
    await page.getByRole('option').first().waitFor();
    await check(page, `palette ${mode}`);
    await shot(page, `palette-${mode}`);
    await page.keyboard.press('Escape');
    await seedOrg('shell-forms');
    for (const [route, button] of [['/budgets/shell-forms/webhooks', 'Add a webhook…'], ['/budgets/shell-forms/credentials', 'Rotate the secret…'], ['/practice/plans', 'New plan…']]) {
      await visit(page, route);
      await page.getByRole('button', { name: button }).first().click();
      await page.getByRole('dialog').waitFor();
      await check(page, `${button} ${mode}`);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await visit(page, '/settings/tokens');
    await page.getByRole('button', { name: 'Issue a token…' }).click();
    await page.getByText('The same from a terminal').click();
    await check(page, `form ${mode}`);
    await shot(page, `form-${mode}`);
    await page.keyboard.press('Escape');
    await page.locator('.menu.user > button').click();
    await page.getByRole('button', { name: 'Sign out everywhere…' }).waitFor();
    await check(page, `menu ${mode}`);
    await page.getByRole('button', { name: 'Sign out everywhere…' }).click();
    await page.getByRole('dialog').waitFor();
    await check(page, `question ${mode}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
}

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

test('a lost connection is shown and recovers', async () => {
  const page = await open();
  await visit(page, '/settings');
  await page.getByText('live', { exact: true }).waitFor();
  await page.route('**/v1/live', (route) => route.abort());
  await page.goto(`${URL_BASE}/settings`);
  await page.getByText('connection lost').waitFor();
  await page.unroute('**/v1/live');
  await page.getByText('live', { exact: true }).waitFor({ timeout: 20_000 });
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
