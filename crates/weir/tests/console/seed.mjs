// Budgets for the tests of the console: an org with apps and spend, under an id of its own.
import { api } from './browser.mjs';
import { randomUUID } from 'node:crypto';

/** A zone in which it is about noon, so that no midnight falls into a test. */
const ZONE = ['Pacific/Auckland', 'Asia/Tokyo', 'Asia/Kolkata', 'Europe/Berlin', 'America/Sao_Paulo', 'America/Los_Angeles']
  .map((zone) => [zone, Number(new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: 'numeric', hourCycle: 'h23' }).format(new Date()))])
  .sort(([, a], [, b]) => Math.abs(a - 12) - Math.abs(b - 12))[0][0];

/** An id that no earlier run on the same server used. */
export const fresh = (name) => `${name}-${randomUUID().slice(0, 8)}`;

/** Creates an org whose first model is exceeded today, so that the chain has moved on. Costs are exact. */
export async function seedOrg(id, { name = id, quotas = { premium: 1_000_000, standard: 5_000_000, economy: 500_000 } } = {}) {
  await api('PUT', `/api/v1/orgs/${id}`, { org_name: name, timezone: ZONE, quota_scope: 'ORG', model_ordering: Object.keys(quotas), quotas });
  for (const app of ['chat', 'search']) await api('PUT', `/api/v1/orgs/${id}/apps/${app}`, { app_name: app });
  return { id, spend: (model, micros, app = 'chat') => spend(id, app, model, micros) };
}

/** The totals follow the submissions with a lag: the job that sums them runs at once. */
async function spend(org, app, model, micros) {
  await api('POST', `/api/v1/orgs/${org}/apps/${app}/costs`, {
    request_id: randomUUID(), model_label: model, model_id: 'anthropic.claude-sonnet-4-5-20250929-v1:0', input_tokens: 1000, output_tokens: 200,
    cost_usd_micros: micros, status: 'OK', timestamp: new Date().toISOString(),
  });
  await api('POST', '/v1/jobs/keeper-aggregate/run');
}
