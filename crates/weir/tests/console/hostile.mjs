// Text that runs where it is inserted as markup, and text that pretends to be other text.
import assert from 'node:assert/strict';
import { check } from './browser.mjs';

export const HOSTILE = '<script>window.ran=1</script>"><img src=x onerror=window.ran=1>\u202Etxt.exe';
/** 64 KiB in UTF-8, as long as a field may be; `most` for fields with a smaller bound. */
export const long = (most = 65536) => `${HOSTILE} ${'long words '.repeat(6000)}`.slice(0, most - 2);

/** The text is on the page as text, and nothing of it has run. */
export async function shownNotRun(page, what, text = '<script>window.ran=1</script>') {
  await page.getByText(text).first().waitFor();
  assert.equal(await page.evaluate(() => window.ran), undefined, `${what}: stored text was run`);
  assert.equal(await page.locator('main img[src="x"]').count(), 0, `${what}: stored text became an element`);
  await check(page, what);
}
