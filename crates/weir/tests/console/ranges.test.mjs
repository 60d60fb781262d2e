// Addresses and ranges: what a drag selects, what stays while a page is open, and names that are no paths.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { api, close, eventually, open, visit } from './browser.mjs';
import { seedOrg } from './seed.mjs';

before(async () => {
  const org = await seedOrg('ranges-org');
  await org.spend('premium', 1_000);
});
after(close);

/** Drags over the first chart, from and to places within it, until `done` resolves: a page that still moves takes the chart away from under the mouse. */
async function drag(page, places, done) {
  for (let tries = 4; ; tries -= 1) {
    const box = await page.locator('.u-over').first().boundingBox();
    const [from, to] = places(box);
    await page.mouse.move(from, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(to, box.y + 60, { steps: 4 });
    await page.mouse.up();
    try {
      await done({ timeout: 5_000 });
      return;
    } catch (error) {
      if (tries === 0) throw error;
    }
  }
}

test('typing a search long after the page was opened loads nothing again, and tabs keep the range', async () => {
  const page = await open();
  await page.clock.install();
  let reads = 0;
  page.on('request', (request) => { if (/v1\/reviews\?/.test(request.url())) reads += 1; });
  await visit(page, '/reviews/list?range=7d');
  assert.equal(reads, 1);
  await page.clock.runFor(5 * 60_000);
  await page.getByLabel('Search reviews').or(page.getByLabel('Of', { exact: true })).first().waitFor();
  await page.evaluate(() => history.replaceState(null, '', `${location.pathname}?range=7d&reviews.q=x`));
  await page.evaluate(() => dispatchEvent(new PopStateEvent('popstate')));
  await page.clock.runFor(2_000);
  assert.equal(reads, 1, 'the end of the range stays');
  await page.getByRole('link', { name: 'Findings' }).first().click();
  await page.waitForURL('**/reviews/findings?range=7d');
  await page.getByRole('link', { name: 'Limits', exact: true }).click();
  await page.waitForURL('**/limits?range=7d');
});

test('a name of dots, or a type that is none, never becomes another path', async () => {
  const page = await open();
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await visit(page, '/limits/edit?level=entity&entity=..&resource=..');
  await visit(page, '/practice/jobs?type=..%2F..%2Fusers');
  await visit(page, '/practice/jobs/users%2F1/2');
  await page.getByText('There is no such page').waitFor();
  await visit(page, '/reviews/list?by=repo&value=../..');
  assert.deepEqual(asked.filter((one) => !/^\/(v1\/(session|live|namespaces\/default\/|practice\/jobs\/script-generation$|reviews\/repos\/%252E%252E\/%252E%252E)|assets|limits|practice|reviews)/.test(one)), []);
  assert.ok(asked.includes('/v1/namespaces/default/limits/entities/%252E%252E/%252E%252E') || asked.includes('/v1/namespaces/default/limits/plan'), 'the level is asked for as a name');
});

for (const zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
  test(`a drag over one day of an org in ${zone} selects that day`, async () => {
    const org = `ranges-${zone.split('/')[1].toLowerCase().replace('_', '-')}`;
    await api('PUT', `/api/v1/orgs/${org}`, { org_name: org, timezone: zone, quota_scope: 'ORG', model_ordering: ['premium'], quotas: { premium: 1_000_000 } });
    const page = await open();
    await visit(page, `/budgets/${org}`);
    const day = new Intl.DateTimeFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'short' }).format(new Date());
    // 31 days, and six tenths of a day on both sides.
    const middle = (box) => box.x + box.width * (1 - 0.6 / 31.2);
    await drag(page, (box) => [middle(box) - 8, middle(box) + 8], (within) => page.getByText(`${day} to ${day}, days of ${zone}.`).waitFor(within));
  });
}

test('a past day shows its last fallback among its hours', async () => {
  const page = await open();
  const sticky = { active_model_label: 'standard', previous_model_label: 'premium', activated_at: '2026-11-10T02:30:00Z', reason: 'QUOTA_EXCEEDED' };
  await page.route('**/aggregates?from=2026-11-10&to=2026-11-10', async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    await route.fulfill({ json: { ...json, items: [{ ...json.items[0], sticky }] } });
  });
  await page.route('**/aggregates/2026-11-10/hours', (route) => route.fulfill({ json: { date: '2026-11-10', is_recorded: true, labels: ['premium'], hours: [{ start: '2026-11-10T02:00:00Z', spent_usd_micros: 5, models: { premium: 5 } }] } }));
  await visit(page, '/budgets/ranges-org?day=2026-11-10');
  await page.getByRole('figure', { name: 'Spend by hour and model' }).getByText('last fallback').waitFor();
});

test('a drag zooms, the address says the range, and Back undoes it', async () => {
  const page = await open();
  await visit(page, '/budgets/ranges-org');
  const before = page.url();
  await drag(page, (box) => [box.x + 100, box.x + 400], (within) => page.waitForURL(/from=\d+&to=\d+/, within));
  await eventually(() => page.getByLabel('Time range').inputValue(), 'custom');
  await page.goBack();
  assert.equal(page.url(), before);
});
