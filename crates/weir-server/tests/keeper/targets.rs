//! Webhooks, manual fallbacks, and inference profiles.

use axum::http::{Method, StatusCode};
use ring::hmac;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::receiver::{Notice, Receiver};
use crate::scene::{ORG, OTHER, Scene, at, text, used, with};

/// Checks a notice as its receiver does.
pub(crate) fn verified(notice: &Notice, secret: &str) -> Value {
    let signature = notice.headers["weir-signature"].to_str().unwrap();
    let (time, mac) = signature.split_once(',').unwrap();
    let (time, mac) = (time.strip_prefix("t=").unwrap(), mac.strip_prefix("v1=").unwrap());
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let expected = hmac::sign(&key, format!("{time}.{}", notice.body).as_bytes());
    let hex: String = expected.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(mac, hex);
    serde_json::from_str(&notice.body).unwrap()
}

#[tokio::test]
async fn a_webhook_gets_each_threshold_and_fallback_once_and_signed() {
    let (scene, client) = Scene::with_app().await;
    let receiver = Receiver::start().await;
    let path = at(ORG, "/webhooks/ops");
    let made = scene.put(&path, &json!({"url": receiver.url()})).await;
    assert_eq!((made.status, made.header("cache-control")), (201, "no-store"), "{}", made.text());
    let secret = text(&made.json(), "secret");
    let cost = |number, cost: u64| with(used(number), json!({"cost_usd_micros": cost}));
    assert_eq!(scene.submit(&client, &cost(1, 8_500_000)).await.status, 202);
    scene.run("keeper-aggregate").await;
    scene.run("keeper-notices").await;
    let notices: Vec<Value> =
        receiver.take().iter().map(|notice| verified(notice, &secret)).collect();
    let thresholds: Vec<u64> =
        notices.iter().filter_map(|one| one["threshold_pct"].as_u64()).collect();
    assert_eq!(thresholds, [50, 80]);
    assert_eq!(
        (&notices[0]["org_id"], &notices[0]["model_label"]),
        (&json!(ORG), &json!("premium"))
    );

    assert_eq!(scene.submit(&client, &cost(2, 1_500_000)).await.status, 202);
    for _ in 0..2 {
        scene.run("keeper-aggregate").await;
        scene.run("keeper-catch-up").await;
        scene.run("keeper-notices").await;
    }
    let notices: Vec<Value> =
        receiver.take().iter().map(|notice| verified(notice, &secret)).collect();
    let kinds: Vec<String> = notices
        .iter()
        .map(|one| format!("{} {} {}", one["sequence"], text(one, "type"), one["threshold_pct"]))
        .collect();
    assert_eq!(kinds, ["3 model.fallback null", "4 quota.threshold 95", "5 quota.threshold 100"]);
}

#[tokio::test]
async fn a_failed_notice_is_sent_again_and_redirects_are_not_followed() {
    let (scene, client) = Scene::with_app().await;
    let receiver = Receiver::start().await;
    receiver.answer(StatusCode::FOUND);
    let hook = json!({"url": receiver.url(), "thresholds_pct": [50], "flips": false});
    assert_eq!(scene.put(&at(ORG, "/webhooks/ops"), &hook).await.status, 201);
    let cost = with(used(1), json!({"cost_usd_micros": 9_000_000}));
    assert_eq!(scene.submit(&client, &cost).await.status, 202);
    scene.run("keeper-aggregate").await;
    scene.run("keeper-notices").await;
    let first = receiver.take();
    assert_eq!(first.len(), 1, "{first:?}");
    scene.run("keeper-notices").await;
    assert_eq!(receiver.take().len(), 0, "it came again at once");
    receiver.answer(StatusCode::NO_CONTENT);
    scene.app.clock.advance_ms(15_000);
    scene.run("keeper-notices").await;
    let second = receiver.take();
    assert_eq!(second.len(), 1, "{second:?}");
    assert_eq!(first[0].headers["weir-notice-id"], second[0].headers["weir-notice-id"]);
    assert_eq!(second[0].headers["weir-notice-attempt"], "2");
    scene.app.clock.advance_ms(3_600_000);
    scene.run("keeper-notices").await;
    assert_eq!(receiver.take().len(), 0);
    let metrics = scene.get("/metrics").await.text();
    for result in ["delivered", "failed"] {
        let labels = format!("{{org=\"{ORG}\",result=\"{result}\"}}");
        let line = format!("weir_keeper_webhook_deliveries_total{labels} 1\n");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
}

#[tokio::test]
async fn webhooks_are_created_changed_read_and_removed() {
    let (scene, client) = Scene::with_app().await;
    let path = at(ORG, "/webhooks/ops");
    let put = async |body: Value| scene.put(&path, &body).await;
    let hook = json!({"url": "https://ops.example.com/weir"});
    scene.put(&at(OTHER, "/webhooks/ops"), &hook).await.problem(Code::NOT_FOUND);
    let made: Value = put(hook.clone()).await.json();
    assert_eq!(made["thresholds_pct"], json!([50, 80, 95, 100]));
    let changed = put(hook.clone()).await;
    assert_eq!((changed.status, &changed.json::<Value>()["secret"]), (200, &Value::Null));
    let rotated: Value = put(with(hook, json!({"rotate_secret": true}))).await.json();
    assert_ne!(text(&rotated, "secret"), text(&made, "secret"));
    let got = scene.get(&path).await;
    assert!(got.status == 200 && !got.text().contains("whsec"), "{}", got.text());
    let list: Value = scene.get(&at(ORG, "/webhooks")).await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    for wrong in
        [json!({"url": "ftp://h"}), json!({}), json!({"url": "https://h", "thresholds_pct": [60]})]
    {
        put(wrong).await.problem(Code::INVALID_REQUEST);
    }
    for inside in ["http://10.0.0.1/", "http://[::1]/", "http://169.254.169.254/latest"] {
        let problem = put(json!({"url": inside})).await.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], "url", "{problem:?}");
    }
    let call = scene.call(Method::GET, &path).bearer(&client.access);
    call.send().await.problem(Code::FORBIDDEN);
    assert_eq!(scene.delete(&path).await.status, 204);
    scene.delete(&path).await.problem(Code::NOT_FOUND);
    scene.get(&path).await.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn the_operator_moves_a_chain_and_resets_it() {
    let (scene, client) = Scene::with_app().await;
    let path = at(ORG, "/sticky");
    let moved = scene.put(&path, &json!({"model_label": "standard"})).await;
    assert_eq!(moved.status, 200, "{}", moved.text());
    assert_eq!(moved.json::<Value>()["reason"], "MANUAL_OVERRIDE");
    let response: Value = scene.select(&client).await.json();
    assert_eq!(response["recommended_model"]["label"], "standard", "{response}");
    assert_eq!(scene.delete(&path).await.status, 204);
    assert_eq!(scene.delete(&path).await.status, 204);
    let response: Value = scene.select(&client).await.json();
    assert_eq!(response["recommended_model"]["label"], "premium");
    scene
        .put(&path, &json!({"model_label": "economy"}))
        .await
        .problem(weir_server::keeper::codes::INVALID_MODEL_LABEL);
    scene.put(&path, &json!({"model_label": "a#b"})).await.any_problem();
    // The quotas are the org's, so an app has no chain of its own.
    let app = at(ORG, "/apps/api/sticky");
    let refused = scene.put(&app, &json!({"model_label": "standard"})).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
}

#[tokio::test]
async fn an_app_registers_inference_profiles_for_its_chain() {
    let (scene, client) = Scene::with_app().await;
    let path = at(ORG, "/apps/api/inference-profiles");
    let post = |body: Value| scene.app.post(&path, &body).bearer(&client.access).send();
    let arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3";
    let profile =
        json!({"profile_label": "ours", "inference_profile_arn": arn, "description": "x"});
    let made = post(profile.clone()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.json::<Value>()["type"], "profile");
    assert_eq!(post(profile).await.status, 200);
    let list: Value = scene.read(&client, "/apps/api/inference-profiles").await.json();
    assert_eq!(list["items"][0]["profile_label"], "ours");
    for wrong in [
        json!({"profile_label": "premium", "inference_profile_arn": arn}),
        json!({"profile_label": "other", "inference_profile_arn": "x"}),
    ] {
        post(wrong).await.problem(weir_server::keeper::codes::INVALID_CONFIG);
    }
    let under = |changes: Value| {
        let body = json!({"model_label": "ours", "bedrock_model_id": arn, "cost_usd_micros": 5});
        with(with(used(1), body), changes)
    };
    // A profile counts against a quota, so it must be in the chain of the app.
    let region = json!({"calling_region": "us-east-1"});
    let refused = scene.submit(&client, &under(region)).await;
    refused.problem(weir_server::keeper::codes::INVALID_MODEL_LABEL);
}
