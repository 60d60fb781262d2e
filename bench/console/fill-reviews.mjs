// Reviews of the last 30 days: two or three models with a few findings each, some of which they agree on.
const MODELS = ['claude-sonnet', 'gpt-5', 'gemini-pro', 'deepseek', 'llama', 'mistral'];
const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info'];
const CATEGORIES = ['security', 'correctness', 'performance', 'style', 'tests'];
const REPOS = ['shop', 'billing', 'search', 'mobile', 'infra', 'docs', 'api', 'web'];
const DAYS = 30;

const issue = (review, at) => ({
  finding_id: `f${at}`, severity: SEVERITIES[(review + at) % SEVERITIES.length], category: CATEGORIES[(review + 2 * at) % CATEGORIES.length],
  file_path: `src/module_${review % 97}.py`, line_start: 10 + 40 * at, line_end: 12 + 40 * at,
  title: `The result of step ${at} in module ${review % 97} is not checked`,
  description: 'A failure of this call is ignored, so that what follows works on data that is not there. Check the result, and return the error to the caller.',
});

/** Every model finds the first issue; each has others of its own. */
function response(review, model, models) {
  const own = [0, 1, 2 + model].slice(0, 2 + (review % 2)).map((at) => issue(review, at === 1 ? 10 + model : at));
  const isTimeout = review % 50 === 7 && model === models - 1;
  return {
    model_id: MODELS[(review + model) % MODELS.length], status: isTimeout ? 'timeout' : 'success', input_tokens: 5200 + review % 400, output_tokens: 640 + model * 90,
    latency_ms: 4000 + ((review * 131) % 9000), cost_usd: (0.004 + 0.003 * model + (review % 7) / 1000).toFixed(4), findings: isTimeout ? [] : own,
  };
}

function review(at, count, now) {
  const models = 2 + (at % 2);
  const [owner, repo, number] = ['acme', REPOS[at % REPOS.length], 1 + Math.floor(at / REPOS.length)];
  return {
    owner, repo, pr_number: number, pr_title: `Change ${at} of module ${at % 97}`, pr_url: `https://example.com/${owner}/${repo}/pull/${number}`,
    files: [`src/module_${at % 97}.py`], requested_by: `user-${at % 50}`,
    created_at: new Date(now - Math.floor(((count - at) / count) * DAYS * 86_400_000)).toISOString(),
    responses: Array.from({ length: models }, (_, model) => response(at, model, models)),
  };
}

export async function fillReviews(client, count) {
  const now = Date.now() - 60_000;
  await client.each('reviews', count, (at) => client.put(`/v1/reviews/review-${String(at).padStart(6, '0')}`, review(at, count, now)));
}
