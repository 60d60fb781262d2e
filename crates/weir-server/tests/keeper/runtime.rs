//! What programs ask: which model, and what they tell of its use.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Client, ORG, Scene, at, request_id, used, with};

#[tokio::test]
async fn the_first_model_is_recommended_while_there_is_room() {
    let (scene, client) = Scene::with_app().await;
    let reply = scene.select(&client).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("cache-control"), "private, max-age=300");
    let response: Value = reply.json();
    assert_eq!(response["recommended_model"]["label"], "premium");
    assert_eq!(response["recommended_model"]["reason"], "NORMAL");
    assert_eq!(response["quota_status"]["models_status"]["standard"]["status"], "NORMAL");
    assert_eq!(response["pricing"]["source"], "PRICE_BOOK");
    assert_eq!(response["client_guidance"]["check_frequency"], "PERIODIC_300S");
    assert_eq!(response["org_day"], "2026-01-15");
    assert_eq!(response["org_local_time"], "2026-01-15T07:00:00-05:00");
    scene
        .read(&client, "/apps/api/model-selection?force_check=maybe")
        .await
        .problem(Code::INVALID_REQUEST);
}

#[tokio::test]
async fn an_unchanged_decision_is_304() {
    let (scene, client) = Scene::with_app().await;
    let first = scene.select(&client).await;
    let etag = first.header("etag").to_owned();
    assert!(etag.starts_with("W/\""), "{etag}");
    assert_eq!(scene.submit(&client, &used(1)).await.status, 202);
    scene.run("keeper-aggregate").await;
    let path = at(ORG, "/apps/api/model-selection");
    let ask = |tag: &str, tail: &str| {
        scene
            .call(Method::GET, &format!("{path}{tail}"))
            .bearer(&client.access)
            .header("if-none-match", tag)
            .send()
    };
    // Spend is not part of the decision.
    let known = ask(&etag, "").await;
    assert_eq!((known.status, known.header("etag"), known.body.len()), (304, etag.as_str(), 0));
    assert_eq!(known.header("cache-control"), "private, max-age=300");
    assert_eq!(ask("W/\"other\"", "").await.status, 200);
    // A forced check always has a body, and no cache may store it.
    let forced = ask(&etag, "?force_check=true").await;
    assert_eq!((forced.status, forced.header("cache-control")), (200, "no-store"));
}

#[tokio::test]
async fn no_selection_is_cached_past_local_midnight() {
    let (scene, client) = Scene::with_app().await;
    // 23:58:30 in New York.
    scene.app.clock.advance_ms((16 * 3600 + 58 * 60 + 30) * 1000);
    let again: Value = scene.token(&client.id, &client.secret).await.json();
    let client = Client { access: again["access_token"].as_str().unwrap().to_owned(), ..client };
    let reply = scene.select(&client).await;
    assert_eq!(reply.header("cache-control"), "private, max-age=90", "{}", reply.text());
}

#[tokio::test]
async fn a_spent_quota_moves_the_chain_and_a_spent_chain_waits_for_midnight() {
    let (scene, client) = Scene::with_app().await;
    let cost = |number, label: &str, cost: u64| {
        with(used(number), json!({"model_label": label, "cost_usd_micros": cost}))
    };
    assert_eq!(scene.submit(&client, &cost(1, "premium", 10_000_000)).await.status, 202);
    // The totals do not show it yet; the shards do.
    let forced = scene.read(&client, "/apps/api/model-selection?force_check=true").await;
    let response: Value = forced.json();
    assert_eq!(response["recommended_model"]["label"], "standard", "{response}");
    assert_eq!(response["recommended_model"]["reason"], "QUOTA_EXCEEDED_premium");
    scene.run("keeper-aggregate").await;
    let response: Value = scene.select(&client).await.json();
    assert_eq!(response["recommended_model"]["reason"], "STICKY_FALLBACK", "{response}");
    assert_eq!(response["quota_status"]["sticky_fallback_active"], true);

    assert_eq!(scene.submit(&client, &cost(2, "standard", 5_000_000)).await.status, 202);
    scene.run("keeper-aggregate").await;
    let reply = scene.select(&client).await;
    let problem = reply.problem(weir_server::keeper::codes::QUOTA_EXCEEDED);
    // 07:00 in New York: 17 hours are left.
    assert_eq!(reply.header("retry-after"), (17 * 3600).to_string());
    assert_eq!(problem.details["retry_after"], "2026-01-16T05:00:00.000Z");
    assert_eq!(problem.details["reason"], "ALL_QUOTAS_EXCEEDED");
    assert_eq!(problem.details["quota_status"]["models_status"]["premium"]["status"], "EXCEEDED");
}

#[tokio::test]
async fn a_submission_is_recorded_once() {
    let (scene, client) = Scene::with_app().await;
    let reply = scene.submit(&client, &used(1)).await;
    assert_eq!(reply.status, 202, "{}", reply.text());
    let first: Value = reply.json();
    assert_eq!((&first["duplicate"], &first["status"]), (&json!(false), &json!("ACCEPTED")));
    assert_eq!(first["processing"]["cost_usd_micros"], 1_500_000);
    assert_eq!(first["daily_total"]["quota_usd_micros"], 10_000_000);
    let again: Value = scene.submit(&client, &used(1)).await.json();
    assert_eq!(again["duplicate"], true);
    assert_eq!(again["processing"], first["processing"]);
    // By its other name, it is the same submission.
    let path = at(ORG, "/apps/api/usage");
    let usage = scene.app.post(&path, &used(1)).bearer(&client.access).send().await;
    assert_eq!(usage.json::<Value>()["duplicate"], true);
    let other = with(used(1), json!({"output_tokens": 7}));
    scene.submit(&client, &other).await.problem(Code::ALREADY_EXISTS);
    scene.run("keeper-aggregate").await;
    let response: Value = scene.read(&client, "/apps/api/aggregates/today").await.json();
    assert_eq!(response["totals"]["requests"], 1, "{response}");
}

#[tokio::test]
async fn malformed_submissions_are_refused() {
    let (scene, client) = Scene::with_app().await;
    for (changes, code) in [
        (json!({"request_id": "1"}), Code::INVALID_REQUEST),
        (json!({"model_label": "cheap"}), weir_server::keeper::codes::INVALID_MODEL_LABEL),
        (json!({"timestamp": "2026-01-15T12:02:00Z"}), Code::INVALID_REQUEST),
        (json!({"timestamp": "2026-01-13T12:00:00Z"}), Code::INVALID_REQUEST),
        (json!({"status": "MAYBE"}), Code::INVALID_REQUEST),
        (json!({"input_tokens": -1}), Code::INVALID_REQUEST),
        (json!({"extra": 1}), Code::INVALID_REQUEST),
    ] {
        scene.submit(&client, &with(used(1), changes)).await.problem(code);
    }
}

#[tokio::test]
async fn each_submission_of_a_batch_has_its_own_result() {
    let (scene, client) = Scene::with_app().await;
    let path = at(ORG, "/apps/api/costs/batch");
    let send = |body: Value| scene.app.post(&path, &body).bearer(&client.access).send();
    let batch = json!({"requests": [
        used(1),
        used(1),
        with(used(1), json!({"output_tokens": 5})),
        with(used(2), json!({"model_label": "cheap"})),
        {"request_id": request_id(3), "what": "else"},
        with(used(4), json!({"timestamp": "soon"})),
        used(5),
        7,
    ]});
    let reply = send(batch.clone()).await;
    assert_eq!(reply.status, 207, "{}", reply.text());
    let response: Value = reply.json();
    assert_eq!((&response["accepted"], &response["failed"]), (&json!(3), &json!(5)), "{response}");
    let results = response["results"].as_array().unwrap();
    let ids: Vec<&str> = results.iter().map(|one| one["request_id"].as_str().unwrap()).collect();
    let expected = [1, 1, 1, 2, 3, 4, 5].map(request_id);
    assert_eq!(ids[..7], expected.each_ref().map(String::as_str));
    let codes: Vec<&str> = results.iter().filter_map(|one| one["error"].as_str()).collect();
    assert_eq!(
        codes,
        [
            "ALREADY_EXISTS",
            "INVALID_MODEL_LABEL",
            "INVALID_REQUEST",
            "INVALID_REQUEST",
            "INVALID_REQUEST"
        ]
    );
    assert_eq!((&results[0]["duplicate"], &results[1]["duplicate"]), (&json!(false), &json!(true)));
    let again: Value = send(batch).await.json();
    assert_eq!(again["results"][6]["duplicate"], true);
    send(json!({"requests": []})).await.problem(Code::INVALID_REQUEST);
    let many: Vec<Value> = (0..101).map(used).collect();
    send(json!({"requests": many})).await.problem(Code::INVALID_REQUEST);
    let many: Vec<Value> = (100..200).map(used).collect();
    assert_eq!(send(json!({"requests": many})).await.json::<Value>()["accepted"], 100);
}

#[tokio::test]
async fn the_submission_rate_of_an_org_counts_every_submission_of_a_batch() {
    let scene = Scene::start_with(|settings| settings.submission_rate = 10).await;
    scene.org(ORG).await;
    let client = scene.app(ORG, "api").await;
    let path = at(ORG, "/apps/api/costs/batch");
    let send = |from: u32, to: u32| {
        let requests: Vec<Value> = (from..to).map(used).collect();
        scene.app.post(&path, &json!({"requests": requests})).bearer(&client.access).send()
    };
    assert_eq!(send(0, 8).await.status, 207);
    assert_eq!(scene.submit(&client, &used(8)).await.status, 202);
    send(9, 17).await.problem(Code::RATE_LIMIT_EXCEEDED);
    scene.app.clock.advance_ms(1_000);
    assert_eq!(send(9, 17).await.status, 207);
}

#[tokio::test]
async fn the_selection_rate_applies_to_clients_and_not_to_the_operator() {
    let scene = Scene::start_with(|settings| settings.selection_rate = 2).await;
    scene.org(ORG).await;
    let client = scene.app(ORG, "api").await;
    for _ in 0..2 {
        assert_eq!(scene.select(&client).await.status, 200);
    }
    let refused = scene.select(&client).await;
    refused.problem(Code::RATE_LIMIT_EXCEEDED);
    for header in ["retry-after", "ratelimit", "ratelimit-policy", "x-ratelimit-limit"] {
        assert!(!refused.header(header).is_empty(), "{header}");
    }
    for _ in 0..5 {
        assert_eq!(scene.get(&at(ORG, "/apps/api/model-selection")).await.status, 200);
    }
}
