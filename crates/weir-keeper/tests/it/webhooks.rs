//! Notices are queued once, numbered, signed, and delivered with retries.

use std::collections::BTreeSet;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value as Json;
use weir_keeper::Error;
use weir_keeper::aggregate::DirtySet;
use weir_keeper::ids::WebhookId;
use weir_keeper::webhooks::{Delivery, DeliveryAttempt, DeliveryOutcome, PutWebhook};
use weir_testkit::watched::Strike;

use crate::scene::Scene;
use crate::spending::{QUOTA, Spender, dirty, label, now_ms, spend, spender, stated};

scenes! {
    each_threshold_is_notified_once_a_day,
    concurrent_monitors_notify_once,
    fallbacks_and_overrides_are_notified,
    a_lost_response_is_not_notified_twice,
    a_delivery_is_signed_with_the_returned_secret,
    only_one_sender_claims_a_delivery,
    failed_deliveries_back_off_and_end,
    all_quotas_exceeded_is_notified_once_a_day_and_scope,
    webhooks_are_set_changed_and_removed,
    one_of_several_concurrent_puts_creates_the_webhook,
}

pub(crate) fn id(text: &str) -> WebhookId {
    WebhookId::new(text).unwrap()
}

pub(crate) fn to(url: &str) -> PutWebhook {
    PutWebhook { url: url.into(), ..PutWebhook::default() }
}

/// An org with a webhook.
pub(crate) async fn with_webhook(scene: &Scene, wanted: PutWebhook) -> Spender {
    let who = spender(scene, "APP").await;
    scene.keeper.put_webhook(&who.org, &id("ops"), &wanted, "test").await.unwrap();
    who
}

pub(crate) fn accepted() -> DeliveryAttempt {
    DeliveryAttempt { http_status: Some(204), error: None }
}

pub(crate) fn refused() -> DeliveryAttempt {
    DeliveryAttempt { http_status: Some(500), error: Some("the response was 500".into()) }
}

/// Claims what is due now.
pub(crate) async fn claim_due(scene: &Scene) -> Vec<Delivery> {
    let mut all = Vec::new();
    loop {
        let due = scene.keeper.claim_deliveries(7).await.unwrap();
        all.extend(due.deliveries);
        if !due.more {
            return all;
        }
    }
}

/// Delivers everything that is due, in order.
pub(crate) async fn deliver_due(scene: &Scene) -> Vec<Delivery> {
    let mut all = Vec::new();
    loop {
        let due = claim_due(scene).await;
        if due.is_empty() {
            return all;
        }
        for delivery in due {
            let next = scene.keeper.record_delivery(&delivery, &accepted()).await.unwrap();
            assert_eq!(next, DeliveryOutcome::Delivered);
            all.push(delivery);
        }
    }
}

pub(crate) fn body(delivery: &Delivery) -> Json {
    serde_json::from_str(&delivery.body).unwrap()
}

/// A short form of each delivery: model and threshold, or the fallback.
pub(crate) fn summaries(deliveries: &[Delivery]) -> Vec<String> {
    let summary = |delivery: &Delivery| {
        let body = body(delivery);
        match body["type"].as_str().unwrap() {
            "quota.threshold" => format!("{} {}", body["model_label"], body["threshold_pct"]),
            "quota.all_exceeded" => format!("all {}", body["app_id"]),
            _ => format!("{} after {}", body["model_label"], body["previous_model_label"]),
        }
        .replace('"', "")
    };
    deliveries.iter().map(summary).collect()
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

async fn each_threshold_is_notified_once_a_day(scene: &Scene) {
    let who = with_webhook(scene, PutWebhook { flips: Some(false), ..to("https://h/x") }).await;
    spend(scene, &who, "premium", QUOTA / 2 - 1).await;
    assert_eq!(summaries(&deliver_due(scene).await), Vec::<String>::new());
    spend(scene, &who, "premium", 1).await;
    assert_eq!(summaries(&deliver_due(scene).await), ["premium 50"]);
    spend(scene, &who, "premium", QUOTA * 3 / 10).await;
    assert_eq!(summaries(&deliver_due(scene).await), ["premium 80"]);
    spend(scene, &who, "premium", QUOTA).await;
    assert_eq!(summaries(&deliver_due(scene).await), ["premium 95", "premium 100"]);
    spend(scene, &who, "premium", QUOTA).await;
    assert_eq!(summaries(&deliver_due(scene).await), Vec::<String>::new());
    // A process with an empty cache finds the markers.
    let another = scene.another().await;
    another.aggregate(&dirty(&another, &who).await).await.unwrap();
    assert_eq!(summaries(&deliver_due(scene).await), Vec::<String>::new());
    scene.clock.advance_ms(86_400_000);
    spend(scene, &who, "premium", QUOTA / 2).await;
    assert_eq!(summaries(&deliver_due(scene).await), ["premium 50"], "it is another day");
}

async fn concurrent_monitors_notify_once(scene: &Scene) {
    let who = with_webhook(scene, to("https://h/x")).await;
    scene.keeper.submit(&who.org, &who.app, &stated(scene, "premium", QUOTA)).await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..6 {
        let keeper = scene.another().await;
        let marked = dirty(&keeper, &who).await;
        tasks.push(tokio::spawn(async move { keeper.aggregate(&marked).await.unwrap() }));
    }
    let (mut notifications, mut fallbacks) = (0, 0);
    for task in tasks {
        let report = task.await.unwrap();
        notifications += report.notifications;
        fallbacks += report.fallbacks;
    }
    assert_eq!((notifications, fallbacks), (4, 1));
    let expected =
        ["premium 100", "premium 50", "premium 80", "premium 95", "standard after premium"];
    assert_eq!(sorted(summaries(&deliver_due(scene).await)), expected);
}

async fn fallbacks_and_overrides_are_notified(scene: &Scene) {
    let who =
        with_webhook(scene, PutWebhook { thresholds_pct: Some(vec![]), ..to("https://h/x") }).await;
    let second = PutWebhook { thresholds_pct: Some(vec![100]), ..to("https://h/y") };
    scene.keeper.put_webhook(&who.org, &id("dev"), &second, "test").await.unwrap();
    spend(scene, &who, "premium", QUOTA).await;
    let deliveries = deliver_due(scene).await;
    let moved = "standard after premium";
    assert_eq!(sorted(summaries(&deliveries)), ["premium 100", moved, moved]);
    let urls: BTreeSet<&str> = deliveries.iter().map(|delivery| delivery.url.as_str()).collect();
    assert_eq!(urls, BTreeSet::from(["https://h/x", "https://h/y"]));
    scene.keeper.override_sticky(&who.one(), &label("economy"), "ann").await.unwrap();
    let deliveries = deliver_due(scene).await;
    assert_eq!(summaries(&deliveries), vec!["economy after standard"; 2]);
    assert!(deliveries[0].body.contains("MANUAL_OVERRIDE"));
    assert_eq!(deliveries[0].body, deliveries[1].body, "one notice, to two webhooks");
}

async fn a_lost_response_is_not_notified_twice(scene: &Scene) {
    for strike in [Strike::Before, Strike::After] {
        for skip in 0.. {
            let who = with_webhook(scene, to("https://h/x")).await;
            let submission = stated(scene, "premium", QUOTA);
            scene.keeper.submit(&who.org, &who.app, &submission).await.unwrap();
            let keeper = scene.another().await;
            let today = keeper.today(&who.one()).await.unwrap();
            let mut marked = DirtySet::default();
            marked.mark(who.one(), label("premium"), today, keeper.now_ms());
            scene.watch.fail_once(skip, strike);
            let first = keeper.aggregate(&marked).await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            assert_eq!(first.is_err(), struck);
            keeper.aggregate(&marked).await.unwrap();
            let sequences: Vec<u64> =
                deliver_due(scene).await.iter().map(|delivery| delivery.sequence).collect();
            assert_eq!(sequences, [1, 2, 3, 4, 5], "{skip} {strike:?}");
            if !struck {
                break;
            }
        }
    }
}

async fn a_delivery_is_signed_with_the_returned_secret(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let wanted = PutWebhook { thresholds_pct: Some(vec![50]), ..to("https://h/x") };
    let put = scene.keeper.put_webhook(&who.org, &id("ops"), &wanted, "test").await.unwrap();
    let secret = put.secret.unwrap();
    assert!(!format!("{secret:?}").contains(secret.reveal()));
    spend(scene, &who, "premium", QUOTA / 2).await;
    let delivery = claim_due(scene).await.pop().unwrap();
    let (at, hex) = delivery.signature.split_once(",v1=").unwrap();
    let at = at.strip_prefix("t=").unwrap();
    assert_eq!(at.parse::<i64>().unwrap(), now_ms(scene) / 1000);
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.reveal().as_bytes()).unwrap();
    mac.update(format!("{at}.{}", delivery.body).as_bytes());
    let expected: String =
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, expected);
    // The secret is not stored.
    let scan = weir_table::Query::scan(scene.keeper.tables().config.clone());
    let page = scene.store.query(&scan).await.unwrap();
    assert!(page.items.iter().all(|item| !format!("{item:?}").contains(secret.reveal())));
}

async fn only_one_sender_claims_a_delivery(scene: &Scene) {
    let who = with_webhook(scene, to("https://h/x")).await;
    scene.keeper.put_webhook(&who.org, &id("dev"), &to("https://h/y"), "test").await.unwrap();
    spend(scene, &who, "premium", QUOTA).await;
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let keeper = scene.another().await;
        tasks.push(tokio::spawn(async move { keeper.claim_deliveries(100).await.unwrap() }));
    }
    let mut claimed = Vec::new();
    for task in tasks {
        claimed.extend(task.await.unwrap().deliveries);
    }
    // Two senders may conflict so that neither gets it; it is due again.
    claimed.extend(claim_due(scene).await);
    let mut webhooks: Vec<&str> = claimed.iter().map(|one| one.webhook.as_str()).collect();
    webhooks.sort_unstable();
    assert_eq!(webhooks, ["dev", "ops"], "one sender for each webhook");
    assert!(claimed.iter().all(|one| one.sequence == 1));
}

async fn failed_deliveries_back_off_and_end(scene: &Scene) {
    let who =
        with_webhook(scene, PutWebhook { thresholds_pct: Some(vec![50]), ..to("https://h/x") })
            .await;
    spend(scene, &who, "premium", QUOTA / 2).await;
    let mut waited = Vec::new();
    for attempt in 1..=10 {
        let delivery = claim_due(scene).await.pop().unwrap();
        assert_eq!(delivery.attempt, attempt);
        assert!(claim_due(scene).await.is_empty(), "it is claimed");
        let next = scene.keeper.record_delivery(&delivery, &refused()).await.unwrap();
        let DeliveryOutcome::Retry(at_ms) = next else { break };
        waited.push((at_ms - now_ms(scene)) / 1000);
        scene.clock.advance_ms(u64::try_from(at_ms - now_ms(scene) - 1).unwrap());
        assert!(claim_due(scene).await.is_empty(), "it is not due yet");
        scene.clock.advance_ms(1);
    }
    assert_eq!(waited, [10, 30, 90, 270, 810, 2_430, 7_290, 21_600, 21_600]);
    scene.clock.advance_ms(2 * 86_400_000);
    assert!(claim_due(scene).await.is_empty());
    assert_eq!(scene.keeper.metrics().notifications_abandoned, 1);

    spend(scene, &who, "premium", QUOTA / 2).await;
    assert_eq!(deliver_due(scene).await.len(), 1);
    scene.clock.advance_ms(3_600_000);
    assert!(claim_due(scene).await.is_empty());
}

async fn all_quotas_exceeded_is_notified_once_a_day_and_scope(scene: &Scene) {
    let only = PutWebhook { thresholds_pct: Some(vec![]), flips: Some(false), ..to("https://h") };
    let who = with_webhook(scene, only.clone()).await;
    let without = PutWebhook { all_exceeded: Some(false), ..only };
    scene.keeper.put_webhook(&who.org, &id("dev"), &without, "test").await.unwrap();
    for model in ["premium", "standard"] {
        spend(scene, &who, model, QUOTA).await;
    }
    assert!(deliver_due(scene).await.is_empty(), "a model is open");
    spend(scene, &who, "economy", QUOTA).await;
    let deliveries = deliver_due(scene).await;
    assert_eq!(summaries(&deliveries), ["all chat"]);
    let notice = body(&deliveries[0]);
    let labels: Vec<&Json> =
        notice["models"].as_array().unwrap().iter().map(|model| &model["model_label"]).collect();
    assert_eq!(labels, ["premium", "standard", "economy"]);
    assert_eq!(notice["until"], "2037-01-24T05:00:00Z");
    spend(scene, &who, "economy", QUOTA).await;
    let another = scene.another().await;
    another.aggregate(&dirty(&another, &who).await).await.unwrap();
    assert!(deliver_due(scene).await.is_empty(), "it was notified");
    scene.clock.advance_ms(86_400_000);
    for model in ["premium", "standard", "economy"] {
        spend(scene, &who, model, QUOTA).await;
    }
    assert_eq!(summaries(&deliver_due(scene).await), ["all chat"], "it is another day");
}

async fn one_of_several_concurrent_puts_creates_the_webhook(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let mut tasks = Vec::new();
    for number in 0..5 {
        let (keeper, org) = (scene.another().await, who.org.clone());
        let wanted = to(&format!("https://h/{number}"));
        tasks.push(tokio::spawn(async move {
            keeper.put_webhook(&org, &id("ops"), &wanted, "ann").await.unwrap()
        }));
    }
    let mut puts = Vec::new();
    for task in tasks {
        puts.push(task.await.unwrap());
    }
    assert_eq!(puts.iter().filter(|put| put.created).count(), 1);
    assert_eq!(puts.iter().filter(|put| put.secret.is_some()).count(), 1, "with its secret");
}

async fn webhooks_are_set_changed_and_removed(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let put = async |name: &str, wanted: PutWebhook| {
        scene.keeper.put_webhook(&who.org, &id(name), &wanted, "ann").await
    };
    let first = put("ops", to("https://h/x")).await.unwrap();
    let changed = put("ops", to("https://h/y")).await.unwrap();
    assert_eq!((first.created, changed.created), (true, false));
    assert!(changed.secret.is_none(), "the secret is shown once");
    assert_eq!(changed.webhook.created_at_epoch, first.webhook.created_at_epoch);
    let rotate = PutWebhook { rotate_secret: true, ..to("https://h/y") };
    assert_ne!(put("ops", rotate).await.unwrap().secret.unwrap(), first.secret.unwrap());
    put("dev", to("http://8.8.8.8:1/")).await.unwrap();
    let error = put("dev", to("http://127.0.0.1:1/")).await.unwrap_err().to_string();
    assert!(error.starts_with("url: \"127.0.0.1\" is in a network"), "{error}");
    let allowed = weir_keeper::webhooks::AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()]);
    let lenient = scene.another_with(|settings| settings.webhook_addresses = allowed).await;
    lenient.put_webhook(&who.org, &id("dev"), &to("http://127.0.0.1:1/"), "ann").await.unwrap();
    let all = scene.keeper.list_webhooks(&who.org).await.unwrap();
    let ids: Vec<&str> = all.iter().map(|webhook| webhook.id.as_str()).collect();
    assert_eq!(ids, ["dev", "ops"]);
    assert_eq!(scene.keeper.webhook(&who.org, &id("ops")).await.unwrap().url, "https://h/y");

    spend(scene, &who, "premium", QUOTA / 2).await;
    scene.keeper.remove_webhook(&who.org, &id("ops"), "ann").await.unwrap();
    let deliveries = claim_due(scene).await;
    assert_eq!(deliveries.len(), 1, "what waited for it is dropped");
    assert_eq!(deliveries[0].url, "http://127.0.0.1:1/");
    let error = scene.keeper.remove_webhook(&who.org, &id("ops"), "ann").await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }));
    for n in 0..19 {
        put(&format!("w{n}"), to("https://h/x")).await.unwrap();
    }
    let error = put("one-more", to("https://h/x")).await.unwrap_err();
    assert_eq!(error.to_string(), "webhook: the org already has 20; remove one first");
    let nobody = weir_keeper::ids::OrgId::new("00000000-0000-0000-0000-000000000000").unwrap();
    let error = scene.keeper.put_webhook(&nobody, &id("x"), &to("https://h"), "ann").await;
    assert!(matches!(error.unwrap_err(), Error::NotFound { .. }));
}
