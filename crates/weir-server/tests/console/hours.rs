//! Spend by the hour, and a recorded day under another configuration.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::Reply;

use crate::scene::Scene;

const ORG: &str = "/api/v1/orgs/acme";

/// Four calls in three hours of the morning.
async fn scene(scope: &str) -> Scene {
    let scene = Scene::start().await;
    scene.org("acme", scope).await;
    for (number, at, cost) in [
        (1, "2026-01-15T08:05:00Z", 3_000_000),
        (2, "2026-01-15T08:55:00Z", 2_000_000),
        (3, "2026-01-15T10:00:00Z", 4_000_000),
        (4, "2026-01-15T11:59:59Z", 500_000),
    ] {
        scene.spend("acme", number, at, cost).await;
    }
    scene.aggregate().await;
    scene
}

async fn simulate(scene: &Scene, body: &Value) -> Reply {
    scene.app.post(&format!("{ORG}/simulate"), body).admin().send().await
}

#[tokio::test]
async fn hours_add_up_to_the_day() {
    for scope in ["ORG", "APP"] {
        let scene = scene(scope).await;
        for path in ["", "/apps/api"] {
            let day = scene.get(&format!("{ORG}{path}/aggregates/today/hours")).await;
            assert_eq!(day["is_recorded"], true, "{scope} {path}: {day}");
            let hours = day["hours"].as_array().unwrap();
            // It is noon, and the hour that begins now has begun.
            assert_eq!(hours.len(), 13, "{scope} {path}");
            let spent = |hour: usize| hours[hour]["spent_usd_micros"].as_u64().unwrap();
            assert_eq!(
                (spent(8), spent(9), spent(10), spent(11)),
                (5_000_000, 0, 4_000_000, 500_000)
            );
            assert_eq!(hours[8]["start"], "2026-01-15T08:00:00.000Z");
            assert_eq!(hours[8]["models"], json!({"premium": 5_000_000}));
            let sum: u64 = (0..13).map(spent).sum();
            assert_eq!(sum, 9_500_000);
        }
        let empty = scene.get(&format!("{ORG}/aggregates/2026-01-14/hours")).await;
        assert_eq!(empty["hours"].as_array().unwrap().len(), 24);
        let future = format!("{ORG}/aggregates/2026-01-16/hours");
        let problem = scene.app.get(&future).admin().send().await.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], "date");
    }
}

#[tokio::test]
async fn a_day_has_as_many_hours_as_its_zone() {
    let scene = Scene::start().await;
    let org = json!({
        "org_name": "Acme", "timezone": "Europe/Berlin", "quota_scope": "ORG",
        "model_ordering": ["premium"], "quotas": {"premium": 1_000_000},
    });
    scene.admin(Method::PUT, ORG, &org).await;
    scene.admin(Method::PUT, &format!("{ORG}/apps/api"), &json!({"app_name": "API"})).await;
    // To the evening of the day on which clocks go forward, and then of the one on which they go back.
    for (to_ms, date, hours, at, hour) in [
        (1_774_821_600_000, "2026-03-29", 23, "2026-03-29T21:59:59Z", 22),
        (1_792_972_800_000, "2026-10-25", 25, "2026-10-25T22:59:59Z", 24),
    ] {
        let now_ms = scene.app.clock.now_ms();
        scene.app.clock.advance_ms(to_ms + 3_600_000 - now_ms);
        scene.spend("acme", hour, at, 7).await;
        let day = scene.get(&format!("{ORG}/aggregates/{date}/hours")).await;
        let all = day["hours"].as_array().unwrap();
        assert_eq!(all.len(), hours, "{date}: {day}");
        assert_eq!(all[hours - 1]["spent_usd_micros"], 7, "{date}: {day}");
        assert_eq!(day["is_recorded"], true);
    }
}

#[tokio::test]
async fn the_same_configuration_replays_to_the_same_requests() {
    let scene = scene("ORG").await;
    let replayed = simulate(&scene, &json!({"date": "today"})).await;
    assert_eq!(replayed.status, 200, "{}", replayed.text());
    let day: Value = replayed.json();
    assert_eq!((&day["requests"], &day["requests_per_step"]), (&json!(4), &json!(1)));
    assert_eq!(day["recorded"]["cost_usd_micros"], 9_500_000);
    let last = day["recorded"]["series"].as_array().unwrap().last().unwrap();
    assert_eq!(last["spend_usd_micros"], json!({"premium": 9_500_000}));
    let simulated = &day["simulated"][0];
    assert_eq!((&simulated["served"], &simulated["refused"]), (&json!(4), &json!(0)));
    // At the price of the label, 1000 tokens in and 100 out.
    let premium = &simulated["models"][0];
    assert_eq!((&premium["label"], &premium["requests"]), (&json!("premium"), &json!(4)));
    assert_eq!(premium["cost_usd_micros"].as_u64().unwrap() % 4, 0);
}

#[tokio::test]
async fn a_lower_quota_falls_back_and_nothing_is_written() {
    let scene = scene("ORG").await;
    let before = scene.get(ORG).await;
    let change = json!({"date": "2026-01-15", "quotas": {"premium": 1, "standard": 1}});
    let day: Value = simulate(&scene, &change).await.json();
    let simulated = &day["simulated"][0];
    let events = simulated["events"].as_array().unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"FALLBACK") && kinds.contains(&"EXCEEDED"), "{kinds:?}");
    assert!(simulated["models"][1]["requests"].as_u64().unwrap() > 0, "{simulated}");
    assert_eq!(scene.get(ORG).await, before);
    let order =
        json!({"date": "today", "model_ordering": ["standard"], "quotas": {"standard": 1_000_000}});
    let day: Value = simulate(&scene, &order).await.json();
    let models = day["simulated"][0]["models"].as_array().unwrap();
    assert_eq!((models.len(), &models[0]["label"]), (1, &json!("standard")));
}

#[tokio::test]
async fn apps_with_quotas_of_their_own_are_simulated_apart() {
    let scene = scene("APP").await;
    let day: Value = simulate(&scene, &json!({"date": "today"})).await.json();
    assert_eq!(day["simulated"].as_array().unwrap().len(), 1);
    assert_eq!(day["simulated"][0]["app_id"], "api");
    assert_eq!(day["simulated"][0]["served"], 4);
}

#[tokio::test]
async fn a_wrong_simulation_names_its_field() {
    let scene = scene("ORG").await;
    for (body, code, field) in [
        (json!({"date": "today", "quotas": {"none": 1}}), "INVALID_REQUEST", "quotas"),
        (json!({"date": "soon"}), "INVALID_REQUEST", "date"),
        (
            json!({"date": "today", "model_ordering": ["none"]}),
            "INVALID_MODEL_LABEL",
            "model_ordering",
        ),
        (json!({"date": "today", "quotas": {"premium": -1}}), "INVALID_CONFIG", "quotas"),
        (
            json!({"date": "today", "tight_mode_threshold_pct": 7}),
            "INVALID_CONFIG",
            "tight_mode_threshold_pct",
        ),
        (json!({"date": "today", "more": 1}), "INVALID_REQUEST", "more"),
        (json!({}), "INVALID_REQUEST", "date"),
    ] {
        let refused = simulate(&scene, &body).await;
        let problem = refused.any_problem();
        assert_eq!(
            (refused.status, problem.error.as_str()),
            (400, code),
            "{body}: {}",
            refused.text()
        );
        let found = problem.details["field"].as_str().unwrap();
        assert!(found.contains(field), "{body}: {found}");
    }
    let quiet = simulate(&scene, &json!({"date": "2026-01-13"})).await;
    quiet.problem(Code::NOT_FOUND);
}
