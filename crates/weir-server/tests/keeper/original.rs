//! Clients of the original service run unchanged: each of its requests is accepted as its clients send it, and each response has
//! every field that its clients read, with the same type.
//!
//! The lists are those of the original's own request and response models, written by hand.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::Reply;

use crate::scene::{ORG, Scene, at, request_id};

/// Fields of a response: `a.b` is inside an object, `*` is any member of one, `[]` any element of a list. A type that ends with `?` may
/// be absent or null.
type Fields = &'static [(&'static str, &'static str)];

const TOKEN: Fields = &[
    ("access_token", "text"),
    ("refresh_token", "text"),
    ("token_type", "text"),
    ("expires_in", "integer"),
    ("refresh_expires_in", "integer"),
    ("scope", "text"),
];
const REFRESHED: Fields =
    &[("access_token", "text"), ("token_type", "text"), ("expires_in", "integer")];
const ORG_CREATED: Fields = &[
    ("org_id", "text"),
    ("status", "text"),
    ("created_at", "time"),
    ("timestamp", "time"),
    ("credentials.client_id", "text"),
    ("credentials.secret_retrieval.url", "text"),
    ("credentials.secret_retrieval.token", "text"),
    ("credentials.secret_retrieval.expires_at", "time"),
    ("configuration.timezone", "text"),
    ("configuration.quota_scope", "text"),
    ("configuration.model_ordering.[]", "text"),
    ("configuration.agg_shard_count", "integer"),
];
const ORG_UPDATED: Fields = &[
    ("org_id", "text"),
    ("status", "text"),
    ("created_at", "time"),
    ("updated_at", "time"),
    ("timestamp", "time"),
    ("configuration.timezone", "text"),
    ("configuration.quota_scope", "text"),
    ("configuration.model_ordering.[]", "text"),
    ("configuration.agg_shard_count", "integer"),
];
const APP_CREATED: Fields = &[
    ("org_id", "text"),
    ("app_id", "text"),
    ("status", "text"),
    ("created_at", "time"),
    ("timestamp", "time"),
    ("credentials.client_id", "text"),
    ("credentials.secret_retrieval.url", "text"),
    ("credentials.secret_retrieval.token", "text"),
    ("credentials.secret_retrieval.expires_at", "time"),
    ("configuration.app_name", "text"),
    ("configuration.model_ordering.[]", "text"),
    ("configuration.inherited_fields.[]", "text"),
];
const APP_UPDATED: Fields = &[
    ("org_id", "text"),
    ("app_id", "text"),
    ("status", "text"),
    ("created_at", "time"),
    ("updated_at", "time"),
    ("timestamp", "time"),
    ("configuration.app_name", "text"),
    ("configuration.model_ordering.[]", "text"),
    ("configuration.inherited_fields.[]", "text"),
];
const ROTATED: Fields = &[
    ("secret_retrieval.url", "text"),
    ("secret_retrieval.token", "text"),
    ("secret_retrieval.expires_at", "time"),
    ("rotation.rotated_at", "time"),
    ("rotation.old_secret_expires_at", "time"),
    ("rotation.grace_period_hours", "integer"),
];
const SECRET: Fields = &[
    ("client_id", "text"),
    ("client_secret", "text"),
    ("retrieved_at", "time"),
    ("expires_at", "time"),
];
const SELECTION: Fields = &[
    ("org_id", "text"),
    ("app_id", "text"),
    ("app_name", "text"),
    ("recommended_model.label", "text"),
    ("recommended_model.bedrock_model_id", "text"),
    ("recommended_model.reason", "text"),
    ("recommended_model.description", "text"),
    ("quota_status.scope", "text"),
    ("quota_status.mode", "text"),
    ("quota_status.current_model", "text"),
    ("quota_status.spend_usd_micros", "integer"),
    ("quota_status.quota_usd_micros", "integer"),
    ("quota_status.quota_pct", "number"),
    ("quota_status.sticky_fallback_active", "flag"),
    ("quota_status.models_status.*.spend_usd_micros", "integer"),
    ("quota_status.models_status.*.quota_usd_micros", "integer"),
    ("quota_status.models_status.*.quota_pct", "number"),
    ("quota_status.models_status.*.status", "text"),
    ("pricing.input_price_usd_micros_per_1m", "integer"),
    ("pricing.output_price_usd_micros_per_1m", "integer"),
    ("pricing.version", "text"),
    ("pricing.source", "text"),
    ("client_guidance.check_frequency", "text"),
    ("client_guidance.cache_duration_secs", "integer"),
    ("client_guidance.explanation", "text"),
    ("checked_at", "time"),
    ("org_day", "text"),
    ("org_local_time", "time"),
];
const SUBMITTED: Fields = &[
    ("request_id", "text"),
    ("status", "text"),
    ("message", "text"),
    ("processing.shard_id", "integer"),
    ("processing.expected_aggregation_lag_secs", "integer"),
    ("processing.cost_usd_micros", "integer"),
    ("timestamp", "time"),
    ("daily_total.cost_usd_micros", "integer"),
    ("daily_total.quota_usd_micros", "integer"),
    ("daily_total.quota_pct", "number"),
    ("daily_total.mode", "text"),
];
const BATCH: Fields = &[
    ("accepted", "integer"),
    ("failed", "integer"),
    ("results.[].request_id", "text"),
    ("results.[].status", "text"),
    ("results.[].message", "text"),
    ("results.[].error", "text?"),
    ("timestamp", "time"),
];
const AGGREGATES: Fields = &[
    ("org_id", "text"),
    ("app_id", "text?"),
    ("app_name", "text?"),
    ("date", "text"),
    ("timezone", "text"),
    ("quota_scope", "text"),
    ("models.*.label", "text"),
    ("models.*.bedrock_model_id", "text"),
    ("models.*.cost_usd_micros", "integer"),
    ("models.*.quota_usd_micros", "integer"),
    ("models.*.quota_pct", "number"),
    ("models.*.quota_status", "text"),
    ("models.*.input_tokens", "integer"),
    ("models.*.output_tokens", "integer"),
    ("models.*.requests", "integer"),
    ("models.*.average_cost_per_request", "integer"),
    ("total_cost_usd_micros", "integer"),
    ("total_quota_usd_micros", "integer"),
    ("total_quota_pct", "number"),
    ("sticky_fallback_active", "flag"),
    ("current_active_model", "text?"),
    ("updated_at", "time"),
];
const PROFILE: Fields = &[
    ("profile_label", "text"),
    ("inference_profile_arn", "text"),
    ("description", "text"),
    ("created_at", "time"),
];
const ERROR: Fields = &[
    ("error", "text"),
    ("message", "text"),
    ("details", "object"),
    ("timestamp", "time"),
    ("request_id", "text"),
];

/// Checks the status and every field of a response.
fn expect(reply: &Reply, status: u16, fields: Fields) -> Value {
    assert_eq!(reply.status, status, "{}", reply.text());
    let body: Value = reply.json();
    for (path, kind) in fields {
        check(&body, path, kind, &body);
    }
    body
}

fn check(value: &Value, path: &str, kind: &str, body: &Value) {
    let Some((name, rest)) =
        path.split_once('.').or_else(|| (!path.is_empty()).then_some((path, "")))
    else {
        assert!(has_type(value, kind), "{value} is no {kind} in {body}");
        return;
    };
    match name {
        "*" => {
            let members = value.as_object().unwrap_or_else(|| panic!("{path} of {body}"));
            assert!(!members.is_empty(), "{path} of {body}");
            members.values().for_each(|member| check(member, rest, kind, body));
        }
        "[]" => {
            let elements = value.as_array().unwrap_or_else(|| panic!("{path} of {body}"));
            assert!(!elements.is_empty(), "{path} of {body}");
            elements.iter().for_each(|element| check(element, rest, kind, body));
        }
        _ => match value.get(name) {
            Some(member) => check(member, rest, kind, body),
            None => assert!(kind.ends_with('?'), "{name} is missing in {body}"),
        },
    }
}

fn has_type(value: &Value, kind: &str) -> bool {
    let is_time = |text: &str| weir_keeper::day::parse_rfc3339("time", text).is_ok();
    match kind.trim_end_matches('?') {
        _ if kind.ends_with('?') && value.is_null() => true,
        "text" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "flag" => value.is_boolean(),
        "object" => value.is_object(),
        "time" => value.as_str().is_some_and(is_time),
        other => panic!("there is no type {other}"),
    }
}

fn org_request() -> Value {
    json!({
        "org_name": "sample_corp", "timezone": "America/New_York", "quota_scope": "APP",
        "model_ordering": ["standard", "premium", "economy"],
        "quotas": {"premium": 10_000_000, "standard": 5_000_000, "economy": 2_000_000},
        "overrides": {"tight_mode_threshold_pct": 90, "agg_shard_count": 16,
            "sticky_fallback_enabled": true, "refresh_interval_secs": 120},
    })
}

fn app_request() -> Value {
    json!({
        "app_name": "Production API", "model_ordering": ["standard", "premium"],
        "quotas": {"standard": 5_000_000, "premium": 10_000_000},
        "overrides": {"tight_mode_threshold_pct": 80, "refresh_interval_secs": 60},
    })
}

/// A submission of `standard`, which the server prices.
fn usage(number: u32) -> Value {
    json!({
        "request_id": request_id(number), "model_label": "standard",
        "bedrock_model_id": "anthropic.claude-haiku-4-5-20251001-v1:0", "calling_region": "us-east-1",
        "input_tokens": 1_500, "output_tokens": 800, "status": "OK",
        "timestamp": "2026-01-15T12:00:00Z",
    })
}

/// A submission of the older form, in which the client states the cost.
fn cost(number: u32, micros: u64) -> Value {
    json!({
        "request_id": request_id(number), "model_label": "standard",
        "bedrock_model_id": "anthropic.claude-haiku-4-5-20251001-v1:0",
        "input_tokens": 1_500, "output_tokens": 800, "cost_usd_micros": micros, "status": "OK",
        "timestamp": "2026-01-15T12:00:00Z",
    })
}

#[tokio::test]
async fn provisioning_is_as_in_the_original() {
    let scene = Scene::start().await;
    let created = expect(&scene.put(&at(ORG, ""), &org_request()).await, 201, ORG_CREATED);
    assert_eq!(created["status"], "created");
    let updated = expect(&scene.put(&at(ORG, ""), &org_request()).await, 200, ORG_UPDATED);
    assert_eq!((&updated["status"], &updated["credentials"]), (&json!("updated"), &Value::Null));
    let path = at(ORG, "/apps/app-production-api");
    let created = expect(&scene.put(&path, &app_request()).await, 201, APP_CREATED);
    expect(&scene.put(&path, &app_request()).await, 200, APP_UPDATED);
    let url = created["credentials"]["secret_retrieval"]["url"].as_str().unwrap();
    let secret = expect(&scene.call(Method::GET, url).send().await, 200, SECRET);
    for path in ["/credentials/rotate", "/apps/app-production-api/credentials/rotate"] {
        let rotated = scene.post(&at(ORG, path), &json!({"grace_period_hours": 24})).await;
        expect(&rotated, 200, ROTATED);
    }
    let request = json!({"client_id": secret["client_id"], "client_secret": secret["client_secret"],
        "grant_type": "client_credentials"});
    let tokens = expect(&scene.app.post("/auth/token", &request).send().await, 200, TOKEN);
    let request = json!({"refresh_token": tokens["refresh_token"], "grant_type": "refresh_token"});
    let fresh = expect(&scene.app.post("/auth/refresh", &request).send().await, 200, REFRESHED);
    let request = json!({"token": tokens["refresh_token"], "token_type_hint": "refresh_token"});
    let access = fresh["access_token"].as_str().unwrap();
    let revoked = scene.app.post("/auth/revoke", &request).bearer(access).send().await;
    assert_eq!(revoked.status, 204, "{}", revoked.text());
    let arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/tenanta";
    let profile = json!({"profile_label": "tenant-a-premium", "inference_profile_arn": arn,
        "description": "Premium profile for Tenant A"});
    let path = at(ORG, "/apps/app-production-api/inference-profiles");
    expect(&scene.post(&path, &profile).await, 201, PROFILE);
    expect(&scene.get(&at(ORG, "/apps/none")).await, 404, ERROR);
}

#[tokio::test]
async fn runtime_is_as_in_the_original() {
    let scene = Scene::start().await;
    scene.put(&at(ORG, ""), &org_request()).await;
    let client = scene.app(ORG, "api").await;
    let post = async |path: &str, body: &Value| {
        scene.app.post(&at(ORG, path), body).bearer(&client.access).send().await
    };
    let submitted = expect(&post("/apps/api/usage", &usage(1)).await, 202, SUBMITTED);
    assert_eq!(submitted["daily_total"]["mode"], "NORMAL");
    expect(&post("/apps/api/costs", &cost(2, 16_500)).await, 202, SUBMITTED);
    let mut wrong = usage(4);
    wrong["model_label"] = json!("ultra_premium");
    for (number, path) in [(5, "/apps/api/usage/batch"), (6, "/apps/api/costs/batch")] {
        let requests = json!({"requests": [usage(number), wrong, usage(number)]});
        let batch = expect(&post(path, &requests).await, 207, BATCH);
        let of = |name: &str| {
            let results = batch["results"].as_array().unwrap().iter();
            results.map(|one| one[name].clone()).collect::<Vec<Value>>()
        };
        assert_eq!(of("status"), ["ACCEPTED", "FAILED", "ACCEPTED"]);
        assert_eq!(of("error"), [Value::Null, json!("INVALID_MODEL_LABEL"), Value::Null]);
    }
    scene.run("keeper-aggregate").await;
    for tail in ["/apps/api/aggregates/today", "/apps/api/aggregates/2026-01-15"] {
        let totals = expect(&scene.read(&client, tail).await, 200, AGGREGATES);
        assert_eq!((&totals["app_id"], &totals["app_name"]), (&json!("api"), &json!("API")));
        assert_eq!(totals["total_cost_usd_micros"], totals["totals"]["cost_usd_micros"]);
        assert_eq!(totals["total_quota_usd_micros"], 17_000_000);
        assert_eq!(totals["current_active_model"], "standard");
    }
    for tail in ["/aggregates/today", "/aggregates/2026-01-15"] {
        let totals = expect(&scene.get(&at(ORG, tail)).await, 200, AGGREGATES);
        assert_eq!((&totals["org_id"], totals.get("app_id")), (&json!(ORG), None));
    }
    expect(&scene.select(&client).await, 200, SELECTION);
    for (flag, cache) in [("true", "no-store"), ("True", "no-store"), ("1", "no-store")] {
        let path = format!("/apps/api/model-selection?force_check={flag}");
        let selected = scene.read(&client, &path).await;
        expect(&selected, 200, SELECTION);
        assert_eq!(selected.header("cache-control"), cache, "{flag}");
    }
    for flag in ["false", "False", "0"] {
        let path = format!("/apps/api/model-selection?force_check={flag}");
        let selected = scene.read(&client, &path).await;
        assert_eq!(selected.header("cache-control"), "private, max-age=120", "{flag}");
    }
    for flag in ["yes", "TRUE", "2", ""] {
        let path = format!("/apps/api/model-selection?force_check={flag}");
        let problem = scene.read(&client, &path).await.problem(Code::INVALID_REQUEST);
        assert!(problem.detail.contains("true, True, 1"), "{}", problem.detail);
    }
}

/// Position of a text in the raw body.
fn position(reply: &Reply, text: &str) -> usize {
    reply.text().find(text).unwrap_or_else(|| panic!("no {text} in {}", reply.text()))
}

#[tokio::test]
async fn models_are_in_the_order_of_the_chain_and_a_spent_chain_says_when() {
    let scene = Scene::start_with(|settings| settings.selection_rate = 2).await;
    scene.put(&at(ORG, ""), &org_request()).await;
    let client = scene.app(ORG, "api").await;
    // Neither the alphabet's order nor that of the quotas.
    let chain = ["\"standard\":{", "\"premium\":{", "\"economy\":{"];
    let selected = scene.select(&client).await;
    let places = chain.map(|label| position(&selected, label));
    assert!(places.is_sorted(), "{}", selected.text());
    for (number, label, micros) in
        [(1, "standard", 5_000_000), (2, "premium", 10_000_000), (3, "economy", 2_000_000)]
    {
        let mut body = cost(number, micros);
        body["model_label"] = json!(label);
        assert_eq!(scene.submit(&client, &body).await.status, 202);
    }
    scene.run("keeper-aggregate").await;
    let totals = scene.read(&client, "/apps/api/aggregates/today").await;
    assert!(chain.map(|label| position(&totals, label)).is_sorted(), "{}", totals.text());
    let submitted = expect(&scene.submit(&client, &cost(4, 1)).await, 202, SUBMITTED);
    assert_eq!(submitted["daily_total"]["mode"], "EXCEEDED");
    let spent = scene.select(&client).await;
    let body = expect(&spent, 429, ERROR);
    assert_eq!(
        (&body["error"], &body["retry_after"]),
        (&json!("QUOTA_EXCEEDED"), &json!("2026-01-16T05:00:00.000Z"))
    );
    assert!(chain.map(|label| position(&spent, label)).is_sorted(), "{}", spent.text());
    // The third selection of a minute: when to try again is a number of seconds.
    let limited = scene.select(&client).await;
    let body = expect(&limited, 429, ERROR);
    assert_eq!(body["error"], "RATE_LIMIT_EXCEEDED");
    assert_eq!(body["retry_after"].to_string(), limited.header("retry-after"));
}

#[tokio::test]
async fn a_put_without_overrides_keeps_them() {
    let scene = Scene::start().await;
    scene.put(&at(ORG, ""), &crate::scene::with(org_request(), json!({"unpriced": "zero"}))).await;
    scene.put(&at(ORG, "/apps/api"), &app_request()).await;
    let settings = |config: &Value| {
        ["tight_mode_threshold_pct", "refresh_interval_normal_secs", "agg_shard_count"]
            .map(|name| config[name].as_u64().unwrap())
    };
    for left_out in [json!({}), json!({"overrides": null})] {
        for (path, request, expected) in
            [("", org_request(), [90, 120, 16]), ("/apps/api", app_request(), [80, 60, 16])]
        {
            let mut request = request;
            request.as_object_mut().unwrap().remove("overrides");
            let changed =
                scene.put(&at(ORG, path), &crate::scene::with(request, left_out.clone())).await;
            assert_eq!(settings(&changed.json()), expected, "{path}");
            let got: Value = scene.get(&at(ORG, path)).await.json();
            assert_eq!((settings(&got), &got["unpriced"]), (expected, &json!("zero")), "{path}");
        }
    }
    let emptied = crate::scene::with(org_request(), json!({"overrides": {}}));
    let got: Value = scene.put(&at(ORG, ""), &emptied).await.json();
    assert_eq!(settings(&got), [95, 300, 16], "the defaults; the shards stay");
}

#[tokio::test]
async fn a_quota_outside_the_chain_opens_nothing() {
    let scene = Scene::start().await;
    let request = crate::scene::with(org_request(), json!({"model_ordering": ["economy"]}));
    assert_eq!(scene.put(&at(ORG, ""), &request).await.status, 201);
    let client = scene.app(ORG, "api").await;
    let reply = scene.submit(&client, &usage(1)).await;
    let problem = reply.problem(weir_server::keeper::codes::INVALID_MODEL_LABEL);
    assert!(problem.detail.contains("use one of economy"), "{}", problem.detail);
    let mut economy = cost(2, 1);
    economy["model_label"] = json!("economy");
    assert_eq!(scene.submit(&client, &economy).await.status, 202);
    scene.run("keeper-aggregate").await;
    let totals: Value = scene.read(&client, "/apps/api/aggregates/today").await.json();
    assert_eq!(totals["total_quota_usd_micros"], 2_000_000);
    assert_eq!(totals["models"].as_object().unwrap().len(), 1);
}

#[tokio::test]
async fn a_retry_with_a_fresh_timestamp_is_a_duplicate() {
    let scene = Scene::start().await;
    scene.put(&at(ORG, ""), &org_request()).await;
    let client = scene.app(ORG, "api").await;
    let first: Value = scene.submit(&client, &usage(1)).await.json();
    scene.app.clock.advance_ms(90_000);
    let mut again = usage(1);
    again["timestamp"] = json!("2026-01-15T12:01:30Z");
    let reply = scene.submit(&client, &again).await;
    let second = expect(&reply, 202, SUBMITTED);
    assert_eq!((&first["duplicate"], &second["duplicate"]), (&json!(false), &json!(true)));
    assert_eq!(first["processing"], second["processing"]);
}
