// How long the pages of the console take: `make bench-console`. docs/performance.md says what is measured and prints the figures.
//
// Starts `weir serve` on demo data, then on a store that it fills through the API, and opens every page of both in Chromium.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from './client.mjs';
import { fill, settle } from './fill.mjs';
import { pages, subjects } from './pages.mjs';
import { number, row, table } from './report.mjs';
import { startServer, temporaryFolder } from './server.mjs';
import { launch, signIn, visits } from './visit.mjs';

const GOALS_MS = { demo: 200, filled: 1000 };
const HELP = `node bench/console/main.mjs --weir target/release/weir [OPTIONS]

  --weir FILE         the server
  --modules FOLDER    node_modules with playwright-core [default: .tools/npm/node_modules]
  --orgs N            orgs of the filled store [default: 1000]
  --entities N        entities [default: 100000]
  --reviews N         reviews [default: 50000]
  --users N           users, problems, runs and jobs of practice [default: 500]
  --runs N            visits of each page and kind [default: 5]
  --only TEXT         pages whose name contains it
  --on demo|filled    one of the two data sets
  --keep FOLDER       keeps the data there, and uses what an earlier run left`;

const count = (text, name) => {
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1) throw new Error(`--${name} is a whole number from 1`);
  return Number(text);
};

function options() {
  const text = (initial) => ({ type: 'string', default: initial });
  const { values } = parseArgs({ options: {
    weir: text('target/release/weir'), modules: text('.tools/npm/node_modules'), orgs: text('1000'), entities: text('100000'), reviews: text('50000'),
    users: text('500'), runs: text('5'), only: text(''), on: text(''), keep: text(''), help: { type: 'boolean', default: false },
  } });
  const sizes = Object.fromEntries(['orgs', 'entities', 'reviews', 'users'].map((name) => [name, count(values[name], name)]));
  if (!['', 'demo', 'filled'].includes(values.on)) throw new Error('--on is demo or filled');
  return { ...values, weir: path.resolve(values.weir), modules: path.resolve(values.modules), sizes, runs: count(values.runs, 'runs') };
}

/** The folder of a data set, and whether it has these data already. */
function folderOf(name, { keep, sizes }) {
  if (!keep) return { folder: temporaryFolder(), isFilled: false, done: () => {} };
  const folder = path.resolve(keep, name);
  const [mark, content] = [path.join(folder, 'filled.json'), JSON.stringify(name === 'demo' ? {} : sizes)];
  mkdirSync(folder, { recursive: true });
  const isFilled = existsSync(mark) && readFileSync(mark, 'utf8') === content;
  if (!isFilled && existsSync(path.join(folder, 'data'))) throw new Error(`${folder} has other data; remove it`);
  return { folder, isFilled, done: () => writeFileSync(mark, content) };
}

const loads = () => os.loadavg().map((load) => load.toFixed(1)).join(', ');

async function measure(name, browser, settings) {
  const { folder, isFilled, done } = folderOf(name, settings);
  const server = await startServer(settings.weir, folder, name === 'demo' ? ['--demo'] : []);
  if (name === 'filled' && !isFilled) await fill(server.url, settings.sizes);
  done();
  const client = new Client(server.url, 4);
  if (name === 'filled') await settle(client);
  const of = await subjects(client);
  client.close();
  const wanted = pages(of).filter((page) => page.name.includes(settings.only));
  const cookies = await signIn(browser, server.url);
  const rows = [];
  const before = loads();
  for (const page of wanted) {
    process.stderr.write(`${process.stderr.isTTY ? `\r  ${page.name}\x1b[K` : ''}`);
    rows.push(row(page.name, await visits(browser, cookies, server.url, page, settings.runs), of, GOALS_MS[name]));
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  await server.stop();
  return { rows, load: `${before} before, ${loads()} after` };
}

function print(name, { rows, load }, { sizes, runs }) {
  const { orgs, entities, reviews } = sizes;
  const what = name === 'demo' ? 'Demo data' : `${number(orgs)} orgs, ${number(entities)} entities, ${number(reviews)} reviews`;
  const over = rows.filter((cells) => cells.at(-1) === 'over').length;
  process.stdout.write(`\n${what}; goal ${number(GOALS_MS[name])} ms; ${runs} visits of each kind; load of the machine ${load}\n\n${table(rows)}\n\n`);
  process.stdout.write(`${over === 0 ? 'Every page is within the goal.' : `${over} of ${rows.length} pages are over the goal.`}\n`);
}

async function main() {
  const settings = options();
  if (settings.help) { process.stdout.write(`${HELP}\n`); return; }
  if (!existsSync(settings.weir)) throw new Error(`${settings.weir} does not exist; \`make bench-console\` builds it`);
  const browser = await launch(settings.modules);
  for (const name of ['demo', 'filled'].filter((one) => !settings.on || one === settings.on)) print(name, await measure(name, browser, settings), settings);
  await browser.close();
}

main().then(() => process.exit(0), (error) => {
  process.stderr.write(`bench-console: ${error.stack ?? error}\n`);
  process.exit(1);
});
