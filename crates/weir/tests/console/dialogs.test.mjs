// Dialogs, menus and the first page: in dark and on a phone, and what is shown once.
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { URL_BASE, check, close, eventually, open, openPage, shot, visit } from './browser.mjs';
import { fresh, seedOrg } from './seed.mjs';

after(close);

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
    // The state of the connection is a word, too.
    await page.getByText('live', { exact: true }).waitFor();
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

test('a secret that is shown once stays until it is closed on purpose', async () => {
  const page = await open();
  await visit(page, '/settings');
  await page.getByRole('link', { name: 'Tokens' }).click();
  await page.getByRole('button', { name: 'Issue a token…' }).click();
  await page.getByLabel('Name', { exact: true }).fill(fresh('trouble-secret'));
  await page.getByRole('button', { name: 'Issue', exact: true }).click();
  const secret = page.locator('[data-secret] code');
  const text = await secret.textContent();
  const address = page.url();
  await page.evaluate(() => history.back());
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  assert.equal(await page.getByRole('combobox').count(), 0);
  assert.equal(page.url(), address);
  await eventually(() => secret.textContent(), text);
  await eventually(() => page.evaluate(() => document.querySelector('dialog').matches(':modal')), true);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.evaluate(() => history.back());
  await page.waitForURL('**/settings');
});
