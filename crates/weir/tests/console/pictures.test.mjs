// The pictures of the documentation, of a demo that this spec starts. They are written only when WEIR_TEST_PICTURES names a folder,
// from the root of the repository on, because each run would show other figures:
//
//   WEIR_TEST_PICTURES=docs/images make tests ARGS="-E 'binary(=console)'"
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const FOLDER = process.env.WEIR_TEST_PICTURES && path.resolve(import.meta.dirname, '../../../..', process.env.WEIR_TEST_PICTURES);
const skip = FOLDER ? false : 'WEIR_TEST_PICTURES names no folder';
/** Thirty days of history take a debug build two minutes. */
const START_MAX_MS = 400_000;
const LIVE_MS = 60_000;
const DRAWN_MS = 3_000;
const BYTES_MAX = 150 * 1024;
const PICTURES = { overview: '/', budget: '/budgets/banyan-bank', limits: '/limits', reviews: '/reviews', practice: '/practice', settings: '/settings/jobs' };

let demo;
let browser;
before(async () => {
  if (skip) return;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('WEIR_')));
  const data = path.resolve('weir-demo');
  demo = spawn(process.env.WEIR_BIN, ['serve', '--demo', '--data', data, '--listen', '127.0.0.1:0'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  // The spec is ended by a signal when it takes too long.
  process.once('SIGTERM', () => { demo.kill(); process.exit(1); });
  let said = '';
  demo.stdout.on('data', (part) => { said += part; });
  const address = () => said.match(/^listening on (\S+)/m)?.[1];
  for (const started = Date.now(); !address(); await sleep(100)) {
    assert.ok(demo.exitCode === null && Date.now() - started < START_MAX_MS, `the demo did not start: ${said}`);
  }
  process.env.WEIR_CONSOLE_URL = address();
  process.env.WEIR_CONSOLE_KEY = readFileSync(path.join(data, 'admin.key'), 'utf8').trim();
  process.env.WEIR_CONSOLE_SHOTS = FOLDER;
  browser = await import('./browser.mjs');
}, { timeout: START_MAX_MS });
after(async () => {
  await browser?.close();
  demo?.kill();
});

/** Acquires over HTTP, which the live figures count; a refusal is fine. */
async function acquire(signal) {
  const { items } = await browser.api('GET', '/v1/namespaces/default/entities?limit=20');
  const headers = { 'x-api-key': browser.KEY, 'content-type': 'application/json' };
  for (let n = 0; !signal.aborted; n += 1) {
    const body = JSON.stringify({ entity: items[n % items.length].id, resource: n % 3 ? 'claude-haiku-4-5' : 'gpt-4o', consume: { rpm: 1, tpm: n % 7 ? 900 : 90_000 } });
    await fetch(`${browser.URL_BASE}/v1/namespaces/default/acquire`, { method: 'POST', headers, body });
    await sleep(60 + 40 * Math.sin(n / 20));
  }
}

test('the pictures of the documentation are written', { skip, timeout: START_MAX_MS }, async () => {
  const stop = new AbortController();
  const acquiring = acquire(stop.signal);
  const page = await browser.open();
  for (const [name, route] of Object.entries(PICTURES)) {
    await browser.visit(page, route);
    // A live chart begins when its page is opened.
    await sleep(name === 'limits' ? LIVE_MS : DRAWN_MS);
    await browser.shot(page, `console-${name}`);
    const file = path.join(FOLDER, `console-${name}.png`);
    assert.ok(existsSync(file) && statSync(file).size <= BYTES_MAX, `${file} is larger than ${BYTES_MAX} bytes`);
  }
  stop.abort();
  await acquiring;
});
