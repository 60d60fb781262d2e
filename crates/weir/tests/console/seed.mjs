// Budgets for the tests of the console: an org with apps and spend, under an id of its own.
import { api } from './browser.mjs';
import { randomUUID } from 'node:crypto';

/** Creates an org whose first model is exceeded today, so that the chain has moved on. Costs are exact. */
export async function seedOrg(id, { name = id, quotas = { premium: 1_000_000, standard: 5_000_000, economy: 500_000 } } = {}) {
  await api('PUT', `/api/v1/orgs/${id}`, { org_name: name, timezone: 'Europe/Berlin', quota_scope: 'ORG', model_ordering: Object.keys(quotas), quotas });
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
