//! Usage and spend by the day.

use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Client, ORG, Scene, used, with};

async fn spent() -> (Scene, Client) {
    let (scene, client) = Scene::with_app().await;
    for number in 0..3 {
        assert_eq!(scene.submit(&client, &used(number)).await.status, 202);
    }
    scene.run("keeper-aggregate").await;
    (scene, client)
}

#[tokio::test]
async fn a_day_has_totals_of_the_org_and_of_each_app() {
    let (scene, client) = spent().await;
    scene.app.clock.advance_ms(7_000);
    let reply = scene.read(&client, "/apps/api/aggregates/today").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let totals: Value = reply.json();
    assert_eq!(
        (&totals["date"], &totals["timezone"]),
        (&json!("2026-01-15"), &json!("America/New_York"))
    );
    let premium = &totals["models"]["premium"];
    assert_eq!((&premium["requests"], &premium["cost_usd_micros"]), (&json!(3), &json!(4_500_000)));
    assert_eq!(premium["average_cost_per_request"], 1_500_000);
    assert_eq!(premium["bedrock_model_id"], "anthropic.claude-sonnet-4-5-20250929-v1:0");
    assert_eq!(totals["updated_at"], "2026-01-15T12:00:00Z");
    let org: Value = scene.get(&format!("/api/v1/orgs/{ORG}/aggregates/2026-01-15")).await.json();
    assert_eq!(org["models"]["premium"]["quota_pct"], 45.0, "{org}");
    assert_eq!(org["totals"]["output_tokens"], 300_000);
}

#[tokio::test]
async fn the_lag_of_totals_grows_only_while_they_lack_submissions() {
    let (scene, client) = spent().await;
    let lag = async || {
        let day = scene.read(&client, "/apps/api/aggregates/today").await;
        let of_org = scene.get(&format!("/api/v1/orgs/{ORG}/aggregates/today")).await;
        let series = "/apps/api/aggregates?from=2026-01-14&to=2026-01-15";
        let series = scene.read(&client, series).await;
        [day, of_org, series].map(|reply| reply.header("x-data-lag-secs").to_owned())
    };
    scene.app.clock.advance_ms(600_000);
    assert_eq!(lag().await, ["0", "0", "0"], "nothing happened");
    assert_eq!(scene.submit(&client, &used(7)).await.status, 202);
    scene.app.clock.advance_ms(7_000);
    assert_eq!(lag().await, ["7", "7", "7"]);
    scene.run("keeper-aggregate").await;
    scene.app.clock.advance_ms(600_000);
    assert_eq!(lag().await, ["0", "0", "0"]);
}

#[tokio::test]
async fn a_past_day_keeps_its_quota() {
    let (scene, client) = spent().await;
    scene.app.clock.advance_ms(24 * 3_600_000);
    let quotas = json!({"premium": 5_000_000, "standard": 5_000_000});
    let halved = with(crate::scene::new_org(), json!({"quotas": quotas}));
    assert_eq!(scene.put(&format!("/api/v1/orgs/{ORG}"), &halved).await.status, 200);
    let path = format!("/api/v1/orgs/{ORG}/aggregates/2026-01-15");
    let day: Value = scene.get(&path).await.json();
    assert_eq!(day["models"]["premium"]["quota_pct"], 45.0, "{day}");
    assert_eq!(day["config_basis"], "recorded");
    drop(client);
}

#[tokio::test]
async fn days_without_data_and_future_days_are_refused() {
    let (scene, client) = spent().await;
    for (day, code) in [
        ("2026-01-14", Code::NOT_FOUND),
        ("2026-01-16", Code::INVALID_REQUEST),
        ("tomorrow", Code::INVALID_REQUEST),
        ("2026-02-30", Code::INVALID_REQUEST),
    ] {
        scene.read(&client, &format!("/apps/api/aggregates/{day}")).await.problem(code);
    }
}

#[tokio::test]
async fn a_series_has_every_day_up_to_ninety_two() {
    let (scene, client) = spent().await;
    let late = with(used(9), json!({"timestamp": "2026-01-14T20:00:00Z"}));
    assert_eq!(scene.submit(&client, &late).await.status, 202);
    scene.run("keeper-aggregate").await;
    let series = |from: &str, to: &str| format!("/apps/api/aggregates?from={from}&to={to}");
    let reply = scene.read(&client, &series("2026-01-12", "2026-01-16")).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-data-lag-secs"), "0");
    let totals: Value = reply.json();
    let days = totals["items"].as_array().unwrap();
    let requests: Vec<(&str, u64)> = days
        .iter()
        .map(|day| (day["date"].as_str().unwrap(), day["totals"]["requests"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        requests,
        [("2026-01-12", 0), ("2026-01-13", 0), ("2026-01-14", 1), ("2026-01-15", 3)]
    );
    assert_eq!(scene.read(&client, &series("2025-10-16", "2026-01-15")).await.status, 200);
    for (from, to) in
        [("2025-10-15", "2026-01-15"), ("2026-01-16", "2026-01-15"), ("x", "2026-01-15")]
    {
        scene.read(&client, &series(from, to)).await.problem(Code::INVALID_REQUEST);
    }
    scene
        .read(&client, "/apps/api/aggregates?from=2026-01-01")
        .await
        .problem(Code::INVALID_REQUEST);
}

#[tokio::test]
async fn the_rate_of_totals_applies_to_a_client() {
    let scene = Scene::start_with(|settings| settings.aggregates_rate = 1).await;
    let client = scene.org(ORG).await;
    scene.read(&client, "/aggregates/today").await.problem(Code::NOT_FOUND);
    scene.read(&client, "/aggregates/today").await.problem(Code::RATE_LIMIT_EXCEEDED);
}
