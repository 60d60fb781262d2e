//! The edges of a bucket: clocks that jump, debts, long pauses, the caller's own limits, limits that come and go.

use weir_limiter::Error;
use weir_limiter::acquire::Acquired;
use weir_limiter::bucket::Limit;
use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::entities::NewEntity;
use weir_limiter::lease::Settle;
use weir_table::clock::Clock;

use crate::acquire::{granted, refused, request};
use crate::lease::{amounts, shard};
use crate::scene::{Scene, entity, limit_name, per_minute, resource};

scenes!(
    a_clock_that_goes_back_brings_back_no_full_bucket,
    the_expiry_of_a_bucket_is_never_lowered,
    a_debt_outlives_the_expiry_of_its_bucket,
    a_debt_outlives_takes_of_another_limit,
    a_remembered_refusal_is_an_error_where_the_store_s_is,
    a_bucket_hands_out_its_capacity_after_a_pause,
    a_refund_to_a_bucket_that_is_full_by_now_is_dropped,
    a_repeated_cascade_refusal_names_both_and_the_longer_wait,
    the_caller_s_limits_hold_for_their_request,
    the_caller_s_limits_are_never_the_parent_s,
    a_parent_without_limits_limits_nothing,
    a_bucket_recovers_from_a_clock_that_was_ahead,
    a_reset_bucket_recovers_from_a_clock_that_was_ahead,
    a_limit_that_is_removed_and_added_again_is_not_refilled,
    a_bucket_whose_limits_are_gone_is_not_used,
    a_bucket_outlives_its_leases,
    a_refund_of_a_limit_that_was_removed_is_counted,
    a_take_that_leaves_the_refill_sets_back_a_clock_that_was_ahead,
    a_bucket_that_refills_slowly_recovers_from_a_clock_that_was_ahead,
);

const MINUTE_MS: u64 = 60_000;

fn turn_back(scene: &Scene, ms: u64) {
    let Clock::Manual(now) = &scene.clock else { panic!("a manual clock") };
    now.fetch_sub(ms, std::sync::atomic::Ordering::SeqCst);
}

/// Sets the limits of the system.
async fn set_limits(scene: &Scene, limits: &[Limit]) {
    set_level(scene, &Level::System, limits).await;
}

async fn set_level(scene: &Scene, level: &Level, limits: &[Limit]) {
    let config = LevelConfig { limits: limits.to_vec(), ..LevelConfig::default() };
    scene.ns.set_limits(level, config, "test").await.unwrap();
}

async fn take(scene: &Scene, amount: i64) -> Acquired {
    scene.ns.acquire(&request("user", &[("rpm", amount)], &[])).await.unwrap()
}

/// Whole tokens that are there.
async fn available(scene: &Scene) -> i64 {
    let found = scene.ns.availability(&entity("user"), &resource("gpt-4"), &[].into()).await;
    found.unwrap().limits[0].available_milli.div_euclid(1000)
}

/// Takes one token at a time until one is refused.
async fn drain(scene: &Scene) -> i64 {
    let mut taken = 0;
    while let Acquired::Granted(_) = take(scene, 1).await {
        taken += 1;
    }
    taken
}

async fn a_clock_that_goes_back_brings_back_no_full_bucket(scene: &Scene) {
    set_limits(scene, &[per_minute("rpm", 100)]).await;
    granted(take(scene, 90).await);
    turn_back(scene, 20 * MINUTE_MS);
    granted(take(scene, 1).await);
    scene.clock.advance_ms(20 * MINUTE_MS);
    assert_eq!(available(scene).await, 9);
    assert_eq!(drain(scene).await, 9);
    // So it is for another instance, whose clock is slow.
    turn_back(scene, 60 * MINUTE_MS);
    let other = scene.another().await;
    let ns = other.namespace(scene.ns.name()).await.unwrap();
    refused(ns.acquire(&request("user", &[("rpm", 1)], &[])).await.unwrap());
    scene.clock.advance_ms(60 * MINUTE_MS);
    assert_eq!(available(scene).await, 0);
}

async fn the_expiry_of_a_bucket_is_never_lowered(scene: &Scene) {
    set_limits(scene, &[per_minute("rpm", 100)]).await;
    let other = scene.another().await.namespace(scene.ns.name()).await.unwrap();
    let mut ask = request("user", &[("rpm", 1)], &[]);
    granted(scene.ns.acquire(&ask).await.unwrap());
    ask.lease_ttl_ms = 3_600_000;
    let grant = granted(scene.ns.acquire(&ask).await.unwrap()).grant;
    let expires = async || shard(scene, "user", 0).await.unwrap().expires.unwrap();
    let highest = expires().await;
    assert!(highest * 1_000 >= grant.expires_ms, "the lease can be settled until it ends");
    ask.lease_ttl_ms = 60_000;
    // The second instance reads the bucket before its first take; then neither does.
    for ns in [&scene.ns, &other, &scene.ns, &other] {
        scene.clock.advance_ms(1_000);
        granted(ns.acquire(&ask).await.unwrap());
        assert_eq!(expires().await, highest);
    }
    scene.ns.settle(&grant, &Settle::Adjust(amounts(&[("rpm", 5)])), None).await.unwrap();
    assert_eq!(expires().await, highest);
    for back_ms in [30_000, 60 * MINUTE_MS] {
        turn_back(scene, back_ms);
        for ns in [&scene.ns, &other] {
            granted(ns.acquire(&ask).await.unwrap());
            assert!(expires().await >= highest, "{back_ms} ms back");
        }
    }
}

async fn a_debt_outlives_the_expiry_of_its_bucket(scene: &Scene) {
    set_limits(scene, &[per_minute("rpm", 1_000)]).await;
    let grant = granted(take(scene, 1).await).grant;
    let debt = Settle::Adjust(amounts(&[("rpm", 60_000)]));
    scene.ns.settle(&grant, &debt, None).await.unwrap();
    let wait = refused(take(scene, 1).await).retry_after_ms;
    let polls = wait.cast_unsigned().div_ceil(MINUTE_MS);
    assert_eq!(polls, 60);
    for poll in 1..polls {
        scene.clock.advance_ms(MINUTE_MS);
        assert!(matches!(take(scene, 1).await, Acquired::Refused(_)), "granted at minute {poll}");
    }
    scene.clock.advance_ms(MINUTE_MS);
    granted(take(scene, 1).await);
}

async fn a_debt_outlives_takes_of_another_limit(scene: &Scene) {
    set_limits(scene, &[per_minute("rpm", 1_000), per_minute("tpm", 1_000)]).await;
    let grant = granted(take(scene, 1).await).grant;
    let debt = Settle::Adjust(amounts(&[("rpm", 60_000)]));
    scene.ns.settle(&grant, &debt, None).await.unwrap();
    let other = scene.another().await.namespace(scene.ns.name()).await.unwrap();
    for ns in [&scene.ns, &other, &scene.ns, &other] {
        granted(ns.acquire(&request("user", &[("tpm", 1)], &[])).await.unwrap());
    }
    scene.clock.advance_ms(59 * MINUTE_MS);
    refused(take(scene, 1).await);
    scene.clock.advance_ms(MINUTE_MS);
    granted(take(scene, 1).await);
}

async fn a_remembered_refusal_is_an_error_where_the_store_s_is(scene: &Scene) {
    set_limits(scene, &[per_minute("rpm", 50)]).await;
    granted(take(scene, 50).await);
    for _ in 0..2 {
        for consume in [&[("rpm", 51)][..], &[("nothing", 1)], &[("rpm", 1), ("nothing", 1)]] {
            // An error may make the process forget the refusal.
            refused(take(scene, 1).await);
            let answer = scene.ns.acquire(&request("user", consume, &[])).await;
            assert!(matches!(answer, Err(Error::Invalid { .. })), "{consume:?}: {answer:?}");
        }
    }
}

async fn a_bucket_hands_out_its_capacity_after_a_pause(scene: &Scene) {
    let fast = Limit { refill_amount: 20, refill_period_seconds: 1, ..per_minute("rpm", 100) };
    set_limits(scene, &[fast]).await;
    granted(take(scene, 1).await);
    for pause_ms in [7_000, 1, 5_000, 49, 60_000] {
        drain(scene).await;
        scene.clock.advance_ms(10_000);
        granted(take(scene, 1).await);
        scene.clock.advance_ms(pause_ms);
        let refilled = i64::try_from(pause_ms).unwrap() * 20 / 1000;
        assert_eq!(drain(scene).await, (99 + refilled).min(100), "after {pause_ms} ms");
    }
}

async fn a_refund_to_a_bucket_that_is_full_by_now_is_dropped(scene: &Scene) {
    let fast = Limit { refill_amount: 20, refill_period_seconds: 1, ..per_minute("rpm", 100) };
    set_limits(scene, &[fast]).await;
    let grant = granted(take(scene, 100).await).grant;
    scene.clock.advance_ms(7_000);
    scene.ns.settle(&grant, &Settle::Rollback, None).await.unwrap();
    assert_eq!(drain(scene).await, 100);
}

/// A user whose team pays too. The user's limit refills quickly, the team's slowly.
async fn family(scene: &Scene, team: &[Limit]) {
    let parent = NewEntity::default();
    scene.ns.put_entity(&entity("team"), parent.clone(), "test").await.unwrap();
    let child = NewEntity { parent: Some(entity("team")), cascade: true, ..parent };
    scene.ns.put_entity(&entity("user"), child, "test").await.unwrap();
    if !team.is_empty() {
        set_level(scene, &Level::Entity(entity("team"), None), team).await;
    }
}

async fn a_repeated_cascade_refusal_names_both_and_the_longer_wait(scene: &Scene) {
    let slow = Limit { refill_period_seconds: 5_000, ..per_minute("rpm", 10) };
    family(scene, &[slow]).await;
    let quick = Limit { refill_period_seconds: 10, ..per_minute("rpm", 10) };
    set_level(scene, &Level::Entity(entity("user"), None), &[quick]).await;
    granted(take(scene, 10).await);
    for _ in 0..4 {
        let no = refused(take(scene, 1).await);
        let waits: Vec<(&str, i64)> =
            no.limits.iter().map(|it| (it.entity.as_str(), it.retry_after_ms)).collect();
        let passed = 500_000 - no.retry_after_ms;
        assert_eq!(waits, [("user", 1_000 - passed), ("team", 500_000 - passed)]);
        scene.clock.advance_ms(100);
    }
    // The user's bucket is full again, the team's is not.
    scene.clock.advance_ms(10_000);
    for _ in 0..2 {
        let no = refused(take(scene, 1).await);
        assert_eq!(no.limits.len(), 2);
        assert_eq!((no.limits[0].deficit_milli, no.limits[1].deficit_milli > 0), (0, true));
    }
}

async fn the_caller_s_limits_hold_for_their_request(scene: &Scene) {
    let with = |capacity| request("user", &[("q", 1)], &[per_minute("q", capacity)]);
    for _ in 0..8 {
        granted(scene.ns.acquire(&with(10)).await.unwrap());
    }
    let without = request("user", &[("q", 1)], &[]);
    for _ in 0..2 {
        let answer = scene.ns.acquire(&without).await;
        assert!(matches!(answer, Err(Error::NoLimits { .. })), "{answer:?}");
    }
    // A lower capacity cuts the two that are left to one; a higher one brings nothing back.
    granted(scene.ns.acquire(&with(1)).await.unwrap());
    refused(scene.ns.acquire(&with(1)).await.unwrap());
    refused(scene.ns.acquire(&with(10)).await.unwrap());
    // The config is stronger, and stays in force for whoever brings other limits.
    set_limits(scene, &[per_minute("q", 5)]).await;
    refused(scene.ns.acquire(&with(10)).await.unwrap());
    refused(scene.ns.acquire(&without).await.unwrap());
}

async fn the_caller_s_limits_are_never_the_parent_s(scene: &Scene) {
    family(scene, &[]).await;
    let ask = request("user", &[("q", 1)], &[per_minute("q", 10)]);
    let answer = granted(scene.ns.acquire(&ask).await.unwrap());
    assert_eq!(answer.grant.takes.len(), 1);
    assert_eq!(scene.ns.buckets(&entity("team")).await.unwrap(), []);
}

async fn a_parent_without_limits_limits_nothing(scene: &Scene) {
    family(scene, &[]).await;
    set_level(scene, &Level::Entity(entity("user"), None), &[per_minute("rpm", 3)]).await;
    assert_eq!(drain(scene).await, 3);
}

async fn a_bucket_recovers_from_a_clock_that_was_ahead(scene: &Scene) {
    set_limits(scene, &[per_minute("rpm", 60)]).await;
    drain(scene).await;
    scene.clock.advance_ms(60 * MINUTE_MS);
    assert_eq!(drain(scene).await, 60, "the clock says so");
    turn_back(scene, 60 * MINUTE_MS);
    let no = refused(take(scene, 1).await);
    assert_eq!(no.retry_after_ms, 1_000, "counted from now");
    for second in 1..=120 {
        scene.clock.advance_ms(1_000);
        assert_eq!(drain(scene).await, 1, "second {second}");
    }
    scene.ns.reset_bucket(&entity("user"), &resource("gpt-4"), None, "test").await.unwrap();
    assert_eq!(drain(scene).await, 60);
    scene.clock.advance_ms(10_000);
    assert_eq!(drain(scene).await, 10);
}

async fn a_reset_bucket_recovers_from_a_clock_that_was_ahead(scene: &Scene) {
    set_limits(scene, &[per_minute("rpm", 60)]).await;
    scene.clock.advance_ms(60 * MINUTE_MS);
    granted(take(scene, 60).await);
    turn_back(scene, 60 * MINUTE_MS);
    scene.ns.reset_bucket(&entity("user"), &resource("gpt-4"), None, "test").await.unwrap();
    assert_eq!(drain(scene).await, 60);
    scene.clock.advance_ms(10_000);
    assert_eq!(drain(scene).await, 10);
}

async fn a_limit_that_is_removed_and_added_again_is_not_refilled(scene: &Scene) {
    let (rpm, tpm) = (per_minute("rpm", 60), per_minute("tpm", 1_000));
    let level = Level::Entity(entity("user"), None);
    set_level(scene, &level, &[rpm.clone(), tpm.clone()]).await;
    granted(take(scene, 60).await);
    set_level(scene, &level, std::slice::from_ref(&tpm)).await;
    granted(scene.ns.acquire(&request("user", &[("tpm", 1)], &[])).await.unwrap());
    set_level(scene, &level, &[rpm, tpm]).await;
    refused(take(scene, 1).await);
    scene.clock.advance_ms(10_000);
    assert_eq!(drain(scene).await, 10);
}

async fn a_bucket_whose_limits_are_gone_is_not_used(scene: &Scene) {
    let level = Level::Entity(entity("user"), None);
    set_level(scene, &level, &[per_minute("rpm", 60)]).await;
    granted(take(scene, 60).await);
    scene.ns.delete_limits(&level, "test").await.unwrap();
    let other = scene.another().await;
    let other = other.namespace(scene.ns.name()).await.unwrap();
    for ns in [&scene.ns, &other, &other] {
        let answer = ns.acquire(&request("user", &[("rpm", 1)], &[])).await;
        assert!(matches!(answer, Err(Error::NoLimits { .. })), "{answer:?}");
    }
    set_level(scene, &level, &[per_minute("rpm", 60)]).await;
    refused(take(scene, 1).await);
}

/// Consumed tokens of a limit of the user's bucket.
async fn consumed(scene: &Scene, limit: &str) -> i64 {
    let bucket = scene.ns.bucket(&entity("user"), &resource("gpt-4")).await.unwrap().unwrap();
    let of = bucket.limits.iter().find(|view| view.limit.name == limit_name(limit)).unwrap();
    of.consumed_milli / 1000
}

async fn a_bucket_outlives_its_leases(scene: &Scene) {
    let quick = Limit { refill_amount: 10, refill_period_seconds: 1, ..per_minute("rpm", 10) };
    set_limits(scene, &[quick]).await;
    let mut ask = request("user", &[("rpm", 1)], &[]);
    granted(scene.ns.acquire(&ask).await.unwrap());
    ask.lease_ttl_ms = 3_600_000;
    let grant = granted(scene.ns.acquire(&ask).await.unwrap()).grant;
    scene.clock.advance_ms(59 * MINUTE_MS);
    let more = Settle::CommitActual(amounts(&[("rpm", 8)]));
    scene.ns.settle(&grant, &more, None).await.unwrap();
    assert_eq!((available(scene).await, consumed(scene, "rpm").await), (3, 9));
}

async fn a_refund_of_a_limit_that_was_removed_is_counted(scene: &Scene) {
    let (rpm, tpm) = (per_minute("rpm", 60), per_minute("tpm", 1_000));
    let level = Level::Entity(entity("user"), None);
    set_level(scene, &level, &[rpm.clone(), tpm.clone()]).await;
    granted(take(scene, 20).await);
    let grant = granted(take(scene, 30).await).grant;
    set_level(scene, &level, std::slice::from_ref(&tpm)).await;
    scene.ns.settle(&grant, &Settle::Rollback, None).await.unwrap();
    set_level(scene, &level, &[rpm, tpm]).await;
    assert_eq!((available(scene).await, consumed(scene, "rpm").await), (40, 20));
}

async fn a_take_that_leaves_the_refill_sets_back_a_clock_that_was_ahead(scene: &Scene) {
    set_limits(scene, &[per_minute("rpm", 6_000)]).await;
    granted(take(scene, 5_999).await);
    granted(take(scene, 1).await);
    let other = scene.another().await.namespace(scene.ns.name()).await.unwrap();
    scene.clock.advance_ms(30 * MINUTE_MS);
    granted(other.acquire(&request("user", &[("rpm", 1)], &[])).await.unwrap());
    turn_back(scene, 30 * MINUTE_MS);
    // This process last saw an empty bucket that was refilled now.
    scene.clock.advance_ms(1_000);
    granted(take(scene, 1).await);
    assert_eq!(shard(scene, "user", 0).await.unwrap().refilled_ms, scene.now_ms());
}

async fn a_bucket_that_refills_slowly_recovers_from_a_clock_that_was_ahead(scene: &Scene) {
    let slow = Limit { refill_amount: 1, refill_period_seconds: 200, ..per_minute("rpm", 2) };
    set_limits(scene, &[slow]).await;
    granted(take(scene, 2).await);
    scene.clock.advance_ms(300 * MINUTE_MS);
    granted(take(scene, 2).await);
    turn_back(scene, 300 * MINUTE_MS);
    // Time that was granted before is granted again a minute at a time.
    for wait_ms in [60_000, 60_000, 60_000, 20_000] {
        assert_eq!(refused(take(scene, 1).await).retry_after_ms, wait_ms);
        scene.clock.advance_ms(wait_ms.cast_unsigned());
    }
    granted(take(scene, 1).await);
    refused(take(scene, 1).await);
}
