//! Totals of ended days are correct, aggregated in time or not.

use weir_keeper::day::OrgDay;
use weir_keeper::ids::Scope;

use crate::scene::Scene;
use crate::spending::{Spender, day, spend, spender, stated, today, total};

scenes! {
    an_unaggregated_day_is_finalized_on_read,
    a_stale_total_is_finalized_on_read,
    a_full_pass_finalizes_days_once,
    a_long_outage_is_caught_up_pass_by_pass,
    old_days_cause_no_notifications,
}

const DAY_MS: u64 = 86_400_000;

async fn tell(scene: &Scene, who: &Spender, micros: u64) {
    let submission = stated(scene, "premium", micros);
    scene.keeper.submit(&who.org, &who.app, &submission).await.unwrap();
    let submission = stated(scene, "premium", micros * 10);
    scene.keeper.submit(&who.org, &who.other, &submission).await.unwrap();
}

/// The spend of each day so far.
async fn days(scene: &Scene, scope: &Scope) -> Vec<u64> {
    let now = scene.keeper.today(scope).await.unwrap();
    let days = scene.keeper.series(scope, today(), now).await.unwrap();
    days.iter().map(|day| day.totals.cost_usd_micros.0).collect()
}

async fn on(scene: &Scene, scope: &Scope, day: OrgDay) -> u64 {
    scene.keeper.day_totals(scope, day).await.unwrap().totals.cost_usd_micros.0
}

/// A complete full pass; returns the number of totals written.
async fn pass(scene: &Scene) -> u64 {
    let (mut cursor, mut written) = (None, 0);
    loop {
        let passed = scene.keeper.full_pass(cursor.as_deref(), 100).await.unwrap();
        assert_eq!(passed.report.failed, 0);
        written += passed.report.written;
        cursor = passed.next;
        if cursor.is_none() {
            return written;
        }
    }
}

async fn an_unaggregated_day_is_finalized_on_read(scene: &Scene) {
    for quota_scope in ["APP", "ORG"] {
        let who = spender(scene, quota_scope).await;
        let first = scene.keeper.today(&who.all()).await.unwrap();
        tell(scene, &who, 3).await;
        scene.clock.advance_ms(5 * DAY_MS);
        assert_eq!(on(scene, &who.one(), first).await, 3);
        assert_eq!(on(scene, &who.all(), first).await, 33);
        assert_eq!(total(scene, &who.one(), "premium", first).await, (1, 3), "and is kept");
    }
    let who = spender(scene, "APP").await;
    tell(scene, &who, 3).await;
    scene.clock.advance_ms(3 * DAY_MS);
    assert_eq!(days(scene, &who.all()).await.iter().sum::<u64>(), 33);
    assert_eq!(days(scene, &who.two()).await.iter().sum::<u64>(), 30);
}

async fn a_stale_total_is_finalized_on_read(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    spend(scene, &who, "premium", 1).await;
    tell(scene, &who, 3).await;
    scene.clock.advance_ms(DAY_MS);
    assert_eq!(days(scene, &who.all()).await, [1, 0], "as far as it is summed up");
    scene.clock.advance_ms(DAY_MS);
    assert_eq!(on(scene, &who.all(), today()).await, 34);
    assert_eq!(days(scene, &who.one()).await, [4, 0, 0]);
}

async fn a_full_pass_finalizes_days_once(scene: &Scene) {
    let who = spender(scene, "APP").await;
    tell(scene, &who, 3).await;
    scene.clock.advance_ms(5 * DAY_MS);
    scene.watch.reset();
    assert_eq!(pass(scene).await, 2, "one for each app");
    assert_eq!(total(scene, &who.one(), "premium", today()).await, (1, 3));
    assert_eq!(total(scene, &who.two(), "premium", today()).await, (1, 30));
    let first = scene.watch.calls().batch_gets;
    scene.watch.reset();
    assert_eq!(pass(scene).await, 0);
    let second = scene.watch.calls().batch_gets;
    assert!(second < first, "{second} reads, and {first} the first time");
    // A read gets the configuration and the totals, and no shards any more.
    scene.watch.reset();
    assert_eq!(on(scene, &who.one(), today()).await, 3);
    assert_eq!(scene.watch.calls().batch_gets, 2);
    // Such a day accepts no submissions.
    let late = weir_keeper::submit::Submission {
        at_ms: i64::try_from(scene.clock.now_ms() - 5 * DAY_MS).unwrap(),
        ..stated(scene, "premium", 1)
    };
    let error = scene.keeper.submit(&who.org, &who.app, &late).await.unwrap_err();
    assert!(error.to_string().contains("is too old"), "{error}");
}

async fn a_long_outage_is_caught_up_pass_by_pass(scene: &Scene) {
    let who = spender(scene, "APP").await;
    for _ in 0..3 {
        tell(scene, &who, 1).await;
        scene.clock.advance_ms(6 * DAY_MS);
    }
    let days = [day("2037-01-23"), day("2037-01-29"), day("2037-02-04")];
    let mut written = Vec::new();
    for _ in 0..4 {
        written.push(pass(scene).await);
    }
    assert_eq!(written.iter().sum::<u64>(), 6, "{written:?}");
    assert_eq!(written[0], 2, "a week at once");
    for day in days {
        assert_eq!(total(scene, &who.one(), "premium", day).await, (1, 1));
    }
}

async fn old_days_cause_no_notifications(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let hook = weir_keeper::webhooks::PutWebhook {
        url: "https://ops.example.com/".into(),
        ..weir_keeper::webhooks::PutWebhook::default()
    };
    let id = weir_keeper::ids::WebhookId::new("ops").unwrap();
    scene.keeper.put_webhook(&who.org, &id, &hook, "test").await.unwrap();
    tell(scene, &who, crate::spending::QUOTA).await;
    scene.clock.advance_ms(5 * DAY_MS);
    let passed = scene.keeper.full_pass(None, 100).await.unwrap();
    assert_eq!(
        (passed.report.written, passed.report.notifications, passed.report.fallbacks),
        (2, 0, 0)
    );
}
