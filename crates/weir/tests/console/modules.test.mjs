// The file that the modules are joined into.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { close, open, URL_BASE, visit } from './browser.mjs';

const SOURCE = fileURLToPath(new URL('../../../weir-server/console/', import.meta.url));
/** Starts the console, and exports nothing. */
const START = 'app/main.js';
/** No module: it runs before all of them. */
const FIRST = 'app/first-paint.js';

after(close);

const script = (page) => page.evaluate(() => document.querySelector('script[type=module]').src);

test('it has every export of every module', async () => {
  const paths = readdirSync(SOURCE, { recursive: true }).filter((file) => file.endsWith('.js') && file !== FIRST).sort();
  assert.ok(paths.length > 60, `${paths.length} modules`);
  const page = await open();
  await page.route('**/source/**', (route) => route.fulfill({ path: path.join(SOURCE, new URL(route.request().url()).pathname.slice('/source/'.length)) }));
  await visit(page, '/settings/tokens');
  const exports = (addresses) => page.evaluate((all) => Promise.all(all.map(async (one) => Object.keys(await import(one)).sort())), addresses);
  const [constants] = await exports([await script(page)]);
  const constant = (file) => file.replace(/\.js$/, '').replaceAll(/[^a-z0-9]/g, '_');
  assert.deepEqual(constants, paths.map(constant).sort());
  const plain = paths.filter((file) => file !== START);
  const expected = await exports(plain.map((file) => `/source/${file}`));
  const found = await page.evaluate(async (address) => Object.fromEntries(Object.entries(await import(address)).map(([name, module]) => [name, Object.keys(module).sort()])), await script(page));
  plain.forEach((file, at) => assert.deepEqual(found[constant(file)], expected[at], file));
});

test('it is a module without errors of syntax', async () => {
  const page = await open();
  await visit(page, '/settings/tokens');
  const folder = mkdtempSync(path.join(os.tmpdir(), 'weir-modules-'));
  try {
    const file = path.join(folder, 'console.mjs');
    writeFileSync(file, await (await fetch(new URL(await script(page), URL_BASE))).text());
    execFileSync(process.execPath, ['--check', file]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
