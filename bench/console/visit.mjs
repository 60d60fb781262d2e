// Opens pages in Chromium and measures them: with an empty cache, with a filled one, and by a change of the route.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { KEY } from './server.mjs';

const PROBE = readFileSync(new URL('probe.js', import.meta.url), 'utf8');
const CHROMIUM = '/usr/bin/chromium';
/** The figures of all orgs are remembered for five seconds. */
const FORGOTTEN_MS = 5_200;
const PAGE_MAX_MS = 60_000;
/** Where a change of the route begins: a page that asks for little. */
const START = '/settings/configuration';
const OTHER_START = '/settings/tokens';
const START_SHOWS = 'main tr[data-row]';

export async function launch(modules) {
  const { chromium } = createRequire(`${modules}/`)('playwright-core');
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  return chromium.launch({ executablePath: process.env.WEIR_CHROMIUM ?? CHROMIUM, args: ['--no-sandbox'], ...signals });
}

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** The cookie of one session, for all contexts: a sign-in is not what is measured. */
export async function signIn(browser, url) {
  const context = await browser.newContext();
  const response = await context.request.post(`${url}/v1/session`, { data: { credential: KEY, name: 'bench' } });
  if (!response.ok()) throw new Error(`sign-in: ${response.status()}`);
  const { cookies } = await context.storageState();
  await context.close();
  return cookies;
}

/** A page with a session and an empty cache of its own. */
async function newPage(browser, cookies) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.addCookies(cookies);
  await context.addInitScript("for (const key of ['weir.signed-in', 'weir.admin']) localStorage.setItem(key, '1')");
  await context.addInitScript(PROBE);
  const page = await context.newPage();
  page.setDefaultTimeout(PAGE_MAX_MS);
  return page;
}

/** What a visit took: { ms, api: [{ path, server }], apiBytes, bytes, assets }. */
async function measured(page, of, start) {
  const slow = sleep(PAGE_MAX_MS).then(() => ({ error: `not complete after ${PAGE_MAX_MS / 1000} s` }));
  const shown = await Promise.race([page.evaluate(([shows, at]) => window.benchProbe.shown(shows, at), [of.shows, start]), slow]);
  if (shown.error) throw new Error(`${of.name} (${of.path}): ${shown.error}`);
  return { ...shown, ...await page.evaluate((at) => window.benchProbe.requests(at), start) };
}

async function load(page, url, of) {
  await page.goto(url + of.path, { waitUntil: 'commit' });
  return measured(page, of, 0);
}

/** A change of the route inside the console, as a click on a link makes it. */
async function change(page, url, of) {
  const from = of.path === START ? OTHER_START : START;
  if (new URL(page.url()).pathname !== from) await load(page, url, { name: 'the start', path: from, shows: START_SHOWS });
  await page.evaluate(() => performance.clearResourceTimings());
  const start = await page.evaluate((to) => {
    const now = performance.now();
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
    return now;
  }, of.path);
  return measured(page, of, start);
}

/** Visits of a page: { cold: [visit], warm: [visit], inside: [visit] }, `runs` of each. */
export async function visits(browser, cookies, url, of, runs) {
  const found = { cold: [], warm: [], inside: [] };
  const pause = () => (of.isKept ? sleep(FORGOTTEN_MS) : null);
  for (let run = 0; run < runs; run += 1) {
    await pause();
    const page = await newPage(browser, cookies);
    found.cold.push(await load(page, url, of));
    await page.goto('about:blank');
    await pause();
    found.warm.push(await load(page, url, of));
    await load(page, url, { name: 'the start', path: of.path === START ? OTHER_START : START, shows: START_SHOWS });
    found.inside.push(await change(page, url, of));
    await page.context().close();
  }
  return found;
}
