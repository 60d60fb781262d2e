//! Notifications are queued once, signed, and delivered with retries.

use std::collections::BTreeSet;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value as Json;
use weir_keeper::Error;
use weir_keeper::ids::WebhookId;
use weir_keeper::webhooks::{Delivery, PutWebhook};
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
    webhooks_are_set_changed_and_removed,
}

fn id(text: &str) -> WebhookId {
    WebhookId::new(text).unwrap()
}

fn to(url: &str) -> PutWebhook {
    PutWebhook { url: url.into(), ..PutWebhook::default() }
}

/// An org with a webhook.
async fn with_webhook(scene: &Scene, wanted: PutWebhook) -> Spender {
    let who = spender(scene, "APP").await;
    scene.keeper.put_webhook(&who.org, &id("ops"), &wanted, "test").await.unwrap();
    who
}

/// Claims all due deliveries.
async fn claim_due(scene: &Scene) -> Vec<Delivery> {
    let mut all = Vec::new();
    loop {
        let due = scene.keeper.claim_deliveries(7).await.unwrap();
        all.extend(due.deliveries);
        if !due.more {
            return all;
        }
    }
}

/// A short form of each delivery, sorted: model and threshold, or the fallback.
fn summaries(deliveries: &[Delivery]) -> Vec<String> {
    let mut summaries: Vec<String> = deliveries
        .iter()
        .map(|delivery| {
            let body: Json = serde_json::from_str(&delivery.body).unwrap();
            match body["type"].as_str().unwrap() {
                "quota.threshold" => format!("{} {}", body["model_label"], body["threshold_pct"]),
                _ => format!("{} after {}", body["model_label"], body["previous_model_label"]),
            }
            .replace('"', "")
        })
        .collect();
    summaries.sort();
    summaries
}

async fn each_threshold_is_notified_once_a_day(scene: &Scene) {
    let who = with_webhook(scene, PutWebhook { flips: Some(false), ..to("https://h/x") }).await;
    spend(scene, &who, "premium", QUOTA / 2 - 1).await;
    assert_eq!(summaries(&claim_due(scene).await), Vec::<String>::new());
    spend(scene, &who, "premium", 1).await;
    assert_eq!(summaries(&claim_due(scene).await), ["premium 50"]);
    // It is claimed, not delivered, but nothing else is due.
    spend(scene, &who, "premium", QUOTA * 3 / 10).await;
    assert_eq!(summaries(&claim_due(scene).await), ["premium 80"]);
    spend(scene, &who, "premium", QUOTA).await;
    assert_eq!(summaries(&claim_due(scene).await), ["premium 100", "premium 95"]);
    spend(scene, &who, "premium", QUOTA).await;
    assert_eq!(summaries(&claim_due(scene).await), Vec::<String>::new());
    // A process with an empty cache finds the markers.
    let another = scene.another().await;
    another.aggregate(&dirty(&another, &who).await).await.unwrap();
    assert_eq!(summaries(&claim_due(scene).await), Vec::<String>::new());
    scene.clock.advance_ms(86_400_000);
    let old = claim_due(scene).await.len();
    assert_eq!(old, 4, "the claims have ended");
    spend(scene, &who, "premium", QUOTA / 2).await;
    assert_eq!(summaries(&claim_due(scene).await), ["premium 50"], "it is another day");
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
    assert_eq!(summaries(&claim_due(scene).await), expected);
}

async fn fallbacks_and_overrides_are_notified(scene: &Scene) {
    let who =
        with_webhook(scene, PutWebhook { thresholds_pct: Some(vec![]), ..to("https://h/x") }).await;
    let second = PutWebhook { thresholds_pct: Some(vec![100]), ..to("https://h/y") };
    scene.keeper.put_webhook(&who.org, &id("dev"), &second, "test").await.unwrap();
    spend(scene, &who, "premium", QUOTA).await;
    let deliveries = claim_due(scene).await;
    let moved = "standard after premium";
    assert_eq!(summaries(&deliveries), ["premium 100", moved, moved]);
    let urls: BTreeSet<&str> = deliveries.iter().map(|delivery| delivery.url.as_str()).collect();
    assert_eq!(urls, BTreeSet::from(["https://h/x", "https://h/y"]));
    scene.keeper.override_sticky(&who.one(), &label("economy"), "ann").await.unwrap();
    let deliveries = claim_due(scene).await;
    assert_eq!(summaries(&deliveries), vec!["economy after standard"; 2]);
    assert!(deliveries[0].body.contains("MANUAL_OVERRIDE"));
}

async fn a_lost_response_is_not_notified_twice(scene: &Scene) {
    for strike in [Strike::Before, Strike::After] {
        for skip in 0.. {
            let who = with_webhook(scene, to("https://h/x")).await;
            let submission = stated(scene, "premium", QUOTA);
            scene.keeper.submit(&who.org, &who.app, &submission).await.unwrap();
            let keeper = scene.another().await;
            let marked = dirty(&keeper, &who).await;
            scene.watch.fail_once(skip, strike);
            let first = keeper.aggregate(&marked).await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            assert_eq!(first.is_err(), struck);
            keeper.aggregate(&marked).await.unwrap();
            assert_eq!(claim_due(scene).await.len(), 5, "{skip} {strike:?}");
            // Later calls concern other scopes.
            if !struck || skip > 24 {
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
    spend(scene, &who, "premium", QUOTA).await;
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let keeper = scene.another().await;
        tasks.push(tokio::spawn(async move { keeper.claim_deliveries(100).await.unwrap() }));
    }
    let mut ids = Vec::new();
    for task in tasks {
        ids.extend(task.await.unwrap().deliveries.into_iter().map(|delivery| delivery.id));
    }
    // Two senders may conflict so that neither gets it; it is due again.
    ids.extend(claim_due(scene).await.into_iter().map(|delivery| delivery.id));
    let distinct: BTreeSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), distinct.len()), (5, 5));
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
        let Some(at_ms) = scene.keeper.mark_failed(&delivery).await.unwrap() else { break };
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
    let delivery = claim_due(scene).await.pop().unwrap();
    scene.keeper.mark_delivered(&delivery).await.unwrap();
    scene.clock.advance_ms(3_600_000);
    assert!(claim_due(scene).await.is_empty());
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
    put("dev", to("http://127.0.0.1:1/")).await.unwrap();
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
