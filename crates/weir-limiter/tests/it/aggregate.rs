//! Background work beyond usage: early refills and splits, and propagation.

use weir_limiter::bucket::{Bucket, Limit};
use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::item::BucketId;
use weir_table::feed::Change;

use crate::fed::{Aggregator, bucket_id, maintain, put, stored, take, used};
use crate::scene::{Scene, entity, eventually, limit_name, per_minute, resource};
use crate::watched::Strike;

scenes!(
    a_bucket_in_use_is_refilled_before_it_runs_dry,
    a_lagging_feed_loses_no_tokens,
    two_instances_that_maintain_at_once_refill_once,
    a_clock_that_goes_back_mints_nothing,
    refills_at_any_time_mint_and_lose_nothing,
    a_fault_during_maintenance_mints_nothing,
    buckets_that_are_idle_gone_or_shared_are_left_alone,
    a_hot_bucket_is_split_ahead_of_need,
    changed_limits_reach_every_live_bucket,
    an_interrupted_propagation_task_continues,
);

fn limits() -> [Limit; 2] {
    [per_minute("rpm", 60), per_minute("tpm", 6_000)]
}

/// A bucket that `rpm` tokens were taken from, and the change that shows it.
async fn spent(scene: &Scene, who: &str, rpm: i64) -> (BucketId, Bucket, Change) {
    let id = bucket_id(scene, who, "gpt-4");
    let before = Bucket::full(&limits(), 0, 1, scene.now_ms());
    let mut after = before.clone();
    after.take(&limit_name("rpm"), rpm * 1_000);
    put(scene, &id, &after).await;
    let change = used(&id, 0, scene.now_ms(), &before, &after);
    (id, after, change)
}

async fn a_bucket_in_use_is_refilled_before_it_runs_dry(scene: &Scene) {
    let (id, bucket, change) = spent(scene, "user-1", 50).await;
    assert_eq!(
        maintain(&scene.limiter, std::slice::from_ref(&change)).await.unwrap(),
        0,
        "no time yet"
    );
    scene.clock.advance_ms(10_500);
    assert_eq!(maintain(&scene.limiter, std::slice::from_ref(&change)).await.unwrap(), 1);
    let refilled = bucket.refilled(scene.now_ms());
    assert_eq!(stored(scene, &id, 0).await.unwrap(), refilled, "every limit of the item");
    assert_eq!(refilled.meter(&limit_name("rpm")).unwrap().level.tokens, 20_500);
    assert_eq!(maintain(&scene.limiter, std::slice::from_ref(&change)).await.unwrap(), 0, "once");
    // What sufficed for what was used lately is left alone.
    scene.clock.advance_ms(40_000);
    assert_eq!(maintain(&scene.limiter, &[change]).await.unwrap(), 0);
}

async fn a_lagging_feed_loses_no_tokens(scene: &Scene) {
    let id = bucket_id(scene, "user-1", "gpt-4");
    let full = Bucket::full(&limits(), 0, 1, scene.now_ms());
    let spend = |mut bucket: Bucket| {
        bucket.take(&limit_name("rpm"), 45_000);
        bucket
    };
    let first = spend(full.clone());
    let refilled = first.refilled(scene.now_ms() + 60_000);
    let seen = Bucket { refilled_ms: scene.now_ms(), ..spend(refilled.clone()) };
    let changes = [
        used(&id, 0, scene.now_ms(), &full, &first),
        used(&id, 0, scene.now_ms(), &first, &refilled),
        used(&id, 0, scene.now_ms(), &refilled, &seen),
    ];
    put(scene, &id, &seen).await;
    take(scene, &id, "rpm", 15_000).await;
    // The feed would make it full; in truth there is room for all of fifty seconds.
    scene.clock.advance_ms(50_000);
    assert_eq!(maintain(&scene.limiter, &changes).await.unwrap(), 1);
    let now = stored(scene, &id, 0).await.unwrap();
    assert_eq!(now.meter(&limit_name("rpm")).unwrap().level.tokens, 50_000);
}

async fn two_instances_that_maintain_at_once_refill_once(scene: &Scene) {
    let (id, bucket, change) = spent(scene, "user-1", 50).await;
    let other = scene.another().await;
    scene.clock.advance_ms(10_000);
    let changes = [change];
    let (one, two) = tokio::join!(maintain(&scene.limiter, &changes), maintain(&other, &changes));
    assert_eq!(one.unwrap() + two.unwrap(), 1);
    assert_eq!(stored(scene, &id, 0).await.unwrap(), bucket.refilled(scene.now_ms()));
}

async fn a_clock_that_goes_back_mints_nothing(scene: &Scene) {
    let (id, bucket, change) = spent(scene, "user-1", 50).await;
    scene.clock.advance_ms(10_000);
    let changes = [change];
    maintain(&scene.limiter, &changes).await.unwrap();
    let at_ms = u64::try_from(scene.now_ms()).unwrap() - 3_600_000;
    let settings = scene.limiter.settings().clone();
    let clock = weir_table::clock::Clock::manual(at_ms);
    let late = weir_limiter::Limiter::new(scene.store.clone(), clock, settings);
    assert_eq!(maintain(&late, &changes).await.unwrap(), 0);
    scene.clock.advance_ms(1_000);
    maintain(&scene.limiter, &changes).await.unwrap();
    assert_eq!(stored(scene, &id, 0).await.unwrap(), bucket.refilled(scene.now_ms()));
}

async fn refills_at_any_time_mint_and_lose_nothing(scene: &Scene) {
    let odd = Limit { refill_amount: 7, ..per_minute("rpm", 11) };
    let id = bucket_id(scene, "user-1", "gpt-4");
    let mut model = Bucket::full(&[odd], 0, 1, scene.now_ms());
    put(scene, &id, &model).await;
    let mut random = fastrand::Rng::with_seed(7);
    let mut refills = 0;
    for _ in 0..60 {
        let before = stored(scene, &id, 0).await.unwrap();
        let there = before.meter(&limit_name("rpm")).unwrap().level.tokens;
        if there >= 3_000 {
            take(scene, &id, "rpm", 3_000).await;
            model = model.refilled(before.refilled_ms);
            model.take(&limit_name("rpm"), 3_000);
        }
        let after = stored(scene, &id, 0).await.unwrap();
        scene.clock.advance_ms(random.u64(0..20_000));
        // As if much had been used.
        let mut busy = after.clone();
        busy.take(&limit_name("rpm"), 100_000);
        busy.meters = with_tokens_of(&after, &busy);
        let change = used(&id, 0, scene.now_ms(), &before, &busy);
        refills += maintain(&scene.limiter, &[change]).await.unwrap();
        let now = stored(scene, &id, 0).await.unwrap();
        assert_eq!(now.refilled(scene.now_ms()).meters, model.refilled(scene.now_ms()).meters);
    }
    assert!(refills > 10, "{refills}");
}

/// The meters of `counted`, with the balances of `there`.
fn with_tokens_of(there: &Bucket, counted: &Bucket) -> Vec<weir_limiter::bucket::Meter> {
    let meters = there.meters.iter().zip(&counted.meters);
    meters
        .map(|(there, counted)| weir_limiter::bucket::Meter {
            level: there.level,
            ..counted.clone()
        })
        .collect()
}

async fn a_fault_during_maintenance_mints_nothing(scene: &Scene) {
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..2 {
            let who = format!("user-{strike:?}-{skip}");
            let (id, bucket, change) = spent(scene, &who, 50).await;
            scene.clock.advance_ms(10_000);
            let changes = [change];
            scene.watch.fail_once(skip, strike);
            assert!(maintain(&scene.limiter, &changes).await.is_err());
            maintain(&scene.limiter, &changes).await.unwrap();
            assert_eq!(stored(scene, &id, 0).await.unwrap(), bucket.refilled(scene.now_ms()));
        }
    }
}

async fn buckets_that_are_idle_gone_or_shared_are_left_alone(scene: &Scene) {
    let (id, bucket, change) = spent(scene, "user-1", 50).await;
    let removed = Change { old: change.new.clone(), new: None, ..change.clone() };
    let given_back = Change { old: change.new.clone(), new: change.old.clone(), ..change.clone() };
    scene.clock.advance_ms(10_000);
    assert_eq!(maintain(&scene.limiter, &[change.clone(), removed]).await.unwrap(), 0);
    assert_eq!(maintain(&scene.limiter, &[change.clone(), given_back]).await.unwrap(), 0);
    let mut settings = scene.limiter.settings().clone();
    settings.compat = weir_limiter::Compat::Zae;
    let shared = weir_limiter::Limiter::new(scene.store.clone(), scene.clock.clone(), settings);
    assert_eq!(maintain(&shared, &[change]).await.unwrap(), 0);
    assert_eq!(stored(scene, &id, 0).await.unwrap(), bucket);
}

async fn a_hot_bucket_is_split_ahead_of_need(scene: &Scene) {
    let id = bucket_id(scene, "user-1", "gpt-4");
    let mut bucket = Bucket::full(&limits(), 0, 1, scene.now_ms());
    let mut item = weir_limiter::item::encode(&id, &bucket);
    for (suffix, value) in [("tk", 1_000_000), ("cp", 1_000_000), ("ra", 1_000_000), ("rp", 1_000)]
    {
        item.set(format!("b_wcu_{suffix}"), i64::from(value));
    }
    item.set("b_wcu_tc", 0_i64);
    bucket = weir_limiter::item::decode(&item);
    bucket.take(&limit_name("rpm"), 20_000);
    put(scene, &id, &bucket).await;
    let written = |per_second: i64, second: i64| {
        let mut after = bucket.clone();
        for meter in &mut after.meters {
            if meter.name.as_str() == "wcu" {
                meter.consumed = per_second * second * 1_000;
            }
        }
        used(&id, 0, scene.now_ms() + second * 1_000, &bucket, &after)
    };
    for second in 0..20 {
        maintain(&scene.limiter, &[written(700, second)]).await.unwrap();
    }
    assert_eq!(stored(scene, &id, 0).await.unwrap().shard_count, 1);
    let hot = scene.another().await;
    for second in 0..8 {
        maintain(&hot, &[written(900, second)]).await.unwrap();
    }
    if !scene.sharded {
        assert_eq!(stored(scene, &id, 0).await.unwrap().shard_count, 1);
        return;
    }
    let shards = [stored(scene, &id, 0).await.unwrap(), stored(scene, &id, 1).await.unwrap()];
    assert!(shards.iter().all(|shard| shard.shard_count == 2));
    let rpm = |shard: &Bucket| shard.meter(&limit_name("rpm")).unwrap().level.tokens;
    assert_eq!(shards.iter().map(rpm).sum::<i64>(), 40_000, "nothing is minted or lost");
}

async fn set(scene: &Scene, level: &Level, rpm: u64) {
    let limits = vec![per_minute("rpm", rpm)];
    let config = LevelConfig { limits, ..LevelConfig::default() };
    scene.ns.set_limits(level, config, "somebody").await.unwrap();
}

/// The capacity of `rpm` that an entity's bucket has.
async fn capacity(scene: &Scene, who: &str) -> i64 {
    let bucket = stored(scene, &bucket_id(scene, who, "gpt-4"), 0).await.unwrap();
    bucket.meter(&limit_name("rpm")).unwrap().rate.capacity / 1_000
}

/// Runs feed and propagation until these entities have buckets of these capacities.
async fn reaches(scene: &Scene, aggregator: &mut Aggregator, expected: &[(&str, i64)]) {
    eventually(async || {
        aggregator.run().await.ok();
        scene.clock.advance_ms(6_000);
        scene.limiter.run_propagation().await.ok();
        for (who, rpm) in expected {
            if capacity(scene, who).await != *rpm {
                return None;
            }
        }
        Some(())
    })
    .await;
}

async fn changed_limits_reach_every_live_bucket(scene: &Scene) {
    set(scene, &Level::System, 60).await;
    set(scene, &Level::Entity(entity("own"), None), 60).await;
    for who in ["ann", "bob", "own"] {
        let bucket = Bucket::full(&[per_minute("rpm", 60)], 0, 1, scene.now_ms());
        put(scene, &bucket_id(scene, who, "gpt-4"), &bucket).await;
    }
    let mut aggregator = Aggregator::new(scene, "a").await;
    set(scene, &Level::Resource(resource("gpt-4")), 30).await;
    reaches(scene, &mut aggregator, &[("ann", 30), ("bob", 30), ("own", 60)]).await;
    set(scene, &Level::Entity(entity("own"), Some(resource("gpt-4"))), 90).await;
    scene.ns.delete_limits(&Level::Resource(resource("gpt-4")), "somebody").await.unwrap();
    reaches(scene, &mut aggregator, &[("ann", 60), ("bob", 60), ("own", 90)]).await;
    set(scene, &Level::System, 10).await;
    reaches(scene, &mut aggregator, &[("ann", 10), ("bob", 10), ("own", 90)]).await;
    eventually(async || {
        scene.clock.advance_ms(6_000);
        (scene.limiter.run_propagation().await.unwrap() == (0, false)).then_some(())
    })
    .await;
}

async fn an_interrupted_propagation_task_continues(scene: &Scene) {
    for who in ["ann", "bob"] {
        let bucket = Bucket::full(&[per_minute("rpm", 60)], 0, 1, scene.now_ms());
        put(scene, &bucket_id(scene, who, "gpt-4"), &bucket).await;
    }
    let mut aggregator = Aggregator::new(scene, "a").await;
    let mut rpm = 50;
    for strike in [Strike::Before, Strike::After] {
        for skip in [0, 2, 3, 4] {
            rpm -= 1;
            set(scene, &Level::System, rpm).await;
            // The note is written before anything fails.
            eventually(async || {
                // A fault that has not struck because the index lags is not the aggregator's.
                scene.watch.cancel();
                aggregator.run().await.unwrap();
                scene.clock.advance_ms(6_000);
                scene.watch.fail_once(skip, strike);
                let failed = scene.limiter.run_propagation().await.is_err();
                (failed || !scene.watch.is_planned()).then_some(())
            })
            .await;
            let rpm = i64::try_from(rpm).unwrap();
            reaches(scene, &mut aggregator, &[("ann", rpm), ("bob", rpm)]).await;
        }
    }
}
