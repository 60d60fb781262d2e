//! Buckets that are too hot for one partition.

use std::collections::BTreeSet;

use weir_limiter::acquire::Acquired;
use weir_limiter::bucket::Limit;
use weir_limiter::item;
use weir_table::expr::set;
use weir_table::{Get, Write};

use crate::acquire::{granted, refused, request};
use crate::scene::{Scene, entity, limit_name, per_minute, resource};

/// These scenarios apply only where buckets are split.
macro_rules! sharded {
    ($($scenario:ident),* $(,)?) => {
        mod dynamodb_local {
            $(
                #[test]
                fn $scenario() {
                    crate::scene::dynamodb_local(async |scene| super::$scenario(scene).await);
                }
            )*
        }
    };
}

sharded!(
    a_hot_bucket_is_split_and_nothing_is_minted,
    a_large_request_gathers_from_several_shards,
    an_empty_shard_falls_back_to_one_that_can_pay,
    another_process_learns_of_the_split,
    metered_writes_refill_with_time,
);

pub(crate) async fn shards(scene: &Scene, who: &str) -> Vec<weir_limiter::bucket::Bucket> {
    let table = scene.limiter.settings().table.as_str();
    let mut found = Vec::new();
    for shard in 0..32 {
        let key =
            weir_limiter::keys::bucket(scene.ns.id(), &entity(who), &resource("gpt-4"), shard);
        if let Some(item) = scene.store.get(&Get::new(table, key)).await.unwrap() {
            found.push(item::decode(&item));
        }
    }
    found
}

pub(crate) fn limits() -> [Limit; 1] {
    [Limit { refill_amount: 60, ..per_minute("rpm", 10_000) }]
}

/// Takes until the bucket has `count` shards: existing shards are made to look hot, which time would undo. Returns how
/// many tokens were taken.
pub(crate) async fn heat(scene: &Scene, who: &str, count: usize) -> i64 {
    let ask = request(who, &[("rpm", 1)], &limits());
    granted(scene.ns.acquire(&ask).await.unwrap());
    let mut taken = 1;
    while shards_of(scene, who).await < count {
        for shard in 0..u32::try_from(shards_of(scene, who).await).unwrap() {
            let key = weir_limiter::keys::bucket(scene.ns.id(), &entity(who), &ask.resource, shard);
            let table = scene.limiter.settings().table.as_str();
            let hot = Write::update(table, key, set("b_wcu_tk", 0));
            assert!(scene.store.write(hot).await.unwrap().is_applied());
        }
        granted(scene.ns.acquire(&ask).await.unwrap());
        taken += 1;
    }
    taken
}

async fn shards_of(scene: &Scene, who: &str) -> usize {
    shards(scene, who).await.len()
}

pub(crate) fn sum(shards: &[weir_limiter::bucket::Bucket]) -> (i64, i64) {
    let rpm = limit_name("rpm");
    let meters = shards.iter().map(|shard| shard.meter(&rpm).unwrap());
    meters.fold((0, 0), |sum, meter| (sum.0 + meter.level.tokens, sum.1 + meter.consumed))
}

async fn a_hot_bucket_is_split_and_nothing_is_minted(scene: &Scene) {
    let taken = heat(scene, "hot", 4).await;
    let shards = shards(scene, "hot").await;
    assert_eq!(shards.len(), 4);
    assert_eq!(sum(&shards), (10_000_000 - taken * 1000, taken * 1000));
    let counts: BTreeSet<u32> = shards.iter().map(|shard| shard.shard_count).collect();
    assert_eq!(counts, BTreeSet::from([4]));
    assert_eq!(shards[0].expires, None, "the first shard says how many there are, so it stays");
    assert!(shards[1].expires.is_some());
    for shard in &shards {
        for meter in &shard.meters {
            assert!(meter.level.tokens <= shard.share(meter).capacity, "{shard:?}");
        }
    }
}

async fn a_large_request_gathers_from_several_shards(scene: &Scene) {
    let taken = heat(scene, "hot", 4).await;
    let rest = 10_000 - taken;
    let ask = request("hot", &[("rpm", rest)], &limits());
    let all = granted(scene.ns.acquire(&ask).await.unwrap());
    let from = &all.grant.takes[0].shards;
    assert!(from.len() > 1, "{from:?}");
    assert_eq!(all.limits[0].available_milli, 0);
    let given: i64 = from.iter().map(|take| take.amounts[0].1).sum();
    assert_eq!(given, rest * 1000);
    let no = refused(scene.ns.acquire(&request("hot", &[("rpm", 1)], &limits())).await.unwrap());
    assert_eq!((no.limits[0].available_milli, no.retry_after_ms), (0, 1_000));
}

async fn an_empty_shard_falls_back_to_one_that_can_pay(scene: &Scene) {
    let taken = heat(scene, "hot", 2).await;
    // Whatever shard is picked first, everything can be taken one by one.
    let ask = request("hot", &[("rpm", 500)], &limits());
    let mut more = 0;
    while let Acquired::Granted(_) = scene.ns.acquire(&ask).await.unwrap() {
        more += 500;
    }
    assert_eq!((10_000 - taken) / 500 * 500, more);
}

async fn another_process_learns_of_the_split(scene: &Scene) {
    let process = scene.another().await;
    let ns = process.namespace(scene.ns.name()).await.unwrap();
    let ask = request("hot", &[("rpm", 1)], &limits());
    granted(ns.acquire(&ask).await.unwrap());
    heat(scene, "hot", 2).await;
    let used = async || {
        let shards = shards(scene, "hot").await;
        shards.last().unwrap().meter(&limit_name("rpm")).unwrap().consumed
    };
    let before = used().await;
    for _ in 0..40 {
        granted(ns.acquire(&ask).await.unwrap());
    }
    assert!(used().await > before, "it takes from the new shard too");
}

async fn metered_writes_refill_with_time(scene: &Scene) {
    let ask = request("warm", &[("rpm", 1)], &limits());
    granted(scene.ns.acquire(&ask).await.unwrap());
    // A hundred writes are left of this second's thousand.
    let key = weir_limiter::keys::bucket(scene.ns.id(), &entity("warm"), &ask.resource, 0);
    let table = scene.limiter.settings().table.as_str();
    scene.store.write(Write::update(table, key, set("b_wcu_tk", 100_000))).await.unwrap();
    for _ in 0..3 {
        for _ in 0..90 {
            granted(scene.ns.acquire(&ask).await.unwrap());
        }
        scene.clock.advance_ms(100);
    }
    assert_eq!(shards_of(scene, "warm").await, 1, "900 writes a second are not hot");
}
