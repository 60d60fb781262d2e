// Reviews: every page in every mode; findings are filtered and judged, by mouse and by keyboard; stored text is never run.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { api, check, checkEverywhere, close, eventually, open, shot, visit } from './browser.mjs';
import { HOSTILE, long, shownNotRun } from './hostile.mjs';

const finding = (id, more = {}) => ({ finding_id: id, severity: 'high', category: 'security', file_path: 'src/login.py', line_start: 12, line_end: 14,
  title: 'SQL injection in `find_user`', description: 'The user name goes into the SQL text of `find_user` without escaping.', ...more });
const response = (model, findings, more = {}) => ({ model_id: model, status: 'success', input_tokens: 5200, output_tokens: 640, latency_ms: 8400, cost_usd: '0.0129', findings, raw: { text: `raw text of ${model}` }, ...more });
const review = (id, responses, more = {}) => api('PUT', `/v1/reviews/${id}`, { owner: 'acme', repo: 'shop', pr_number: 42, pr_title: 'Add login', pr_url: 'https://example.com/acme/shop/pull/42', files: ['src/login.py'], requested_by: 'octocat', responses, ...more });

before(async () => {
  await review('rev-main', [
    response('model-a', [finding('f1'), finding('f2', { severity: 'low', category: 'style', line_start: 90, line_end: 90, title: 'Unused import', description: '`os` is never used.' })]),
    response('model-b', [finding('f1', { severity: 'critical', title: '`find_user` allows SQL injection' })]),
    response('model-c', [], { status: 'timeout' }),
  ]);
  const bad = finding('f1', { file_path: `src/${HOSTILE.replace('\u202E', '')}.py`, title: HOSTILE, description: long(), suggestion: long(), rule: 'rule' });
  await review('rev-hostile', [response('model-a', [bad], { raw: { text: HOSTILE } }), response('model-b', [bad])], { pr_title: HOSTILE });
  await api('POST', '/v1/jobs/reviews-rollup/run');
});
after(close);

const stored = async (id, model, key = 'f1') => (await api('GET', `/v1/reviews/${id}?include=findings`)).findings.find((one) => one.model_id === model && one.finding_id === key);

test('every page of reviews loads', async (t) => {
  const pages = { models: '', model: '?model=model-a', list: '/list', findings: '/findings?severity=high', review: '/review/rev-main' };
  for (const [name, route] of Object.entries(pages)) await checkEverywhere(t, `/reviews${route}`, `reviews-${name}`);
});

test('the leaderboard, the plot and the matrix have the figures of the comparison', async () => {
  const compared = await api('GET', '/v1/reviews/compare?repo=acme/shop');
  const page = await open();
  await visit(page, '/reviews?repo=acme%2Fshop');
  await eventually(() => page.getByRole('table', { name: 'models' }).locator('tbody tr').count(), compared.models.length);
  await eventually(() => page.locator('.bubble').count(), compared.models.filter((one) => one.reviews && one.consensus_share.value !== null).length);
  const pair = compared.pairs.find((one) => one.models.join() === 'model-a,model-b');
  await page.locator('.matrix td').getByText(pair.positive_agreement.value.toFixed(2), { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'Cost against consensus: show as table' }).click();
  await eventually(() => page.getByRole('region', { name: 'Cost against consensus as a table' }).locator('tbody tr').count(), compared.models.filter((one) => one.reviews && one.consensus_share.value !== null).length);
  await check(page, 'the plot as a table');
  await page.getByRole('button', { name: 'Cost against consensus: show as chart' }).click();
  await page.locator('.bubble').first().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: /Figures of/ }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('what models agree on comes first; a finding is accepted and dismissed', async () => {
  const page = await open();
  await visit(page, '/reviews/review/rev-main');
  const group = page.locator('.group').first();
  await group.getByText('2 of 2 models, high confidence').waitFor();
  const first = group.locator('.finding', { hasText: 'model-a' });
  await first.getByRole('button', { name: 'Accept' }).click();
  await first.getByText(/accepted by .*ada/).waitFor();
  assert.equal((await stored('rev-main', 'model-a')).feedback.verdict, 'accepted');
  await first.getByText('The same from a terminal').click();
  await first.getByText(/^weir reviews feedback rev-main model-a f1 --accept --by /).waitFor();
  await first.focus();
  await page.keyboard.press('d');
  await first.getByText(/dismissed by .*ada/).waitFor();
  assert.equal((await stored('rev-main', 'model-a')).feedback.verdict, 'dismissed');
  await page.keyboard.press('j');
  await page.keyboard.press('a');
  await page.locator('.finding', { hasText: 'model-b' }).getByText(/accepted by/).waitFor();
  assert.equal((await stored('rev-main', 'model-b')).feedback.verdict, 'accepted');
  await check(page, 'judged review');
});

test('raw output and report of a review are shown', async () => {
  const page = await open();
  await visit(page, '/reviews/review/rev-main');
  await page.getByRole('row', { name: /model-a/ }).getByRole('button', { name: 'Show' }).click();
  await page.getByRole('dialog').getByText('raw text of model-a').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Report…' }).click();
  await page.getByRole('dialog').getByText('## 1 issue that models agree on').waitFor();
  await check(page, 'report');
  await shot(page, 'reviews-report');
});

test('findings are filtered, and the filters are in the address', async () => {
  const page = await open();
  await visit(page, '/reviews/findings');
  await page.getByRole('group', { name: 'Severity' }).getByRole('button', { name: 'low' }).click();
  const found = page.locator('.finding', { hasText: 'Unused import' });
  await found.waitFor();
  assert.match(page.url(), /severity=low/);
  await page.getByLabel('Model').selectOption('model-b');
  await found.waitFor({ state: 'detached' });
  await page.getByLabel('Model').selectOption('');
  await found.waitFor();
  await page.getByLabel('Search the loaded findings').fill('no such text');
  await found.waitFor({ state: 'detached' });
  await page.reload();
  await page.getByText(/None of the \d+ loaded findings matches/).waitFor();
  await visit(page, '/reviews/findings?by=category&category=style');
  await page.locator('.finding', { hasText: 'Unused import' }).getByRole('link', { name: 'acme/shop#42' }).click();
  await page.getByRole('heading', { level: 1, name: 'Add login' }).waitFor();
  await page.waitForFunction(() => document.activeElement?.id === 'model-a/f2');
});

test('stored text of reviews is shown and never run', async () => {
  const page = await open();
  for (const route of ['/reviews/list', '/reviews/findings?severity=high', '/reviews/review/rev-hostile']) {
    await visit(page, route);
    await shownNotRun(page, route);
  }
  await page.getByRole('button', { name: /Show all/ }).first().click();
  await page.getByRole('button', { name: 'Show less' }).waitFor();
  await page.getByText('[U+202E]').first().waitFor();
  await shownNotRun(page, 'a whole long text');
  await page.getByRole('row', { name: /model-a/ }).getByRole('button', { name: 'Show' }).click();
  await page.getByRole('dialog').getByText('<script>window.ran=1</script>').waitFor();
  assert.equal(await page.evaluate(() => window.ran), undefined);
});
