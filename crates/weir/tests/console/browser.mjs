// What the browser tests of the console share: a signed-in page that records every fault, and the checks of a page.
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { afterEach } from 'node:test';

const modules = process.env.WEIR_NODE_MODULES;
const require = createRequire(modules ? path.join(modules, 'x.js') : import.meta.url);
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const URL_BASE = process.env.WEIR_CONSOLE_URL;
export const KEY = process.env.WEIR_CONSOLE_KEY;
const SHOTS = process.env.WEIR_CONSOLE_SHOTS;
assert.ok(URL_BASE && KEY, 'WEIR_CONSOLE_URL and WEIR_CONSOLE_KEY name the server and its admin key');

let browser;
export async function launch() {
  browser ??= await chromium.launch({ executablePath: process.env.WEIR_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
  return browser;
}
export async function close() {
  await browser?.close();
  browser = undefined;
}

/** Calls the API as the administrator; seeds data and checks what a page did. */
export async function api(method, route, body) {
  const response = await fetch(URL_BASE + route, {
    method,
    headers: { 'x-api-key': KEY, ...(body !== undefined && { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${route}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

// A page follows live values, and a person may follow few: a test's pages are closed behind it.
const opened = new Set();
afterEach(async () => {
  const contexts = [...opened];
  opened.clear();
  for (const context of contexts) await context.close();
});

/** A page in its own browser context, until the end of the test; `faults` collects console errors, exceptions and violations of the policy. */
export async function openPage({ theme = 'light', phone = false } = {}) {
  const context = await (await launch()).newContext({
    viewport: phone ? { width: 390, height: 844 } : { width: 1440, height: 900 },
    colorScheme: theme, timezoneId: 'Europe/Berlin', permissions: ['clipboard-read', 'clipboard-write'],
  });
  opened.add(context);
  const page = await context.newPage();
  page.faults = [];
  page.on('console', (message) => { if (message.type() === 'error') page.faults.push(`console: ${message.text()} (${message.location().url})`); });
  page.on('pageerror', (error) => page.faults.push(`exception: ${error.message}`));
  await page.addInitScript(() => document.addEventListener('securitypolicyviolation', (event) => {
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
  }));
  return page;
}

export async function signIn(page, credential = KEY, name = 'ada') {
  await page.goto(URL_BASE);
  await page.getByLabel('Admin key or token').fill(credential);
  await page.getByLabel('Your name').fill(name);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.shell').waitFor();
}

/** A page with a session, which the API gave without the form; it shows nothing before the first `visit`. */
export async function open(options) {
  const page = await openPage(options);
  const response = await page.context().request.post(`${URL_BASE}/v1/session`, { data: { credential: KEY, name: 'ada' } });
  assert.equal(response.status(), 200);
  await page.addInitScript(() => { for (const key of ['weir.signed-in', 'weir.admin']) localStorage.setItem(key, '1'); });
  return page;
}

/** Goes to a path and waits until nothing loads any more. */
export async function visit(page, route) {
  await page.goto(URL_BASE + route);
  await settled(page);
}
export async function settled(page) {
  await page.locator('main h1').first().waitFor();
  await page.waitForFunction(() => !document.querySelector('main .skeleton, main [aria-busy=true]'));
}

/** Waits until the page is as expected: what it shows follows what is done by a moment. */
export async function eventually(read, expected, what) {
  for (const until = Date.now() + 10_000; Date.now() < until; await new Promise((done) => setTimeout(done, 50))) {
    if (isDeepStrictEqual(await read(), expected)) return;
  }
  assert.deepEqual(await read(), expected, what);
}

/** No fault was recorded, nothing is wider than the window, and axe finds nothing serious. */
export async function check(page, what = page.url()) {
  assert.deepEqual(page.faults, [], `${what} has faults`);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(over <= 0, `${what} is ${over} px wider than the window`);
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const serious = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target.join(' ')} (${node.failureSummary?.split('\n')[1]?.trim()})`).slice(0, 3).join('; ')}`);
  assert.deepEqual(serious, [], `${what}: faults that axe finds`);
}

/** Writes a picture for people, when WEIR_CONSOLE_SHOTS names a folder. */
export async function shot(page, name) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
}

/** Checks a path in light, dark and at the width of a phone, with a picture of each. */
export async function checkEverywhere(test, route, name) {
  for (const [mode, options] of [['light', {}], ['dark', { theme: 'dark' }], ['phone', { phone: true }]]) {
    await test.test(`${route} ${mode}`, async () => {
      const page = await shared(mode, options);
      page.faults.length = 0;
      await visit(page, route);
      await check(page, `${route} (${mode})`);
      await shot(page, `${name}-${mode}`);
    });
  }
}
const pages = new Map();
async function shared(mode, options) {
  if (!pages.has(mode)) {
    const page = await open(options);
    opened.delete(page.context());
    pages.set(mode, page);
  }
  return pages.get(mode);
}
