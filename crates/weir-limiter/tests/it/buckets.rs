//! Live buckets: how they follow the config, their views, and operators' calls.

use std::collections::BTreeMap;

use weir_limiter::Error;
use weir_limiter::bucket::{Bucket, Limit};
use weir_limiter::buckets::BucketView;
use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::item::{self, BucketId};
use weir_table::{Get, Item, Write};

use crate::acquire::{granted, request};
use crate::scene::{Scene, entity, eventually, limit_name, per_minute, resource};
use crate::watched::Strike;

scenes!(
    a_change_of_limits_reaches_a_live_bucket_and_mints_nothing,
    a_deleted_level_gives_way_to_the_next,
    limits_on_all_resources_reach_every_bucket_of_the_entity,
    defaults_reach_live_buckets_page_by_page,
    shards_keep_their_writes_and_the_first_never_expires,
    concurrent_sets_leave_the_limits_that_apply,
    takes_during_a_change_of_limits_are_all_recorded,
    a_bucket_view_sums_all_shards,
    capacity_is_summed_by_page,
    a_reset_fills_and_a_top_up_stops_at_the_capacity,
    an_operation_with_an_idempotency_key_takes_effect_once,
    an_idempotency_key_of_another_call_is_refused,
    an_operation_on_a_missing_bucket_or_limit_is_refused,
);

fn config(limits: &[Limit]) -> LevelConfig {
    LevelConfig { limits: limits.to_vec(), ..LevelConfig::default() }
}

fn own() -> Level {
    Level::Entity(entity("user"), Some(resource("gpt-4")))
}

async fn set(scene: &Scene, level: &Level, limits: &[Limit]) {
    scene.ns.set_limits(level, config(limits), "tests").await.unwrap();
}

async fn take(scene: &Scene, who: &str, consume: &[(&str, i64)]) {
    granted(scene.ns.acquire(&request(who, consume, &[])).await.unwrap());
}

async fn seen(scene: &Scene) -> BucketView {
    scene.ns.bucket(&entity("user"), &resource("gpt-4")).await.unwrap().unwrap()
}

/// The available tokens of each limit.
fn there(view: &BucketView) -> Vec<(&str, i64)> {
    let limits = view.limits.iter();
    limits.map(|seen| (seen.limit.name.as_str(), seen.available_milli / 1_000)).collect()
}

fn id(scene: &Scene, who: &str, what: &str) -> BucketId {
    BucketId { ns: scene.ns.id().clone(), entity: entity(who), resource: resource(what) }
}

fn table(scene: &Scene) -> &str {
    &scene.limiter.settings().table
}

async fn put(scene: &Scene, id: &BucketId, shard: &Bucket) {
    scene.store.write(Write::put(table(scene), item::encode(id, shard))).await.unwrap();
}

async fn stored(scene: &Scene, id: &BucketId, shard: u32) -> Bucket {
    let key = weir_limiter::keys::bucket(&id.ns, &id.entity, &id.resource, shard);
    item::decode(&scene.store.get(&Get::new(table(scene), key)).await.unwrap().unwrap())
}

async fn a_change_of_limits_reaches_a_live_bucket_and_mints_nothing(scene: &Scene) {
    let (rpm, tpm) = (per_minute("rpm", 100), per_minute("tpm", 1_000));
    set(scene, &own(), &[rpm.clone(), tpm.clone()]).await;
    take(scene, "user", &[("rpm", 40), ("tpm", 100)]).await;
    for (limits, after) in [
        (vec![per_minute("rpm", 500), tpm.clone()], vec![("rpm", 60), ("tpm", 900)]),
        (vec![per_minute("rpm", 50), tpm.clone()], vec![("rpm", 50), ("tpm", 900)]),
        (vec![rpm.clone(), tpm], vec![("rpm", 50), ("tpm", 900)]),
        (vec![rpm.clone()], vec![("rpm", 50)]),
        (vec![rpm, per_minute("new", 7)], vec![("new", 7), ("rpm", 50)]),
    ] {
        set(scene, &own(), &limits).await;
        let view = seen(scene).await;
        assert_eq!(there(&view), after);
        let mut sorted = limits;
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        let shown: Vec<Limit> = view.limits.iter().map(|seen| seen.limit.clone()).collect();
        assert_eq!(shown, sorted);
    }
    // The time until a change counts at the old rate: 30 s of 100 a minute, then 500 a minute.
    take(scene, "user", &[("rpm", 50)]).await;
    scene.clock.advance_ms(30_000);
    set(scene, &own(), &[per_minute("rpm", 500)]).await;
    assert_eq!(there(&seen(scene).await), [("rpm", 50)]);
    scene.clock.advance_ms(6_000);
    assert_eq!(there(&seen(scene).await), [("rpm", 100)]);
    let consumed = seen(scene).await.limits[0].consumed_milli;
    assert_eq!(consumed, 90_000);
}

async fn a_deleted_level_gives_way_to_the_next(scene: &Scene) {
    set(scene, &own(), &[per_minute("rpm", 100)]).await;
    take(scene, "user", &[("rpm", 10)]).await;
    assert_eq!(seen(scene).await.expires_ms, None);
    set(scene, &Level::System, &[per_minute("rpm", 20)]).await;
    scene.ns.delete_limits(&own(), "tests").await.unwrap();
    let view = seen(scene).await;
    assert_eq!(there(&view), [("rpm", 20)]);
    // Leases of a bucket that did not expire may last a day; and up to the next five minutes.
    assert_eq!(view.expires_ms, Some(scene.now_ms() + 86_400_000 + 300_000));
    set(scene, &own(), &[per_minute("rpm", 20)]).await;
    assert_eq!(seen(scene).await.expires_ms, None);
    scene.ns.delete_limits(&Level::System, "tests").await.unwrap();
    scene.ns.delete_limits(&own(), "tests").await.unwrap();
    // Nothing holds any more: it keeps what it has.
    assert_eq!(there(&seen(scene).await), [("rpm", 20)]);
}

async fn limits_on_all_resources_reach_every_bucket_of_the_entity(scene: &Scene) {
    set(scene, &Level::System, &[per_minute("rpm", 100)]).await;
    for name in ["gpt-4", "claude"] {
        let mut ask = request("user", &[("rpm", 30)], &[]);
        ask.resource = resource(name);
        granted(scene.ns.acquire(&ask).await.unwrap());
    }
    take(scene, "other", &[("rpm", 30)]).await;
    let all = Level::Entity(entity("user"), None);
    let capacities = eventually(async || {
        // The index may not show the buckets at once.
        set(scene, &all, &[per_minute("rpm", 50)]).await;
        let buckets = scene.ns.buckets(&entity("user")).await.unwrap();
        let shown: Vec<_> = buckets
            .iter()
            .map(|bucket| (bucket.resource.to_string(), bucket.limits[0].limit.capacity))
            .collect();
        // It may also show one only after the set.
        (shown.len() == 2 && shown.iter().all(|(_, capacity)| *capacity == 50)).then_some(shown)
    })
    .await;
    assert_eq!(capacities, [("claude".to_owned(), 50), ("gpt-4".to_owned(), 50)]);
    let other = scene.ns.bucket(&entity("other"), &resource("gpt-4")).await.unwrap().unwrap();
    assert_eq!(other.limits[0].limit.capacity, 100);
}

async fn defaults_reach_live_buckets_page_by_page(scene: &Scene) {
    const USERS: usize = 30;
    let gpt = Level::Resource(resource("gpt-4"));
    set(scene, &gpt, &[per_minute("rpm", 100)]).await;
    set(scene, &Level::Entity(entity("u0"), None), &[per_minute("rpm", 7)]).await;
    for number in 0..USERS {
        take(scene, &format!("u{number}"), &[("rpm", 1)]).await;
    }
    let mut capacity = 40;
    for all in [false, true] {
        capacity += 10;
        set(scene, &gpt, &[per_minute("rpm", capacity)]).await;
        let another = scene.another().await.namespace(scene.ns.name()).await.unwrap();
        let mut changed = 0;
        eventually(async || {
            let (mut cursor, mut pages) = (None, 0);
            loop {
                let (done, next) = if all {
                    another.apply_limits_to_all(cursor).await.unwrap()
                } else {
                    another.apply_limits_to_resource(&resource("gpt-4"), cursor).await.unwrap()
                };
                changed += done;
                pages += 1;
                cursor = next;
                if cursor.is_none() {
                    assert!(changed < 25 || pages > 1);
                    return (changed as usize == USERS - 1).then_some(());
                }
            }
        })
        .await;
        for (user, expected) in [("u0", 7), ("u1", capacity), ("u29", capacity)] {
            let view = scene.ns.bucket(&entity(user), &resource("gpt-4")).await.unwrap().unwrap();
            assert_eq!(view.limits[0].limit.capacity, expected, "{user}");
        }
    }
}

async fn shards_keep_their_writes_and_the_first_never_expires(scene: &Scene) {
    let id = id(scene, "user", "gpt-4");
    let old = [per_minute("rpm", 100)];
    for shard in 0..4 {
        let mut bucket = Bucket::full(&old, shard, 4, scene.now_ms());
        bucket.take(&limit_name("rpm"), 20_000);
        put(scene, &id, &bucket).await;
    }
    set(scene, &Level::System, &[per_minute("rpm", 10)]).await;
    set(scene, &own(), &[per_minute("rpm", 201)]).await;
    let view = seen(scene).await;
    assert_eq!((view.shards, there(&view)), (4, vec![("rpm", 20)]));
    for shard in 0..4 {
        let bucket = stored(scene, &id, shard).await;
        assert_eq!(bucket.meters.len(), if scene.sharded { 2 } else { 1 });
        assert_eq!(bucket.expires, None);
    }
    scene.ns.delete_limits(&own(), "tests").await.unwrap();
    assert_eq!(there(&seen(scene).await), [("rpm", 10)]);
    for shard in 0..4 {
        let bucket = stored(scene, &id, shard).await;
        assert_eq!(bucket.expires.is_some(), shard != 0, "{shard}");
        assert_eq!(bucket.meters.len(), if scene.sharded { 2 } else { 1 });
    }
}

async fn concurrent_sets_leave_the_limits_that_apply(scene: &Scene) {
    set(scene, &own(), &[per_minute("rpm", 100)]).await;
    take(scene, "user", &[("rpm", 95)]).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=6 {
        let ns = scene.ns.clone();
        tasks.spawn(async move {
            ns.set_limits(&own(), config(&[per_minute("rpm", 100 * number)]), "tests")
                .await
                .unwrap();
        });
    }
    tasks.join_all().await;
    let holds = scene.ns.limits(&own()).await.unwrap().unwrap().limits;
    let view = seen(scene).await;
    assert_eq!(view.limits[0].limit, holds[0]);
    assert_eq!(there(&view), [("rpm", 5)]);
}

async fn takes_during_a_change_of_limits_are_all_recorded(scene: &Scene) {
    const TAKES: i64 = 40;
    set(scene, &own(), &[per_minute("rpm", 1_000)]).await;
    take(scene, "user", &[("rpm", 1)]).await;
    let ns = scene.ns.clone();
    let taking = tokio::spawn(async move {
        for _ in 0..TAKES {
            granted(ns.acquire(&request("user", &[("rpm", 1)], &[])).await.unwrap());
        }
    });
    for number in 1..=10 {
        set(scene, &own(), &[per_minute("rpm", 1_000 + number)]).await;
    }
    taking.await.unwrap();
    let view = seen(scene).await;
    assert_eq!(there(&view), [("rpm", 1_000 - TAKES - 1)]);
    assert_eq!(view.limits[0].consumed_milli, (TAKES + 1) * 1_000);
    assert_eq!(view.limits[0].limit.capacity, 1_010);
}

async fn a_bucket_view_sums_all_shards(scene: &Scene) {
    assert_eq!(scene.ns.bucket(&entity("user"), &resource("gpt-4")).await.unwrap(), None);
    let limits = [per_minute("rpm", 60)];
    for (name, shards) in [("gpt-4", 4), ("claude", 1)] {
        for shard in 0..shards {
            let bucket = Bucket::full(&limits, shard, shards, scene.now_ms());
            put(scene, &id(scene, "user", name), &bucket).await;
        }
    }
    let mut expired = Bucket::full(&limits, 0, 1, scene.now_ms());
    expired.expires = Some(scene.now_ms() / 1_000);
    put(scene, &id(scene, "user", "old"), &expired).await;
    // A late give-back of another program leaves an item that is no bucket.
    let bare = Item::new()
        .with("PK", format!("{}/BUCKET#user#bare#0", scene.ns.id()))
        .with("SK", "#STATE")
        .with("GSI3PK", format!("{}/ENTITY#user", scene.ns.id()))
        .with("GSI3SK", "BUCKET#bare#0")
        .with("b_rpm_tk", 5_000);
    scene.store.write(Write::put(table(scene), bare)).await.unwrap();
    let buckets = eventually(async || {
        let buckets = scene.ns.buckets(&entity("user")).await.unwrap();
        (buckets.len() == 2).then_some(buckets)
    })
    .await;
    let shown: Vec<_> = buckets
        .iter()
        .map(|bucket| (bucket.resource.as_str(), bucket.shards, there(bucket)))
        .collect();
    assert_eq!(shown, [("claude", 1, vec![("rpm", 60)]), ("gpt-4", 4, vec![("rpm", 60)])]);
    for gone in ["old", "bare"] {
        assert_eq!(scene.ns.bucket(&entity("user"), &resource(gone)).await.unwrap(), None);
    }
}

async fn capacity_is_summed_by_page(scene: &Scene) {
    let gpt = resource("gpt-4");
    for user in 0..5 {
        let limits = [per_minute("rpm", 10 + user), per_minute("tpm", 100)];
        let shards = if user == 2 { 4 } else { 1 };
        for shard in 0..shards {
            let mut bucket = Bucket::full(&limits, shard, shards, scene.now_ms());
            bucket.take(&limit_name("rpm"), 1_500);
            put(scene, &id(scene, &format!("u{user}"), "gpt-4"), &bucket).await;
        }
    }
    let (users, capacity, there) = eventually(async || {
        let (mut users, mut sums, mut cursor) = (Vec::new(), (0, 0), None);
        loop {
            let page = scene.ns.capacity(&gpt, 3, cursor).await.unwrap();
            assert_eq!(page.entities as usize, page.buckets.len());
            users.extend(page.buckets.iter().map(|bucket| bucket.entity.to_string()));
            if let Some((capacity, there)) = page.limits.get(&limit_name("rpm")) {
                sums = (sums.0 + capacity, sums.1 + there);
            }
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        (users.len() == 5).then_some((users, sums.0, sums.1))
    })
    .await;
    assert_eq!(users, ["u0", "u1", "u2", "u3", "u4"]);
    assert_eq!(capacity, 10 + 11 + 12 + 13 + 14);
    // Parts of a token are left out of each page's sum.
    assert!((capacity - 12 - 4..=capacity - 12).contains(&there), "{there}");
    scene.ns.capacity(&gpt, 3, Some("nonsense".to_owned())).await.unwrap_err();
    let none = scene.ns.capacity(&resource("unknown"), 3, None).await.unwrap();
    assert_eq!((none.entities, none.limits), (0, BTreeMap::new()));
}

async fn a_reset_fills_and_a_top_up_stops_at_the_capacity(scene: &Scene) {
    let (user, gpt) = (entity("user"), resource("gpt-4"));
    let id = id(scene, "user", "gpt-4");
    for shard in 0..2 {
        let mut bucket = Bucket::full(&[per_minute("rpm", 100)], shard, 2, scene.now_ms());
        bucket.take(&limit_name("rpm"), 60_000);
        put(scene, &id, &bucket).await;
    }
    assert_eq!(there(&seen(scene).await), [("rpm", -20)]);
    let amounts = |amount| BTreeMap::from([(limit_name("rpm"), amount)]);
    for (amount, after) in [(50, 30), (10, 40), (1_000, 100)] {
        let view =
            scene.ns.top_up_bucket(&user, &gpt, &amounts(amount), None, "tests").await.unwrap();
        assert_eq!(there(&view), [("rpm", after)]);
        assert_eq!(seen(scene).await, view);
        assert_eq!(view.limits[0].consumed_milli, 120_000);
    }
    let mut empty = stored(scene, &id, 1).await;
    empty.take(&limit_name("rpm"), 70_000);
    put(scene, &id, &empty).await;
    assert_eq!(there(&seen(scene).await), [("rpm", 30)]);
    for _ in 0..2 {
        let view = scene.ns.reset_bucket(&user, &gpt, None, "tests").await.unwrap();
        assert_eq!(there(&view), [("rpm", 100)]);
        assert_eq!(view.limits[0].consumed_milli, 190_000);
        assert_eq!(seen(scene).await, view);
    }
    for bad in [0, -1, i64::MAX] {
        let error = scene.ns.top_up_bucket(&user, &gpt, &amounts(bad), None, "tests").await;
        assert!(matches!(error, Err(Error::Invalid { .. })), "{bad}");
    }
}

async fn an_operation_with_an_idempotency_key_takes_effect_once(scene: &Scene) {
    let (user, gpt) = (entity("user"), resource("gpt-4"));
    set(scene, &own(), &[per_minute("rpm", 100)]).await;
    take(scene, "user", &[("rpm", 90)]).await;
    let amounts = BTreeMap::from([(limit_name("rpm"), 20)]);
    let top_up =
        async || scene.ns.top_up_bucket(&user, &gpt, &amounts, Some("key-1"), "tests").await;
    // The record and the bucket are read; the transaction is done, but its answer is lost.
    scene.watch.fail_once(2, Strike::After);
    assert!(top_up().await.unwrap_err().is_unavailable());
    assert_eq!(there(&seen(scene).await), [("rpm", 30)]);
    for _ in 0..2 {
        assert_eq!(there(&top_up().await.unwrap()), [("rpm", 30)]);
    }
    let reset = async || scene.ns.reset_bucket(&user, &gpt, Some("key-2"), "tests").await;
    scene.watch.fail_once(2, Strike::After);
    assert!(reset().await.unwrap_err().is_unavailable());
    take(scene, "user", &[("rpm", 60)]).await;
    assert_eq!(there(&reset().await.unwrap()), [("rpm", 40)]);
    // At once, and then after a day, when the key is forgotten.
    scene.clock.advance_ms(86_400_000 + 1_000);
    take(scene, "user", &[("rpm", 100)]).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let ns = scene.ns.clone();
        let (user, gpt, amounts) = (user.clone(), gpt.clone(), amounts.clone());
        tasks.spawn(async move {
            ns.top_up_bucket(&user, &gpt, &amounts, Some("key-1"), "tests").await.unwrap();
        });
    }
    tasks.join_all().await;
    assert_eq!(there(&seen(scene).await), [("rpm", 20)]);
}

async fn an_idempotency_key_of_another_call_is_refused(scene: &Scene) {
    let (user, gpt) = (entity("user"), resource("gpt-4"));
    set(scene, &own(), &[per_minute("rpm", 100)]).await;
    take(scene, "user", &[("rpm", 90)]).await;
    let amounts = |amount| BTreeMap::from([(limit_name("rpm"), amount)]);
    let key = Some("key");
    scene.ns.top_up_bucket(&user, &gpt, &amounts(5), key, "tests").await.unwrap();
    let other = scene.ns.top_up_bucket(&user, &gpt, &amounts(6), key, "tests").await;
    assert!(matches!(other, Err(Error::Conflict(_))));
    let reset = scene.ns.reset_bucket(&user, &gpt, key, "tests").await;
    assert!(matches!(reset, Err(Error::Conflict(_))));
    assert_eq!(there(&seen(scene).await), [("rpm", 15)]);
    for bad in [String::new(), "k".repeat(257)] {
        let error = scene.ns.reset_bucket(&user, &gpt, Some(&bad), "tests").await;
        assert!(matches!(error, Err(Error::Invalid { .. })));
    }
}

async fn an_operation_on_a_missing_bucket_or_limit_is_refused(scene: &Scene) {
    let (user, gpt) = (entity("user"), resource("gpt-4"));
    let amounts = BTreeMap::from([(limit_name("tpm"), 5)]);
    let missing = |error: Error, what: &str| matches!(error, Error::NotFound { kind: found, .. } if found == what);
    let error = scene.ns.reset_bucket(&user, &gpt, None, "tests").await.unwrap_err();
    assert!(missing(error, "bucket"));
    set(scene, &own(), &[per_minute("rpm", 100)]).await;
    take(scene, "user", &[("rpm", 90)]).await;
    let error = scene.ns.top_up_bucket(&user, &gpt, &amounts, None, "tests").await.unwrap_err();
    assert!(missing(error, "limit"));
    assert_eq!(there(&seen(scene).await), [("rpm", 10)]);
}
