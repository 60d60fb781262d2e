//! Rollups follow the counters, and ranges of them.

use std::collections::BTreeSet;

use weir_calendar::Day;
use weir_practice::ids::PlanId;
use weir_practice::item::COUNT;
use weir_practice::keys;
use weir_practice::kinds::Action;
use weir_practice::stats::{UsageCounts, UsageDirtySet};
use weir_practice::usage::{Repair, UsageRequest};
use weir_practice::users::User;
use weir_table::expr::set;
use weir_table::feed::{Consumer, POSITIONS_TABLE, Position, positions_spec};
use weir_table::{Write, clock::Clock};
use weir_testkit::watched::Strike;
use weir_testkit::{eventually, eventually_eq};

use crate::scene::{NOW_MS, Scene};
use crate::usage::{DAY_MS, hint};
use crate::users::{at_once, sign_up};

scenes!(
    the_feed_names_the_users_to_roll_up,
    rolling_up_again_changes_nothing,
    concurrent_and_killed_rollups_agree,
    a_range_has_days_and_top_users,
    a_recomputation_equals_the_rollup,
);

pub(crate) fn today() -> Day {
    Day::utc(NOW_MS)
}

pub(crate) fn dirty(users: &[&User]) -> UsageDirtySet {
    let mut dirty = UsageDirtySet::default();
    users.iter().for_each(|user| dirty.mark(today(), user.id.clone()));
    dirty
}

async fn execution(scene: &Scene, user: &User) {
    let request = UsageRequest::new(Action::Execution);
    assert!(scene.practice.take_usage(&user.id, &request).await.unwrap().allowed);
}

async fn the_feed_names_the_users_to_roll_up(scene: &Scene) {
    scene.store.create_table(&positions_spec(POSITIONS_TABLE)).await.unwrap();
    let table = scene.practice.table().to_string();
    let consumer = |clock: Clock| {
        let (store, oldest) = (scene.store.clone(), Position::Oldest);
        Consumer::new(store, table.clone(), "practice-rollup", "a", POSITIONS_TABLE, oldest, clock)
    };
    let mut consumer = consumer(scene.clock.clone()).unwrap().merging(Some(UsageDirtySet::merge()));
    let (ann, ben) =
        (sign_up(scene, "ann", PlanId::FREE).await, sign_up(scene, "ben", PlanId::FREE).await);
    for user in [&ann, &ann, &ben] {
        hint(scene, user).await;
    }
    execution(scene, &ann).await;
    let expected = dirty(&[&ann, &ben]);
    let mut seen = UsageDirtySet::default();
    eventually(async || {
        scene.clock.advance_ms(1_000);
        while let Some(mut window) = consumer.next_window(100, &BTreeSet::new()).await.unwrap() {
            let mut of_window = UsageDirtySet::default();
            loop {
                let changes = consumer.read(&mut window, 100).await.unwrap();
                if changes.is_empty() {
                    break;
                }
                of_window.add(UsageDirtySet::from_changes(&changes));
            }
            scene.practice.roll_up(&of_window).await.unwrap();
            seen.add(of_window);
            consumer.commit(window, Vec::new()).await.unwrap();
        }
        (seen == expected).then_some(())
    })
    .await;
    let stats = scene.practice.stats(today(), today()).await.unwrap();
    assert_eq!(stats.counts, UsageCounts { hints: 3, executions: 1 });
    assert_eq!(stats.days[0].active_users, 2);
}

async fn rolling_up_again_changes_nothing(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    let idle = sign_up(scene, "idle", PlanId::FREE).await;
    hint(scene, &ann).await;
    let run = async || scene.practice.roll_up(&dirty(&[&ann, &idle])).await.unwrap();
    assert_eq!((run().await.written, run().await.written), (1, 0));
    hint(scene, &ann).await;
    scene.watch.reset();
    assert_eq!(run().await.unchanged, 1);
    let calls = scene.watch.calls();
    assert_eq!((calls.batch_gets, calls.transactions, calls.gets, calls.queries), (1, 1, 0, 0));
    let stats = scene.practice.stats(today(), today()).await.unwrap();
    assert_eq!((stats.counts.hints, stats.days[0].active_users), (2, 1));
}

async fn concurrent_and_killed_rollups_agree(scene: &Scene) {
    let mut users = Vec::new();
    for number in 0..40 {
        let user = sign_up(scene, &format!("u{number}"), PlanId::FREE).await;
        hint(scene, &user).await;
        users.push(user);
    }
    let all: Vec<&User> = users.iter().collect();
    let dirty = dirty(&all);
    // Two transactions: a run that is killed between them has rolled up a part.
    for (skip, strike) in [(1, Strike::After), (2, Strike::Before)] {
        scene.watch.fail_once(skip, strike);
        assert!(scene.practice.roll_up(&dirty).await.is_err());
    }
    let runs = at_once((0..3).map(|_| scene.practice.roll_up(&dirty))).await;
    assert!(runs.iter().all(Result::is_ok), "{runs:?}");
    let stats = scene.practice.stats(today(), today()).await.unwrap();
    assert_eq!((stats.counts.hints, stats.days[0].active_users), (40, 40));
    let check = async || scene.practice.verify_rollup(today(), Repair::No).await.unwrap();
    eventually_eq(40, async || check().await.active_users).await;
    assert!(check().await.differences.is_empty());
}

async fn a_range_has_days_and_top_users(scene: &Scene) {
    let (ann, ben) =
        (sign_up(scene, "ann", PlanId::FREE).await, sign_up(scene, "ben", PlanId::FREE).await);
    hint(scene, &ann).await;
    execution(scene, &ann).await;
    hint(scene, &ben).await;
    scene.practice.roll_up(&dirty(&[&ann, &ben])).await.unwrap();
    scene.clock.advance_ms(DAY_MS);
    for _ in 0..4 {
        hint(scene, &ben).await;
    }
    let tomorrow = today().plus_days(1);
    let mut next = UsageDirtySet::default();
    next.mark(tomorrow, ben.id.clone());
    scene.practice.roll_up(&next).await.unwrap();
    let read = async || scene.practice.stats(today().plus_days(-1), tomorrow).await.unwrap();
    let top = async || -> Vec<_> {
        read().await.top_users.into_iter().map(|one| (one.user, one.total)).collect()
    };
    eventually_eq(vec![(ben.id.clone(), 5), (ann.id.clone(), 2)], top).await;
    let stats = read().await;
    let days: Vec<_> =
        stats.days.iter().map(|day| (day.counts.total(), day.active_users)).collect();
    assert_eq!(days, [(0, 0), (3, 2), (4, 1)]);
    assert_eq!(stats.counts, UsageCounts { hints: 6, executions: 1 });
    for (from, to) in [(tomorrow, today()), (today().plus_days(-400), today())] {
        let error = scene.practice.stats(from, to).await.unwrap_err().to_string();
        assert!(error.starts_with("to: "), "{error}");
    }
}

async fn a_recomputation_equals_the_rollup(scene: &Scene) {
    let (ann, ben) =
        (sign_up(scene, "ann", PlanId::FREE).await, sign_up(scene, "ben", PlanId::FREE).await);
    for user in [&ann, &ben] {
        hint(scene, user).await;
        execution(scene, user).await;
    }
    scene.practice.roll_up(&dirty(&[&ann])).await.unwrap();
    // The feed has missed a user, a counter was corrected, and a sum is wrong.
    let table = scene.practice.table().clone();
    let key = keys::action_count(&ann.id, today(), Action::Hint);
    scene.practice.write(Write::update(table.clone(), key, set(COUNT, 3))).await.unwrap();
    let sum = set(weir_practice::item::field("hints"), 77);
    scene.practice.write(Write::update(table, keys::rollup(today()), sum)).await.unwrap();
    let check = async |repair| scene.practice.verify_rollup(today(), repair).await.unwrap();
    eventually_eq(3, async || check(Repair::No).await.differences.len()).await;
    check(Repair::By("admin")).await;
    let verified = check(Repair::No).await;
    assert!(verified.differences.is_empty(), "{verified:?}");
    let stats = scene.practice.stats(today(), today()).await.unwrap();
    assert_eq!((stats.counts, stats.days[0].active_users), (verified.computed, 2));
    assert_eq!(stats.counts, UsageCounts { hints: 4, executions: 2 });
    let expired = scene.practice.verify_rollup(today().plus_days(-100), Repair::No).await;
    assert!(expired.unwrap_err().to_string().starts_with("date: "));
}
