//! Settling leases: the effect on buckets.

use std::collections::BTreeMap;

use weir_limiter::acquire::Granted;
use weir_limiter::bucket::{Bucket, Limit, MILLI, ShardTake};
use weir_limiter::ids::LimitName;
use weir_limiter::item::{self, BucketId};
use weir_limiter::lease::{EntityTake, Grant, Lease, LeaseState, OnExpiry, Settle};
use weir_limiter::{Error, keys};
use weir_table::{Get, Item, Write};

use crate::scene::{Scene, entity, eventually, limit_name, per_minute, resource};
use crate::watched::Calls;

scenes!(
    an_adjustment_takes_from_and_refunds_child_and_parent_alike,
    a_refund_never_exceeds_the_capacity,
    a_lease_whose_bucket_is_gone_is_settled_all_the_same,
    a_lease_whose_bucket_has_expired_takes_from_a_full_one,
    a_debt_is_not_lost_in_a_refill,
    a_consume_takes_what_is_available_and_is_refused_otherwise,
    a_refused_parent_spares_the_child,
    refunds_go_back_to_the_shards_that_paid,
    a_consume_reads_all_shards,
    a_commit_is_one_write_and_an_adjustment_two_calls,
    a_degraded_lease_is_settled_without_the_store,
    a_parent_pays_only_for_limits_it_has,
    a_lease_that_is_dropped_is_rolled_back,
    a_lease_in_process_that_is_committed_at_once_writes_nothing,
);

/// The limits of buckets here: 100 requests and 1000 tokens a minute.
pub(crate) fn limits() -> [Limit; 2] {
    [per_minute("rpm", 100), per_minute("tpm", 1000)]
}

/// Tokens of limits, as a settle request has them.
pub(crate) fn amounts(of: &[(&str, i64)]) -> BTreeMap<LimitName, i64> {
    of.iter().map(|(name, amount)| (limit_name(name), *amount)).collect()
}

pub(crate) fn adjust(of: &[(&str, i64)]) -> Settle {
    Settle::Adjust(amounts(of))
}

fn bucket_id(scene: &Scene, whose: &str) -> BucketId {
    let ns = scene.ns.id().clone();
    BucketId { ns, entity: entity(whose), resource: resource("gpt-4") }
}

/// Stores a bucket.
pub(crate) async fn put_bucket(scene: &Scene, whose: &str, bucket: &Bucket) {
    put(scene, item::encode(&bucket_id(scene, whose), bucket)).await;
}

async fn put(scene: &Scene, item: Item) {
    let table = scene.limiter.settings().table.clone();
    // Unlike a single put it answers nothing, so a slow store may be asked again.
    scene.store.batch_write(vec![Write::put(table, item)]).await.unwrap();
}

async fn get(scene: &Scene, key: weir_table::Key) -> Option<Item> {
    let table = scene.limiter.settings().table.clone();
    scene.store.get(&Get::new(table, key)).await.unwrap()
}

/// A shard of a bucket as it is stored.
pub(crate) async fn shard(scene: &Scene, whose: &str, shard: u32) -> Option<Bucket> {
    let BucketId { ns, entity, resource } = bucket_id(scene, whose);
    let found = get(scene, keys::bucket(&ns, &entity, &resource, shard)).await;
    found.as_ref().map(item::decode)
}

/// Available and consumed tokens of a limit in a bucket.
pub(crate) async fn balance(scene: &Scene, whose: &str, limit: &str) -> (i64, i64) {
    let bucket = shard(scene, whose, 0).await.unwrap();
    let meter = bucket.meter(&limit_name(limit)).unwrap();
    (meter.level.tokens / MILLI, meter.consumed / MILLI)
}

/// Creates a full bucket for each entity, takes `tokens` from it as an acquire would, and returns the grant.
pub(crate) async fn taken(scene: &Scene, whose: &[&str], tokens: &[(&str, i64)]) -> Grant {
    let milli: Vec<(LimitName, i64)> =
        amounts(tokens).into_iter().map(|(name, amount)| (name, amount * MILLI)).collect();
    let mut takes = Vec::new();
    for who in whose {
        let mut bucket = Bucket::full(&limits(), 0, 1, scene.now_ms());
        for (name, amount) in &milli {
            bucket.take(name, *amount);
        }
        put_bucket(scene, who, &bucket).await;
        let shards = vec![ShardTake { shard: 0, amounts: milli.clone() }];
        takes.push(EntityTake { entity: entity(who), shards });
    }
    Grant {
        id: format!("{:022}", fastrand::u64(..)),
        ns: scene.ns.id().clone(),
        resource: resource("gpt-4"),
        takes,
        taken_ms: scene.now_ms(),
        expires_ms: scene.now_ms() + 600_000,
        on_expiry: OnExpiry::Keep,
        degraded: false,
    }
}

/// The item of a lease.
pub(crate) async fn lease_item(scene: &Scene, grant: &Grant) -> Option<Item> {
    get(scene, keys::lease(&grant.ns, &grant.id)).await
}

async fn an_adjustment_takes_from_and_refunds_child_and_parent_alike(scene: &Scene) {
    let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
    let more = adjust(&[("rpm", 5), ("tpm", 1500)]);
    let settled = scene.ns.settle(&grant, &more, None).await.unwrap();
    assert_eq!(settled.net, amounts(&[("rpm", 15), ("tpm", 1500)]));
    assert_eq!((settled.state, &settled.refused), (LeaseState::Open, &None));
    for who in ["user", "team"] {
        assert_eq!(balance(scene, who, "rpm").await, (85, 15), "{who}");
        assert_eq!(balance(scene, who, "tpm").await, (-500, 1500), "a debt of {who}");
    }
    scene.ns.settle(&grant, &adjust(&[("rpm", -12), ("tpm", 1)]), None).await.unwrap();
    let part = Settle::Release(amounts(&[("tpm", 1000)]));
    let settled = scene.ns.settle(&grant, &part, None).await.unwrap();
    assert_eq!(settled.net, amounts(&[("rpm", 3), ("tpm", 501)]));
    assert_eq!(settled.state, LeaseState::Open);
    for who in ["user", "team"] {
        assert_eq!(balance(scene, who, "rpm").await, (97, 3), "{who}");
        assert_eq!(balance(scene, who, "tpm").await, (499, 501), "{who}");
    }
    let settled = scene.ns.settle(&grant, &Settle::Rollback, None).await.unwrap();
    assert_eq!(settled.state, LeaseState::RolledBack);
    assert_eq!(settled.net, amounts(&[("rpm", 0), ("tpm", 0)]));
    for who in ["user", "team"] {
        assert_eq!(balance(scene, who, "rpm").await, (100, 0), "{who}");
        assert_eq!(balance(scene, who, "tpm").await, (1000, 0), "{who}");
    }
}

async fn a_refund_never_exceeds_the_capacity(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    // A minute later somebody looked, and the bucket was full again.
    scene.clock.advance_ms(60_000);
    let refilled = shard(scene, "user", 0).await.unwrap().refilled(scene.now_ms());
    put_bucket(scene, "user", &refilled).await;
    scene.ns.settle(&grant, &adjust(&[("rpm", -4)]), None).await.unwrap();
    assert_eq!(balance(scene, "user", "rpm").await, (100, 6));
    scene.ns.settle(&grant, &Settle::Release(BTreeMap::new()), None).await.unwrap();
    assert_eq!(balance(scene, "user", "rpm").await, (100, 0), "what was consumed counts whole");
}

async fn a_lease_whose_bucket_is_gone_is_settled_all_the_same(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    let (table, id) = (scene.limiter.settings().table.clone(), bucket_id(scene, "user"));
    let key = keys::bucket(&id.ns, &id.entity, &id.resource, 0);
    scene.store.write(Write::delete(table, key)).await.unwrap();
    let more = Settle::Consume(amounts(&[("rpm", 1)]));
    let error = scene.ns.settle(&grant, &more, None).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: "bucket", .. }), "{error}");
    let settled = scene.ns.settle(&grant, &adjust(&[("rpm", -2)]), None).await.unwrap();
    assert_eq!(settled.net, amounts(&[("rpm", 8)]));
    let settled = scene.ns.settle(&grant, &adjust(&[("rpm", 5)]), None).await.unwrap();
    assert_eq!(settled.net, amounts(&[("rpm", 13)]), "the lease holds what was reported");
    let settled = scene.ns.settle(&grant, &Settle::Rollback, None).await.unwrap();
    assert_eq!(settled.state, LeaseState::RolledBack);
    assert_eq!(shard(scene, "user", 0).await, None);
}

async fn a_lease_whose_bucket_has_expired_takes_from_a_full_one(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    let mut bucket = shard(scene, "user", 0).await.unwrap();
    bucket.expires = Some(scene.now_ms() / MILLI);
    put_bucket(scene, "user", &bucket).await;
    let settled = scene.ns.settle(&grant, &adjust(&[("rpm", 25)]), None).await.unwrap();
    assert_eq!(settled.net, amounts(&[("rpm", 35)]));
    assert_eq!(balance(scene, "user", "rpm").await, (75, 35));
    let expires = shard(scene, "user", 0).await.unwrap().expires.unwrap();
    assert!(expires > scene.now_ms() / MILLI);
}

async fn a_debt_is_not_lost_in_a_refill(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 50), ("tpm", 1000)]).await;
    scene.clock.advance_ms(48_000);
    // The requests are full again by now, the tokens are not.
    scene.ns.settle(&grant, &adjust(&[("rpm", 30), ("tpm", 100)]), None).await.unwrap();
    let now = shard(scene, "user", 0).await.unwrap().refilled(scene.now_ms());
    assert_eq!(now.meter(&limit_name("rpm")).unwrap().level.tokens, 70_000);
    assert_eq!(now.meter(&limit_name("tpm")).unwrap().level.tokens, 700_000);
    // Not full: the order does not matter, and the refill is left to others.
    let before = now.refilled_ms;
    scene.clock.advance_ms(1_000);
    scene.ns.settle(&grant, &adjust(&[("rpm", 1), ("tpm", -100)]), None).await.unwrap();
    assert_eq!(shard(scene, "user", 0).await.unwrap().refilled_ms, before);
}

async fn a_consume_takes_what_is_available_and_is_refused_otherwise(scene: &Scene) {
    let grant = taken(scene, &["user", "team"], &[("rpm", 60)]).await;
    let consume = |n| Settle::Consume(amounts(&[("rpm", n)]));
    let settled = scene.ns.settle(&grant, &consume(40), Some("a")).await.unwrap();
    assert_eq!((settled.refused, settled.net), (None, amounts(&[("rpm", 100)])));
    let settled = scene.ns.settle(&grant, &consume(50), Some("b")).await.unwrap();
    assert_eq!(settled.net, amounts(&[("rpm", 100)]));
    let refused = settled.refused.unwrap();
    assert_eq!(refused.retry_after_ms, 30_000);
    let seen: Vec<(&str, i64, i64, i64)> = refused
        .limits
        .iter()
        .map(|l| (l.entity.as_str(), l.available_milli, l.requested, l.deficit_milli))
        .collect();
    assert_eq!(seen, [("user", 0, 50, 50_000), ("team", 0, 50, 50_000)]);
    assert_eq!(refused.limits[0].limit, per_minute("rpm", 100));
    scene.clock.advance_ms(30_000);
    let settled = scene.ns.settle(&grant, &consume(50), Some("b")).await.unwrap();
    assert_eq!((settled.refused, settled.net), (None, amounts(&[("rpm", 150)])));
    for who in ["user", "team"] {
        assert_eq!(balance(scene, who, "rpm").await, (0, 150), "{who}");
    }
    let error = scene.ns.settle(&grant, &consume(101), None).await.unwrap_err();
    assert!(error.to_string().contains("capacity is 100"), "{error}");
}

async fn a_refused_parent_spares_the_child(scene: &Scene) {
    let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
    let mut team = shard(scene, "team", 0).await.unwrap();
    team.take(&limit_name("rpm"), 85_000);
    put_bucket(scene, "team", &team).await;
    let more = Settle::Consume(amounts(&[("rpm", 6)]));
    let refused = scene.ns.settle(&grant, &more, None).await.unwrap().refused.unwrap();
    assert_eq!(refused.retry_after_ms, 600);
    assert_eq!(refused.limits[0].deficit_milli, 0);
    assert_eq!(balance(scene, "user", "rpm").await, (90, 10));
    assert_eq!(balance(scene, "team", "rpm").await, (5, 95));
}

/// A bucket of four shards, and a lease that took 30 from the third and 20 from the second.
async fn sharded(scene: &Scene) -> Grant {
    let mut grant = taken(scene, &["user"], &[("rpm", 1)]).await;
    for n in 0..4 {
        put_bucket(scene, "user", &Bucket::full(&limits(), n, 4, scene.now_ms())).await;
    }
    grant.takes[0].shards.clear();
    for (n, tokens) in [(2, 25), (1, 20)] {
        let mut bucket = shard(scene, "user", n).await.unwrap();
        bucket.take(&limit_name("rpm"), tokens * MILLI);
        put_bucket(scene, "user", &bucket).await;
        let amounts = [(limit_name("rpm"), tokens * MILLI)].into();
        grant.takes[0].shards.push(ShardTake { shard: n, amounts });
    }
    grant
}

async fn levels(scene: &Scene) -> Vec<i64> {
    let mut levels = Vec::new();
    for n in 0..4 {
        let bucket = shard(scene, "user", n).await.unwrap();
        levels.push(bucket.meter(&limit_name("rpm")).unwrap().level.tokens / MILLI);
    }
    levels
}

async fn refunds_go_back_to_the_shards_that_paid(scene: &Scene) {
    let grant = sharded(scene).await;
    assert_eq!(levels(scene).await, [25, 5, 0, 25]);
    scene.ns.settle(&grant, &adjust(&[("rpm", -22)]), None).await.unwrap();
    assert_eq!(levels(scene).await, [25, 25, 2, 25]);
    scene.ns.settle(&grant, &adjust(&[("rpm", 7)]), None).await.unwrap();
    assert_eq!(levels(scene).await, [25, 18, 2, 25]);
    scene.ns.settle(&grant, &Settle::Rollback, None).await.unwrap();
    assert_eq!(levels(scene).await, [25, 25, 25, 25]);
}

async fn a_consume_reads_all_shards(scene: &Scene) {
    let grant = sharded(scene).await;
    let consume = |n| Settle::Consume(amounts(&[("rpm", n)]));
    let refused = scene.ns.settle(&grant, &consume(56), None).await.unwrap().refused.unwrap();
    assert_eq!(refused.limits[0].available_milli, 55_000);
    assert_eq!(refused.retry_after_ms, 600);
    let settled = scene.ns.settle(&grant, &consume(52), None).await.unwrap();
    assert_eq!(settled.net, amounts(&[("rpm", 97)]));
    assert_eq!(levels(scene).await, [0, 3, 0, 0]);
    scene.ns.settle(&grant, &Settle::Rollback, None).await.unwrap();
    assert_eq!(levels(scene).await, [25, 25, 25, 25]);
}

async fn a_commit_is_one_write_and_an_adjustment_two_calls(scene: &Scene) {
    let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
    scene.watch.reset();
    scene.ns.settle(&grant, &Settle::Commit, None).await.unwrap();
    assert_eq!(scene.watch.calls(), Calls { writes: 1, ..Calls::default() });
    let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
    scene.watch.reset();
    scene.ns.settle(&grant, &adjust(&[("rpm", 1)]), None).await.unwrap();
    let two = Calls { batch_gets: 1, transactions: 1, ..Calls::default() };
    assert_eq!(scene.watch.calls(), two);
}

async fn a_degraded_lease_is_settled_without_the_store(scene: &Scene) {
    let mut grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    grant.degraded = true;
    scene.clock.advance_ms(1_000_000);
    scene.watch.reset();
    let settled = scene.ns.settle(&grant, &adjust(&[("rpm", 5)]), None).await.unwrap();
    assert_eq!((settled.degraded, settled.net), (true, amounts(&[("rpm", 15)])));
    for (settle, state, tokens) in [
        (Settle::Commit, LeaseState::Committed, 10),
        (Settle::Rollback, LeaseState::RolledBack, 0),
        (Settle::Release(BTreeMap::new()), LeaseState::Released, 0),
    ] {
        let settled = scene.ns.settle(&grant, &settle, Some("k")).await.unwrap();
        assert_eq!((settled.state, settled.net), (state, amounts(&[("rpm", tokens)])));
    }
    grant.takes.clear();
    let settled = scene.ns.settle(&grant, &adjust(&[("rpm", -5)]), None).await.unwrap();
    assert_eq!(settled.net, amounts(&[("rpm", 0)]));
    let commit = Settle::CommitActual(amounts(&[("rpm", 4)]));
    let settled = scene.ns.settle(&grant, &commit, None).await.unwrap();
    assert_eq!((settled.state, settled.net), (LeaseState::Committed, amounts(&[("rpm", 4)])));
    grant.degraded = false;
    let settled = scene.ns.settle(&grant, &Settle::Rollback, None).await.unwrap();
    assert_eq!((settled.state, settled.degraded), (LeaseState::RolledBack, false), "a dry run");
    assert_eq!(scene.watch.calls(), Calls::default());
}

async fn a_parent_pays_only_for_limits_it_has(scene: &Scene) {
    let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
    let team = Bucket::full(&[per_minute("rpm", 90)], 0, 1, scene.now_ms());
    put_bucket(scene, "team", &team).await;
    scene.ns.settle(&grant, &adjust(&[("tpm", 5)]), None).await.unwrap();
    let more = Settle::Consume(amounts(&[("tpm", 5), ("rpm", 1)]));
    assert_eq!(scene.ns.settle(&grant, &more, None).await.unwrap().refused, None);
    assert_eq!(balance(scene, "user", "tpm").await, (990, 10));
    assert_eq!(balance(scene, "team", "rpm").await, (89, 1));
    assert!(shard(scene, "team", 0).await.unwrap().meter(&limit_name("tpm")).is_none());
    let error = scene.ns.settle(&grant, &adjust(&[("images", 1)]), None).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    scene.ns.settle(&grant, &Settle::Rollback, None).await.unwrap();
    assert_eq!(balance(scene, "user", "tpm").await, (1000, 0));
}

async fn a_lease_that_is_dropped_is_rolled_back(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    let mut lease = Lease::new(scene.ns.clone(), Granted { grant, limits: Vec::new() });
    lease.adjust(amounts(&[("rpm", 5)])).await.unwrap();
    assert_eq!(balance(scene, "user", "rpm").await, (85, 15));
    drop(lease);
    eventually(async || (balance(scene, "user", "rpm").await == (100, 0)).then_some(())).await;

    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    let lease = Lease::new(scene.ns.clone(), Granted { grant, limits: Vec::new() });
    assert_eq!(lease.rollback().await.unwrap().state, LeaseState::RolledBack);
    assert_eq!(balance(scene, "user", "rpm").await, (100, 0));

    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    let mut lease = Lease::new(scene.ns.clone(), Granted { grant, limits: Vec::new() });
    lease.adjust(amounts(&[("rpm", 5)])).await.unwrap();
    let (grant, settled) = (lease.grant().clone(), lease.commit().await.unwrap());
    assert_eq!((settled.state, settled.net), (LeaseState::Committed, amounts(&[("rpm", 15)])));
    assert_eq!(lease_item(scene, &grant).await.unwrap().s("state"), Some("committed"));
    assert_eq!(balance(scene, "user", "rpm").await, (85, 15));
}

async fn a_lease_in_process_that_is_committed_at_once_writes_nothing(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    scene.watch.reset();
    let lease = Lease::new(scene.ns.clone(), Granted { grant: grant.clone(), limits: Vec::new() });
    let settled = lease.commit().await.unwrap();
    assert_eq!((settled.state, settled.net), (LeaseState::Committed, amounts(&[("rpm", 10)])));
    assert_eq!(scene.watch.calls(), Calls::default());
    assert!(lease_item(scene, &grant).await.is_none());
    assert_eq!(balance(scene, "user", "rpm").await, (90, 10));
}
