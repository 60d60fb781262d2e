//! Totals converge to their shards and never decrease.

use std::collections::BTreeSet;

use weir_keeper::Keeper;
use weir_keeper::aggregate::DirtySet;
use weir_keeper::counters::Counters;
use weir_keeper::keys;
use weir_keeper::money::{MicroUsd, TokenUse};
use weir_testkit::watched::Strike;

use crate::scene::{Scene, Watched, eventually};
use crate::spending::{
    CHAIN, COST, QUOTA, Spender, dirty, follower, label, now_ms, spender, spent, stated,
    submission, sum_up, today, total,
};

scenes! {
    the_feed_names_the_dirty_totals,
    aggregating_again_changes_nothing,
    a_slow_aggregator_never_decreases_a_total,
    concurrent_aggregators_agree,
    aggregation_survives_a_lost_response,
    the_full_pass_finds_what_the_feed_missed,
    an_exceeded_quota_causes_a_fallback,
}

async fn the_feed_names_the_dirty_totals(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    let mut follower = follower(scene, "a").await;
    for model in ["premium", "premium", "standard"] {
        let submission = stated(scene, model, 5);
        scene.keeper.submit(&who.org, &who.app, &submission).await.unwrap();
    }
    scene.clock.advance_ms(3_000);
    let mut seen = DirtySet::default();
    eventually(async || {
        if let Some(mut window) = follower.next_window(100, &BTreeSet::new()).await.unwrap() {
            let changes = follower.read(&mut window, 100).await.unwrap();
            seen.add(DirtySet::from_changes(&changes));
            assert!(follower.commit(window, Vec::new()).await.unwrap());
        }
        (seen.len() == 4).then_some(())
    })
    .await;
    let summed = scene.keeper.aggregate(&seen).await.unwrap();
    assert_eq!((summed.written, summed.unchanged, summed.failed), (4, 0, 0));
    // The org's spend is the sum of its apps', so it is reported once.
    assert_eq!(summed.spend_added, MicroUsd(15));
    assert_eq!(summed.closest.len(), CHAIN.len(), "an app without quotas of its own has none");
    for scope in [who.all(), who.one()] {
        assert_eq!(total(scene, &scope, "premium", today()).await, (2, 10));
        assert_eq!(total(scene, &scope, "standard", today()).await, (1, 5));
    }
    let answer = scene.keeper.submit(&who.org, &who.other, &submission(scene)).await.unwrap();
    assert_eq!(answer.daily_total.cost_usd_micros, MicroUsd(10));
}

async fn aggregating_again_changes_nothing(scene: &Scene) {
    let who = spender(scene, "APP").await;
    scene.keeper.submit(&who.org, &who.app, &submission(scene)).await.unwrap();
    let mut dirty = DirtySet::default();
    dirty.mark(who.one(), label("premium"), today(), now_ms(scene));
    scene.keeper.aggregate(&dirty).await.unwrap();
    scene.watch.reset();
    for _ in 0..3 {
        let summed = scene.keeper.aggregate(&dirty).await.unwrap();
        assert_eq!((summed.written, summed.unchanged), (0, 1));
    }
    let calls = scene.watch.calls();
    assert_eq!((calls.batch_gets, calls.writes, calls.transactions), (6, 0, 0));
    assert_eq!(total(scene, &who.one(), "premium", today()).await, (1, COST));
}

async fn a_slow_aggregator_never_decreases_a_total(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let key = keys::total(&who.one(), &label("premium"), today());
    let table = scene.keeper.tables().daily_total.clone();
    let counters =
        |requests, cost| Counters { cost: MicroUsd(cost), tokens: TokenUse::default(), requests };
    for _ in 0..3 {
        scene.keeper.submit(&who.org, &who.app, &stated(scene, "premium", 10)).await.unwrap();
    }
    sum_up(&scene.keeper, &who).await;
    assert_eq!(total(scene, &who.one(), "premium", today()).await, (3, 30));
    // Totals that slower readers would write: less of both, or of either.
    for (requests, cost) in [(2, 20), (2, 31), (4, 29)] {
        let late = counters(requests, cost).put_as_total(table.clone(), key.clone(), 0, 1);
        assert!(!scene.store.write(late).await.unwrap().is_applied());
    }
    // A total ahead of its shards stays.
    let ahead = counters(9, 90).put_as_total(table, key, now_ms(scene), now_ms(scene));
    assert!(scene.store.write(ahead).await.unwrap().is_applied());
    sum_up(&scene.keeper, &who).await;
    assert_eq!(total(scene, &who.one(), "premium", today()).await, (9, 90));
    for _ in 0..7 {
        scene.keeper.submit(&who.org, &who.app, &stated(scene, "premium", 10)).await.unwrap();
    }
    sum_up(&scene.keeper, &who).await;
    assert_eq!(total(scene, &who.one(), "premium", today()).await, (10, 100));
}

async fn concurrent_aggregators_agree(scene: &Scene) {
    const SUBMITTERS: usize = 8;
    const EACH: usize = 8;
    let who = spender(scene, "ORG").await;
    let marked = dirty(&scene.keeper, &who).await;
    let mut tasks = Vec::new();
    for _ in 0..SUBMITTERS {
        let keeper = scene.keeper.clone();
        let submissions: Vec<_> = (0..EACH).map(|_| stated(scene, "premium", 3)).collect();
        let (org, app) = (who.org.clone(), who.app.clone());
        tasks.push(tokio::spawn(async move {
            for submission in &submissions {
                keeper.submit(&org, &app, submission).await.unwrap();
            }
        }));
    }
    for _ in 0..3 {
        let (keeper, marked) = (scene.another().await, marked.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..5 {
                keeper.aggregate(&marked).await.unwrap();
            }
        }));
    }
    let (mut last, mut is_done) = ((0, 0), false);
    while !is_done {
        is_done = tasks.iter().all(tokio::task::JoinHandle::is_finished);
        let seen = total(scene, &who.all(), "premium", today()).await;
        assert!(seen.0 >= last.0 && seen.1 >= last.1, "{last:?} became {seen:?}");
        last = seen;
        tokio::task::yield_now().await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    sum_up(&scene.keeper, &who).await;
    let all = u64::try_from(SUBMITTERS * EACH).unwrap();
    for scope in [who.all(), who.one()] {
        assert_eq!(total(scene, &scope, "premium", today()).await, (all, all * 3));
        assert_eq!(spent(scene, &scope, "premium", today()).await, (all, all * 3));
    }
}

async fn aggregation_survives_a_lost_response(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let mut dirty = DirtySet::default();
    dirty.mark(who.one(), label("premium"), today(), now_ms(scene));
    let mut sent = 0;
    let mut fallbacks = 0;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0.. {
            // Exceeds the quota of the next model each time, so that each round has a fallback to record.
            let keeper = scene.another().await;
            keeper.effective_config(&who.org, Some(&who.app)).await.unwrap();
            keeper.effective_config(&who.org, None).await.unwrap();
            keeper.reset_sticky(&who.one(), "test").await.unwrap();
            keeper.submit(&who.org, &who.app, &stated(scene, "premium", QUOTA)).await.unwrap();
            sent += 1;
            scene.watch.fail_once(skip, strike);
            let first = keeper.aggregate(&dirty).await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            assert_eq!(first.is_err(), struck);
            keeper.aggregate(&dirty).await.unwrap();
            assert_eq!(total(scene, &who.one(), "premium", today()).await, (sent, sent * QUOTA));
            let sticky = keeper.sticky_state(&who.one(), today()).await.unwrap().unwrap();
            assert_eq!(sticky.label, label("standard"));
            fallbacks += keeper.metrics().fallbacks;
            if !struck {
                assert!(skip >= 5, "sum, total, look, webhooks, fallback");
                break;
            }
        }
    }
    assert!(fallbacks <= sent);
}

async fn the_full_pass_finds_what_the_feed_missed(scene: &Scene) {
    let (one, two) = (spender(scene, "ORG").await, spender(scene, "APP").await);
    for who in [&one, &two] {
        scene.keeper.submit(&who.org, &who.app, &submission(scene)).await.unwrap();
        let mut late = stated(scene, "standard", 4);
        late.at_ms -= 10 * 3_600_000;
        scene.keeper.submit(&who.org, &who.other, &late).await.unwrap();
    }
    let (mut cursor, mut scopes, mut written) = (None, 0, 0);
    loop {
        let passed = scene.keeper.full_pass(cursor.as_deref(), 3).await.unwrap();
        scopes += passed.scopes;
        written += passed.report.written;
        cursor = passed.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((scopes, written), (6, 6), "two orgs and four apps; two spots count twice");
    let yesterday = today().previous().unwrap();
    assert_eq!(total(scene, &one.all(), "premium", today()).await, (1, COST));
    assert_eq!(total(scene, &one.all(), "standard", yesterday).await, (1, 4));
    assert_eq!(total(scene, &one.two(), "standard", yesterday).await, (1, 4));
    assert_eq!(total(scene, &two.two(), "standard", yesterday).await, (1, 4));
    assert_eq!(total(scene, &two.all(), "standard", yesterday).await, (0, 0));
}

async fn an_exceeded_quota_causes_a_fallback(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let sticky = async |keeper: &Keeper<Watched>| {
        let sticky = keeper.sticky_state(&who.one(), today()).await.unwrap();
        sticky.map(|sticky| sticky.label.to_string())
    };
    let spend = async |who: &Spender, model: &str, micros: u64| {
        let submission = stated(scene, model, micros);
        scene.keeper.submit(&who.org, &who.app, &submission).await.unwrap();
        scene.keeper.aggregate(&dirty(&scene.keeper, who).await).await.unwrap().fallbacks
    };
    assert_eq!(spend(&who, "premium", QUOTA - 1).await, 0);
    assert_eq!(sticky(&scene.keeper).await, None);
    assert_eq!(spend(&who, "premium", 1).await, 1);
    assert_eq!(sticky(&scene.keeper).await.as_deref(), Some("standard"));
    assert_eq!(spend(&who, "standard", QUOTA).await, 1);
    assert_eq!(sticky(&scene.keeper).await.as_deref(), Some("economy"));
    // Nothing follows the last model, so the chain stays there.
    assert_eq!(spend(&who, "economy", QUOTA).await, 0);
    assert_eq!(sticky(&scene.keeper).await.as_deref(), Some("economy"));
    assert_eq!(scene.keeper.metrics().fallbacks, 2);
}
