// Practice: every page in every mode; a job is followed and retried, a problem verified, a user moved; stored text is never run.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { api, check, checkEverywhere, close, eventually, open, shot, visit } from './browser.mjs';
import { HOSTILE, long, shownNotRun } from './hostile.mjs';

const P = '/v1/practice';
const TYPE = 'script-generation';
const ids = {};
const submit = async (title) => (await api('POST', `${P}/jobs/${TYPE}`, { platform: 'baekjoon', problem_id: '1000', title, solution_code: 'print(1)' })).id;
const job = (id, rest = '') => `${P}/jobs/${TYPE}/${id}${rest}`;
const claim = async (id) => (await api('POST', job(id, '/claim'), { worker_id: 'host-1', lease_ms: 3600000 })).fence;

before(async () => {
  ids.plan = (await api('POST', `${P}/plans`, { name: 'Console trial', max_hints_per_day: 3, max_executions_per_day: 10 })).id;
  ids.user = (await api('POST', `${P}/users`, { email: 'console-ann@example.com', name: 'Ann Lee', plan_id: ids.plan })).id;
  ids.hostile = (await api('POST', `${P}/users`, { email: 'console-mallory@example.com', name: HOSTILE.replace('\u202E', ''), plan_id: 1 })).id;
  for (const user of [ids.user, ids.hostile]) for (const action of ['hint', 'execution']) await api('POST', `${P}/users/${user}/usage`, { action, problem_id: '1000', metadata: { note: HOSTILE } });
  await api('POST', `${P}/problems`, { platform: 'console', problem_id: '1000', title: HOSTILE.replace('\u202E', ''), tags: ['math'], is_completed: true });
  await api('POST', `${P}/problems/console/1000/review`, { review_notes: long(2000) });
  await api('POST', `${P}/problems`, { platform: 'console', problem_id: '1001', title: 'Console sums', tags: ['math'], is_completed: true });
  await api('POST', `${P}/problems/console/1001/review`, { review_notes: 'the second test case is wrong' });
  await api('POST', `${P}/history`, { platform: 'console', problem_number: '1000', problem_title: HOSTILE, user_id: ids.user, user_identifier: HOSTILE, code: long(), passed_count: 1, total_count: 2, failed_count: 1, is_code_public: true });
  ids.failed = await submit('Console failed');
  await api('POST', job(ids.failed, '/fail'), { fence: await claim(ids.failed), error_message: `does not compile ${HOSTILE}` });
  await api('POST', '/v1/jobs/practice-rollup/run');
});
after(close);

test('every page of practice loads', async (t) => {
  const pages = { usage: '', jobs: '/jobs', problems: '/problems', feed: '/feed', users: '/users', plans: '/plans', changes: '/changes', user: `/users/${ids.user}`, job: `/jobs/${TYPE}/${ids.failed}` };
  for (const [name, route] of Object.entries(pages)) await checkEverywhere(t, `/practice${route}`, `practice-${name}`);
});

test('the progress of a job is followed as it comes, to its end', async () => {
  const id = await submit('Console followed');
  const page = await open();
  await visit(page, `/practice/jobs/${TYPE}/${id}`);
  await page.getByText('The job waits for a worker').waitFor();
  const fence = await claim(id);
  const report = (step, status, message) => api('POST', job(id, '/progress'), { fence, step, status, message });
  await report('parsing', 'completed', '1.2 s');
  await page.locator('.steps li', { hasText: 'parsing' }).waitFor();
  await report('testing', 'in_progress', HOSTILE);
  const testing = page.locator('.steps li', { hasText: 'testing' });
  await testing.getByText('<script>window.ran=1</script>').waitFor();
  await shot(page, 'practice-progress');
  await api('POST', job(id, '/complete'), { fence, generator_code: 'print(2)' });
  await page.getByText('ended', { exact: true }).waitFor();
  await page.locator('.facts').getByText('completed').waitFor();
  await eventually(() => page.locator('.steps li').count(), 2, 'each step is shown once');
  await shownNotRun(page, 'progress');
});

test('a failed job is retried after a question, and a waiting one is cancelled', async () => {
  const page = await open();
  await visit(page, '/practice/jobs?state=FAILED');
  const row = page.getByRole('row', { name: /Console failed/ });
  await row.getByRole('button', { name: 'Retry…' }).click();
  await page.getByRole('dialog').getByText('The same from a terminal').click();
  await page.getByText(`weir practice jobs retry ${TYPE} ${ids.failed}`).waitFor();
  await check(page, 'retry');
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
  await page.getByText('The job waits for a worker again').waitFor();
  assert.equal((await api('GET', job(ids.failed))).status, 'PENDING');
  await row.waitFor({ state: 'detached' });
  await visit(page, `/practice/jobs/${TYPE}/${ids.failed}`);
  await page.getByRole('button', { name: 'Cancel…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the job' }).click();
  await page.getByText('The job was cancelled').waitFor();
  assert.equal((await api('GET', job(ids.failed))).status, 'CANCELLED');
});

test('a problem that needs review is verified', async () => {
  const page = await open();
  await visit(page, '/practice/problems');
  const row = page.getByRole('row', { name: /Console sums/ });
  await row.getByRole('button', { name: 'Verify…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Verify' }).click();
  await page.getByText('The problem is verified').waitFor();
  await row.waitFor({ state: 'detached' });
  const problem = await api('GET', `${P}/problems/console/1001`);
  assert.deepEqual([problem.needs_review, problem.verified_by_admin], [false, true]);
});

test('a user is moved to another plan, and a plan is created', async () => {
  const page = await open();
  await visit(page, `/practice/users/${ids.user}`);
  await page.getByText('1 of 3').waitFor();
  await page.getByRole('combobox', { name: 'Plan' }).selectOption('2');
  await page.getByRole('button', { name: 'Move…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click();
  await page.getByText('The plan is Pro now').waitFor();
  assert.equal((await api('GET', `${P}/users/${ids.user}`)).plan_id, 2);
  await page.getByText('1 of 50').first().waitFor();
  await visit(page, '/practice/plans');
  await page.getByRole('button', { name: 'New plan…' }).click();
  await page.getByLabel('Name').fill('Console plan');
  await page.getByLabel(/Hints a day/).fill('7');
  await page.getByLabel(/Executions a day/).fill('');
  await check(page, 'new plan');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: /Console plan/ }).getByText('unlimited').first().waitFor();
});

test('stored text of practice is shown and never run', async () => {
  const page = await open();
  for (const route of ['/practice/problems', '/practice/feed', '/practice/users', `/practice/users/${ids.hostile}`, `/practice/users/${ids.user}`, '/practice']) {
    await visit(page, route);
    await shownNotRun(page, route);
  }
});
