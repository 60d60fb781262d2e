//! Rows of a practice application in PostgreSQL, of every kind, for tests of its migration.

/// How many rows there are.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Users.
    pub users: u32,
    /// Problems.
    pub problems: u32,
    /// Test cases.
    pub test_cases: u32,
    /// Recorded runs.
    pub history: u32,
    /// Actions; some have expired, and some are of the last day.
    pub usage: u32,
}

/// Statements that fill the tables. Times end at `now`.
#[must_use]
pub fn practice_rows(size: Size, now: &str) -> String {
    let Size { users, problems, test_cases, history, usage } = size;
    format!(
        "
BEGIN;
INSERT INTO subscription_plans (id, name, description, max_hints_per_day, max_executions_per_day,
    max_problems, can_view_all_problems, can_register_problems, is_active, created_at, updated_at)
SELECT v.* FROM (SELECT timestamptz '{now}' AS base) AS b, LATERAL (VALUES
    (1, 'Free', '', 5, 50, -1, true, false, true, base - interval '752 days 0.5 seconds', base - interval '387 days'),
    (2, 'Pro', 'for teams', 50, 500, 20, true, true, true, base - interval '752 days', base - interval '387 days'),
    (7, 'Beta', 'closed', -1, -1, -1, true, true, false, base - interval '721 days', base - interval '387 days')) AS v;

INSERT INTO users (id, email, name, picture_url, google_id, subscription_plan_id, is_active,
    is_staff, created_at, updated_at)
SELECT i, 'User' || i || '@Example.com', CASE WHEN i % 10 = 0 THEN '' ELSE 'User ' || i END,
    CASE WHEN i % 3 = 0 THEN 'https://example.com/' || i || '.png' END,
    CASE WHEN i % 2 = 0 THEN 'g-' || i END,
    (ARRAY[1, 2, 7, NULL])[1 + i % 4], i % 6 <> 0, i % 9 = 0,
    base - interval '236 days' + i * interval '61.3 seconds',
    base - interval '53 days' + i * interval '61.7 seconds'
FROM generate_series(1, {users}) AS i, (SELECT timestamptz '{now}' AS base) AS b;

INSERT INTO problems (id, platform, problem_id, title, problem_url, tags, solution_code, language,
    constraints, is_completed, is_deleted, deleted_at, deleted_reason, needs_review, review_notes,
    verified_by_admin, reviewed_at, metadata, created_at, updated_at)
SELECT i, (ARRAY['baekjoon', 'codeforces'])[1 + i % 2], (1000 + i)::text, 'Problem ' || i,
    CASE WHEN i % 4 <> 0 THEN 'https://example.com/problems/' || i END,
    CASE WHEN i % 3 = 0 THEN '[\"dp\", \"그래프\"]'::jsonb ELSE '[]'::jsonb END,
    CASE WHEN i % 5 <> 0 THEN
        encode(convert_to(repeat('print(' || i || ')  # 합' || E'\\n', 1 + 40 * (i % 30)), 'UTF8'), 'base64')
    END,
    CASE WHEN i % 5 <> 0 THEN 'python' END, 'n < ' || i, i % 2 = 0, i % 7 = 0,
    CASE WHEN i % 7 = 0 THEN base - interval '83 days' END,
    CASE WHEN i % 7 = 0 THEN 'a duplicate' END, i % 4 = 0,
    CASE WHEN i % 4 = 0 THEN 'check the limits' END, i % 3 = 0,
    CASE WHEN i % 3 = 0 THEN base - interval '114 days 0.25 seconds' END,
    jsonb_build_object('difficulty', i % 5, 'ratio', i * 0.5, 'one', 1.0),
    base - interval '267 days' + i * interval '7.7 seconds', base - interval '82 days'
FROM generate_series(1, {problems}) AS i, (SELECT timestamptz '{now}' AS base) AS b;

INSERT INTO test_cases (id, problem_id, input, output, created_at)
SELECT i, 1 + i % {problems}, repeat('1 2 ' || i || E'\\n', 1 + i % 400), i::text || E'\\n',
    base - interval '266 days' + i * interval '3 seconds'
FROM generate_series(1, {test_cases}) AS i, (SELECT timestamptz '{now}' AS base) AS b;

INSERT INTO search_history (id, user_id, user_identifier, problem_id, platform, problem_number,
    problem_title, language, code, result_summary, passed_count, failed_count, total_count,
    is_code_public, test_results, hints, metadata, created_at, updated_at)
SELECT i, CASE WHEN i % 11 <> 0 THEN 1 + i % {users} END,
    CASE WHEN i % 11 <> 0 THEN 'User ' || (1 + i % {users}) ELSE 'anonymous' END,
    CASE WHEN i % 5 <> 0 THEN 1 + i % {problems} END, 'baekjoon', (1000 + i % {problems})::text,
    CASE WHEN i % 5 <> 0 THEN 'Problem' ELSE '' END, 'python', 'print(' || i || ')',
    jsonb_build_object('passed', i % 3, 'time_ms', i * 1.5), i % 3, 1, i % 3 + 1, i % 3 = 0,
    jsonb_build_array(jsonb_build_object('n', 1, 'passed', true, 'ms', i / 2.0)),
    CASE WHEN i % 4 = 0 THEN jsonb_build_array('think of ' || i, 'smaller') END,
    '{{}}', base - interval '53 days' + i * interval '17.3 seconds',
    base - interval '34 days' + i * interval '17.3 seconds'
FROM generate_series(1, {history}) AS i, (SELECT timestamptz '{now}' AS base) AS b;

INSERT INTO usage_logs (id, user_id, action, problem_id, metadata, created_at)
SELECT i, 1 + (i * 7) % {users}, (ARRAY['hint', 'execution'])[1 + i % 2],
    CASE WHEN i % 3 = 0 THEN 1 + i % {problems} END,
    CASE WHEN i % 4 = 0 THEN jsonb_build_object('language', 'python', 'n', i) ELSE '{{}}'::jsonb END,
    CASE WHEN i % 5 = 0 THEN date_trunc('day', base, 'UTC') + (i % 13) * interval '1 hour 1.001 seconds'
    ELSE base - (i % 100) * interval '1 day' END
FROM generate_series(1, {usage}) AS i, (SELECT timestamptz '{now}' AS base) AS b;

SELECT setval(pg_get_serial_sequence(t, 'id'), 1000000) FROM unnest(ARRAY['subscription_plans',
    'users', 'problems', 'test_cases', 'search_history', 'usage_logs']) AS t;
COMMIT;
ANALYZE;
"
    )
}
