//! From an acquire to the end of its lease.

use weir_limiter::acquire::{Acquire, Acquired};
use weir_limiter::bounds::LEASE_TTL_DEFAULT_MS;
use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::entities::NewEntity;
use weir_limiter::lease::{Grant, Lease, Leased, OnExpiry, Settle};

use crate::lease::{amounts, balance, lease_item, limits};
use crate::scene::{Scene, entity, eventually, per_minute, resource};
use crate::watched::Watched;

scenes!(
    a_lease_holds_what_was_taken_until_it_is_dropped,
    a_release_ends_a_refusal_at_once,
    an_acquire_that_nobody_settles_is_rolled_back,
    an_acquire_that_is_committed_is_kept,
);

fn ask(who: &str, rpm: i64, on_expiry: OnExpiry) -> Acquire {
    Acquire {
        entity: entity(who),
        resource: resource("gpt-4"),
        consume: amounts(&[("rpm", rpm)]),
        limits: Some(limits().to_vec()),
        lease_ttl_ms: LEASE_TTL_DEFAULT_MS,
        on_expiry,
        dry_run: false,
        idempotency_key: None,
    }
}

async fn lease(scene: &Scene, who: &str, rpm: i64) -> Lease<Watched> {
    match scene.ns.lease(&ask(who, rpm, OnExpiry::Keep)).await.unwrap() {
        Leased::Granted(lease) => lease,
        Leased::Refused(refused) => panic!("{refused:?}"),
    }
}

async fn acquire(scene: &Scene, who: &str, rpm: i64, on_expiry: OnExpiry) -> Grant {
    match scene.ns.acquire(&ask(who, rpm, on_expiry)).await.unwrap() {
        Acquired::Granted(granted) => granted.grant,
        Acquired::Refused(refused) => panic!("{refused:?}"),
    }
}

async fn is_refused(scene: &Scene, who: &str, rpm: i64) -> bool {
    let answer = scene.ns.acquire(&ask(who, rpm, OnExpiry::Keep)).await.unwrap();
    matches!(answer, Acquired::Refused(_))
}

async fn a_lease_holds_what_was_taken_until_it_is_dropped(scene: &Scene) {
    let kept = lease(scene, "user", 30).await;
    let mut held = lease(scene, "user", 60).await;
    assert_eq!(held.limits()[0].available_milli, 10_000);
    assert!(held.consume(amounts(&[("rpm", 11)])).await.unwrap().refused.is_some());
    assert!(held.consume(amounts(&[("rpm", 10)])).await.unwrap().refused.is_none());
    let refused = scene.ns.lease(&ask("user", 1, OnExpiry::Keep)).await.unwrap();
    assert!(matches!(refused, Leased::Refused(_)));
    kept.commit().await.unwrap();
    drop(held);
    eventually(async || (balance(scene, "user", "rpm").await == (70, 30)).then_some(())).await;
}

async fn a_release_ends_a_refusal_at_once(scene: &Scene) {
    let first = acquire(scene, "user", 80, OnExpiry::Keep).await;
    assert!(is_refused(scene, "user", 30).await);
    assert!(is_refused(scene, "user", 30).await);
    let release = Settle::Release(amounts(&[("rpm", 10)]));
    scene.ns.settle(&first, &release, None).await.unwrap();
    assert!(!is_refused(scene, "user", 30).await, "the clock stood still");
    assert_eq!(balance(scene, "user", "rpm").await, (0, 100));
}

/// A child whose parent pays too.
async fn cascading(scene: &Scene) {
    let config = LevelConfig { limits: vec![per_minute("rpm", 100)], ..LevelConfig::default() };
    scene.ns.set_limits(&Level::System, config, "test").await.unwrap();
    let team = NewEntity::default();
    scene.ns.put_entity(&entity("team"), team.clone(), "test").await.unwrap();
    let user = NewEntity { parent: Some(entity("team")), cascade: true, ..team };
    scene.ns.put_entity(&entity("user"), user, "test").await.unwrap();
}

async fn an_acquire_that_nobody_settles_is_rolled_back(scene: &Scene) {
    cascading(scene).await;
    // The first makes the buckets, the others take from them.
    for _ in 0..3 {
        let grant = acquire(scene, "user", 10, OnExpiry::Rollback).await;
        assert_eq!(grant.takes.len(), 2);
        assert_eq!(lease_item(scene, &grant).await.unwrap().s("state"), Some("open"));
    }
    let kept = acquire(scene, "user", 10, OnExpiry::Keep).await;
    assert!(lease_item(scene, &kept).await.is_none());
    eventually(async || (scene.limiter.open_leases().await.unwrap() == 3).then_some(())).await;
    for who in ["user", "team"] {
        assert_eq!(balance(scene, who, "rpm").await, (60, 40), "{who}");
    }
    scene.clock.advance_ms(LEASE_TTL_DEFAULT_MS.cast_unsigned());
    // In use again, so that the buckets are not forgotten.
    acquire(scene, "user", 1, OnExpiry::Keep).await;
    assert_eq!(scene.limiter.roll_back_expired(10).await.unwrap(), (3, false));
    for who in ["user", "team"] {
        assert_eq!(balance(scene, who, "rpm").await.0, 100, "{who}: it was full already");
    }
}

async fn an_acquire_that_is_committed_is_kept(scene: &Scene) {
    let grant = acquire(scene, "user", 10, OnExpiry::Rollback).await;
    let token = scene.limiter.lease_token(&grant);
    let other = scene.another().await.namespace(scene.ns.name()).await.unwrap();
    let grant = other.open_lease(&token).unwrap();
    other.settle(&grant, &Settle::Commit, None).await.unwrap();
    eventually(async || (scene.limiter.open_leases().await.unwrap() == 0).then_some(())).await;
    scene.clock.advance_ms(LEASE_TTL_DEFAULT_MS.cast_unsigned());
    assert_eq!(scene.limiter.roll_back_expired(10).await.unwrap(), (0, false));
    assert_eq!(balance(scene, "user", "rpm").await, (90, 10));
}
