// Fills an empty server through its public API: orgs with spend, entities with buckets, users of practice. Reviews: fill-reviews.mjs.
import { randomUUID } from 'node:crypto';
import { Client } from './client.mjs';
import { fillReviews } from './fill-reviews.mjs';
import { number } from './report.mjs';

const CONNECTIONS = 64;
const NS = '/v1/namespaces/default';
const QUOTAS = { premium: 40_000_000, standard: 25_000_000, economy: 10_000_000 };
const MODELS = Object.keys(QUOTAS);
const RESOURCES = ['gpt-4', 'claude', 'embeddings', 'search', 'export'];
const CHILDREN = 100;
/** Days of spend, today included: the sums of the last days that a late submission may reach. */
const SPEND_DAYS = 2;
const JOBS = ['keeper-aggregate', 'limiter-usage', 'limiter-maintain', 'limiter-propagate', 'reviews-rollup', 'practice-rollup'];

const padded = (at) => String(at).padStart(6, '0');

async function fillOrgs(client, count) {
  const now = Date.now();
  const call = (org, model, day) => ({
    request_id: randomUUID(), model_label: model, model_id: 'anthropic.claude-sonnet-4-5-20250929-v1:0', input_tokens: 4000, output_tokens: 900,
    // A few orgs spend all they have; most spend a part that differs from org to org.
    cost_usd_micros: Math.round(QUOTAS[model] * ((org * 37) % 100 < 4 ? 1.1 : ((org * 61) % 90) / 100) / 2),
    status: 'OK', timestamp: new Date(now - day * 86_400_000).toISOString(),
  });
  await client.each('orgs with spend', count, async (at) => {
    const org = `/api/v1/orgs/org-${padded(at)}`;
    await client.put(org, { org_name: `Org ${padded(at)}`, timezone: 'UTC', quota_scope: 'ORG', model_ordering: MODELS, quotas: QUOTAS });
    await client.put(`${org}/apps/chat`, { app_name: 'Chat' });
    const days = Array.from({ length: SPEND_DAYS }, (_, day) => day);
    const requests = days.flatMap((day) => MODELS.flatMap((model) => [call(at, model, day), call(at, model, day)]));
    await client.post(`${org}/apps/chat/costs/batch`, { requests });
  });
}

async function fillEntities(client, count) {
  const limit = (name, amount) => ({ name, capacity: amount, refill_amount: amount, refill_period_seconds: 3600 });
  const limits = [limit('rpm', 600), limit('tpm', 90_000)];
  await client.put(`${NS}/limits/system`, { limits });
  for (const resource of RESOURCES) await client.put(`${NS}/limits/resources/${resource}`, { limits });
  const teams = Math.ceil(count / CHILDREN);
  await client.each('entities: teams', teams, (at) => client.put(`${NS}/entities/team-${padded(at)}`, { name: `Team ${at}` }));
  await client.each('entities: users', count - teams, (at) => client.put(`${NS}/entities/user-${padded(at)}`, {
    name: `User ${at}`, parent: `team-${padded(Math.floor(at / (CHILDREN - 1)))}`, metadata: { plan: at % 10 ? 'free' : 'paid' },
  }));
  await client.each('acquires', count, (at) => client.post(`${NS}/acquire`, {
    entity: at < teams ? `team-${padded(at)}` : `user-${padded(at - teams)}`, resource: RESOURCES[at % RESOURCES.length], consume: { rpm: 1 + (at % 5), tpm: 100 + (at % 900) },
  }));
}

async function fillPractice(client, count) {
  const users = [];
  await client.each('practice users with actions', count, async (at) => {
    const { id } = await client.post('/v1/practice/users', { email: `user-${at}@example.com`, name: `User ${at}`, plan_id: 1 });
    users.push(id);
    for (const action of ['hint', 'execution']) await client.post(`/v1/practice/users/${id}/usage`, { action, problem_id: '1000' });
  });
  await client.each('practice problems, runs and jobs', count, async (at) => {
    const problem = { platform: 'baekjoon', problem_id: String(1000 + at), title: `Problem ${at}` };
    await client.post('/v1/practice/problems', { ...problem, tags: ['math'], is_completed: true });
    if (at % 5 === 0) await client.post(`/v1/practice/problems/baekjoon/${problem.problem_id}/review`, { review_notes: 'the second test case is wrong' });
    await client.post('/v1/practice/history', {
      platform: 'baekjoon', problem_number: problem.problem_id, problem_title: problem.title, user_id: users[at % users.length], user_identifier: `user-${at}`,
      code: 'print(sum(map(int, input().split())))', language: 'python', passed_count: at % 4, total_count: 3, failed_count: 3 - Math.min(3, at % 4), is_code_public: true,
    });
    await client.post('/v1/practice/jobs/script-generation', { ...problem, solution_code: 'print(1)' });
  });
}

/** Waits until the background jobs have summed what was written. A run that takes longer than a request may goes on without it. */
export async function settle(client) {
  const started = Date.now();
  for (;;) {
    for (const job of JOBS) await client.post(`/v1/jobs/${job}/run`).catch((error) => { if (error.status !== 408) throw error; });
    const { items } = await client.get('/v1/jobs');
    const late = items.filter((job) => job.kind === 'feed' && job.lag_ms > 0).map((job) => job.name);
    if (late.length === 0) break;
    if (Date.now() - started > 900_000) throw new Error(`jobs do not catch up: ${late.join(', ')}`);
  }
  process.stderr.write(`  background jobs caught up in ${((Date.now() - started) / 1000).toFixed(0)} s\n`);
}

export async function fill(url, { orgs, entities, reviews, users }) {
  process.stderr.write(`filling: ${number(orgs)} orgs, ${number(entities)} entities, ${number(reviews)} reviews, ${number(users)} practice users\n`);
  const client = new Client(url, CONNECTIONS);
  try {
    await fillOrgs(client, orgs);
    await fillEntities(client, entities);
    await fillReviews(client, reviews);
    await fillPractice(client, users);
  } finally {
    client.close();
  }
}
