//! Notices are numbered per org, arrive in order, and can be listed and sent again.

use weir_keeper::Error;
use weir_keeper::webhooks::{
    Delivery, DeliveryOutcome, DeliveryRecord, DeliveryStatus, PutWebhook,
};
use weir_table::audit::EventRange;

use crate::scene::Scene;
use crate::spending::{QUOTA, Spender, label, spend, spender};
use crate::webhooks::{accepted, body, claim_due, deliver_due, id, refused, to, with_webhook};

scenes! {
    notices_of_concurrent_instances_have_no_gaps,
    each_org_counts_its_own_notices,
    a_failing_notice_holds_back_those_behind_it,
    a_notice_that_is_given_up_gives_way,
    notices_behind_a_dead_webhook_expire,
    a_sender_without_its_lease_changes_nothing,
    deliveries_are_listed_newest_first,
    a_delivered_notice_is_sent_again,
    a_replay_that_arrives_ends_the_wait,
    a_removed_webhook_drops_its_notices,
}

/// Sets the model of the app by hand, which is notified each time.
async fn notify(scene: &Scene, who: &Spender, times: usize) {
    for at in 0..times {
        let model = label(["premium", "standard"][at % 2]);
        scene.keeper.override_sticky(&who.one(), &model, "ann").await.unwrap();
    }
}

fn sequences(deliveries: &[Delivery]) -> Vec<u64> {
    deliveries.iter().map(|delivery| delivery.sequence).collect()
}

async fn listed(scene: &Scene, who: &Spender) -> Vec<DeliveryRecord> {
    scene.keeper.list_deliveries(&who.org, &id("ops"), 100, None).await.unwrap().items
}

/// Fails the next attempt. Returns what comes next.
async fn fail_next(scene: &Scene, sequence: u64) -> DeliveryOutcome {
    let claimed = claim_due(scene).await;
    assert_eq!(sequences(&claimed), [sequence]);
    scene.keeper.record_delivery(&claimed[0], &refused()).await.unwrap()
}

async fn notices_of_concurrent_instances_have_no_gaps(scene: &Scene) {
    let who = with_webhook(scene, to("https://h/x")).await;
    let some = PutWebhook { flips: Some(false), ..to("https://h/y") };
    scene.keeper.put_webhook(&who.org, &id("dev"), &some, "test").await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let (keeper, scopes) = (scene.another().await, [who.one(), who.two()]);
        tasks.push(tokio::spawn(async move {
            for scope in &scopes {
                keeper.override_sticky(scope, &label("standard"), "ann").await.unwrap();
            }
        }));
    }
    // A sender drains the queue meanwhile.
    let mut delivered = deliver_due(scene).await;
    for task in tasks {
        task.await.unwrap();
    }
    delivered.extend(deliver_due(scene).await);
    assert_eq!(sequences(&delivered), [1, 2, 3, 4, 5, 6, 7, 8], "in order, and none twice");
    for delivery in &delivered {
        assert_eq!(body(delivery)["sequence"], delivery.sequence);
    }
}

async fn each_org_counts_its_own_notices(scene: &Scene) {
    let (one, other) = (
        with_webhook(scene, to("https://h/x")).await,
        with_webhook(scene, to("https://h/y")).await,
    );
    let unheard = spender(scene, "APP").await;
    for who in [&one, &other, &unheard, &one] {
        notify(scene, who, 1).await;
    }
    let mut counted: Vec<_> = deliver_due(scene).await;
    counted.retain(|delivery| delivery.org == one.org);
    assert_eq!(sequences(&counted), [1, 2]);
    // A notice that nobody subscribes to takes no number.
    scene.keeper.put_webhook(&unheard.org, &id("ops"), &to("https://h/z"), "test").await.unwrap();
    let fresh = scene.another().await;
    fresh.override_sticky(&unheard.one(), &label("economy"), "ann").await.unwrap();
    assert_eq!(sequences(&deliver_due(scene).await), [1]);
}

async fn a_failing_notice_holds_back_those_behind_it(scene: &Scene) {
    let who = with_webhook(scene, to("https://h/x")).await;
    scene.keeper.put_webhook(&who.org, &id("dev"), &to("https://h/y"), "test").await.unwrap();
    notify(scene, &who, 3).await;
    let mut claimed = claim_due(scene).await;
    assert_eq!(sequences(&claimed), [1, 1], "the first of each webhook");
    claimed.sort_by(|a, b| a.webhook.as_str().cmp(b.webhook.as_str()));
    let next = scene.keeper.record_delivery(&claimed[1], &refused()).await.unwrap();
    assert!(matches!(next, DeliveryOutcome::Retry(_)), "{next:?}");
    scene.keeper.record_delivery(&claimed[0], &accepted()).await.unwrap();
    let delivered = deliver_due(scene).await;
    assert_eq!(sequences(&delivered), [2, 3], "another webhook does not wait");
    assert!(delivered.iter().all(|delivery| delivery.webhook == id("dev")));
    notify(scene, &who, 1).await;
    scene.clock.advance_ms(9_999);
    assert_eq!(sequences(&deliver_due(scene).await), [4], "only to the other webhook");
    scene.clock.advance_ms(1);
    assert_eq!(sequences(&deliver_due(scene).await), [1, 2, 3, 4]);
}

async fn a_notice_that_is_given_up_gives_way(scene: &Scene) {
    let who = with_webhook(scene, to("https://h/x")).await;
    notify(scene, &who, 2).await;
    for _ in 1..10 {
        assert!(matches!(fail_next(scene, 1).await, DeliveryOutcome::Retry(_)));
        scene.clock.advance_ms(6 * 3_600_000);
    }
    assert_eq!(fail_next(scene, 1).await, DeliveryOutcome::GivenUp);
    assert_eq!(sequences(&deliver_due(scene).await), [2]);
    let statuses: Vec<_> =
        listed(scene, &who).await.iter().map(|one| (one.status, one.attempts)).collect();
    assert_eq!(statuses, [(DeliveryStatus::Delivered, 1), (DeliveryStatus::Failed, 10)]);
}

async fn notices_behind_a_dead_webhook_expire(scene: &Scene) {
    let who = with_webhook(scene, to("https://h/x")).await;
    notify(scene, &who, 3).await;
    fail_next(scene, 1).await;
    scene.clock.advance_ms(8 * 86_400_000);
    notify(scene, &who, 1).await;
    assert_eq!(sequences(&deliver_due(scene).await), [4], "the others are too old");
    assert_eq!(scene.keeper.metrics().notifications_abandoned, 3);
    let all = listed(scene, &who).await;
    assert_eq!(all[1].last_error.as_deref(), Some("it was not delivered in time"));
    scene.clock.advance_ms(7 * 86_400_000);
    assert_eq!(listed(scene, &who).await.len(), 1, "records are retained for two weeks");
}

async fn a_sender_without_its_lease_changes_nothing(scene: &Scene) {
    let who = with_webhook(scene, to("https://h/x")).await;
    notify(scene, &who, 2).await;
    let late = claim_due(scene).await.pop().unwrap();
    scene.clock.advance_ms(60_000);
    let second = claim_due(scene).await.pop().unwrap();
    assert_eq!((late.sequence, second.sequence, second.attempt), (1, 1, 2));
    scene.keeper.record_delivery(&late, &refused()).await.unwrap();
    assert!(claim_due(scene).await.is_empty(), "the second sender still has it");
    scene.keeper.record_delivery(&second, &accepted()).await.unwrap();
    scene.keeper.record_delivery(&late, &accepted()).await.unwrap();
    assert_eq!(sequences(&deliver_due(scene).await), [2], "no notice was skipped");
}

async fn deliveries_are_listed_newest_first(scene: &Scene) {
    let who = with_webhook(scene, to("https://h/x")).await;
    notify(scene, &who, 3).await;
    let claimed = claim_due(scene).await;
    scene.keeper.record_delivery(&claimed[0], &accepted()).await.unwrap();
    fail_next(scene, 2).await;
    let keeper = &scene.keeper;
    let first = keeper.list_deliveries(&who.org, &id("ops"), 2, None).await.unwrap();
    let rest = keeper.list_deliveries(&who.org, &id("ops"), 2, first.cursor.clone()).await.unwrap();
    let now_ms = keeper.now_ms();
    let [waits, failed] = &first.items[..] else { panic!("{first:?}") };
    let [delivered] = &rest.items[..] else { panic!("{rest:?}") };
    assert_eq!((waits.sequence, waits.status), (3, DeliveryStatus::Queued));
    assert_eq!(
        (waits.attempts, waits.last_attempt_at_ms, waits.next_attempt_at_ms),
        (0, None, None)
    );
    assert_eq!((failed.sequence, failed.status), (2, DeliveryStatus::Queued));
    assert_eq!((failed.attempts, failed.http_status), (1, Some(500)));
    assert_eq!(failed.last_error.as_deref(), Some("the response was 500"));
    assert_eq!(failed.next_attempt_at_ms, Some(now_ms + 10_000));
    assert_eq!((delivered.sequence, delivered.status), (1, DeliveryStatus::Delivered));
    assert_eq!((delivered.http_status, &delivered.last_error), (Some(204), &None));
    assert_eq!(delivered.delivered_at_ms, Some(now_ms));
    assert_eq!(delivered.kind, "model.fallback");
    let error = keeper.list_deliveries(&who.org, &id("none"), 2, None).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { what: "webhook", .. }), "{error}");
}

async fn a_delivered_notice_is_sent_again(scene: &Scene) {
    let who = with_webhook(scene, to("https://h/x")).await;
    notify(scene, &who, 1).await;
    let first = deliver_due(scene).await.pop().unwrap();
    scene.clock.advance_ms(3_600_000);
    let replay = scene.keeper.replay_delivery(&who.org, &id("ops"), 1, "bob").await.unwrap();
    assert!(replay.is_replay() && !first.is_replay());
    assert_eq!((&replay.body, &replay.id, replay.sequence), (&first.body, &first.id, 1));
    assert_ne!(replay.signature, first.signature, "receivers refuse old signatures");
    assert_eq!(replay.attempt, 2);
    let record = scene.keeper.record_replay(&replay, &refused()).await.unwrap();
    assert_eq!((record.status, record.attempts), (DeliveryStatus::Delivered, 2));
    assert_eq!(record.last_error.as_deref(), Some("the response was 500"));
    assert!(claim_due(scene).await.is_empty(), "nobody retries a replay");
    let range = EventRange { limit: 10, ..EventRange::default() };
    let events = scene.keeper.audit_events(&who.all(), &range).await.unwrap().items;
    let event = &events[0];
    assert_eq!((event.action.as_str(), event.actor.as_str()), ("delivery_replayed", "bob"));
    assert_eq!(event.detail.as_deref(), Some("ops: 1"));
    for (webhook, sequence) in [("ops", 2), ("none", 1)] {
        let error = scene.keeper.replay_delivery(&who.org, &id(webhook), sequence, "bob").await;
        assert!(matches!(error, Err(Error::NotFound { .. })), "{webhook} {sequence}");
    }
}

async fn a_replay_that_arrives_ends_the_wait(scene: &Scene) {
    let who = with_webhook(scene, to("https://h/x")).await;
    notify(scene, &who, 2).await;
    fail_next(scene, 1).await;
    let replay = scene.keeper.replay_delivery(&who.org, &id("ops"), 1, "bob").await.unwrap();
    let record = scene.keeper.record_replay(&replay, &refused()).await.unwrap();
    assert_eq!((record.status, record.attempts), (DeliveryStatus::Queued, 2));
    assert!(claim_due(scene).await.is_empty(), "it still waits");
    let record = scene.keeper.record_replay(&replay, &accepted()).await.unwrap();
    assert_eq!((record.status, record.attempts), (DeliveryStatus::Delivered, 3));
    assert_eq!(sequences(&deliver_due(scene).await), [2]);
}

async fn a_removed_webhook_drops_its_notices(scene: &Scene) {
    let who = with_webhook(scene, to("https://h/x")).await;
    notify(scene, &who, 2).await;
    scene.keeper.remove_webhook(&who.org, &id("ops"), "ann").await.unwrap();
    assert!(claim_due(scene).await.is_empty());
    scene.keeper.put_webhook(&who.org, &id("ops"), &to("https://h/y"), "ann").await.unwrap();
    notify(scene, &who, 1).await;
    let before: Vec<_> = listed(scene, &who).await.iter().map(|one| one.status).collect();
    let expected = [DeliveryStatus::Queued, DeliveryStatus::Dropped, DeliveryStatus::Dropped];
    assert_eq!(before, expected);
    assert_eq!(sequences(&deliver_due(scene).await), [3], "those of the old webhook are gone");
    spend(scene, &who, "premium", QUOTA / 2).await;
    assert_eq!(sequences(&deliver_due(scene).await), [4], "numbers go on");
}
