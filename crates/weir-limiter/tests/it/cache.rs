//! The config cache: how often the store is read.

use weir_limiter::Namespace;
use weir_limiter::config::{CacheStatistics, Level, LevelConfig, OnUnavailable};

use crate::scene::{Scene, entity, per_minute, resource};
use crate::watched::{Calls, Strike, Watched};

scenes!(
    a_cold_resolve_is_one_batch_get_and_a_warm_one_none,
    missing_levels_are_cached_too,
    a_level_is_read_again_after_its_ttl,
    with_a_ttl_of_zero_every_resolve_reads,
    invalidated_levels_are_read_again,
    a_write_is_seen_at_once_here_and_after_a_while_elsewhere,
    a_stale_on_unavailable_still_applies_when_the_store_is_unavailable,
    a_lost_response_to_a_set_leaves_no_stale_level,
);

const BATCH: Calls = Calls { gets: 0, batch_gets: 1, writes: 0, transactions: 0, queries: 0 };
const NONE: Calls = Calls { batch_gets: 0, ..BATCH };

fn limits(capacity: u64) -> LevelConfig {
    LevelConfig { limits: vec![per_minute("rpm", capacity)], ..LevelConfig::default() }
}

async fn another(scene: &Scene) -> Namespace<Watched> {
    let ns = scene.another().await.namespace(scene.ns.name()).await.unwrap();
    scene.watch.reset();
    ns
}

/// The capacity that applies to a user, and the store calls that resolving it took.
async fn resolve(
    scene: &Scene,
    ns: &Namespace<Watched>,
    user: &str,
    on: &str,
) -> (Option<u64>, Calls) {
    scene.watch.reset();
    let resolved = ns.resolve(&entity(user), &resource(on), None).await;
    (resolved.ok().map(|resolved| resolved.limits[0].capacity), scene.watch.calls())
}

async fn a_cold_resolve_is_one_batch_get_and_a_warm_one_none(scene: &Scene) {
    scene.ns.set_limits(&Level::System, limits(5), "tests").await.unwrap();
    let limiter = scene.another().await;
    let ns = limiter.namespace(scene.ns.name()).await.unwrap();
    let (user, gpt) = (entity("user"), resource("gpt"));
    assert_eq!(ns.resolve_cached(&user, &gpt, None), None);
    assert_eq!(resolve(scene, &ns, "user", "gpt").await, (Some(5), BATCH));
    assert_eq!(resolve(scene, &ns, "user", "gpt").await, (Some(5), NONE));
    scene.watch.reset();
    assert!(ns.resolve_cached(&user, &gpt, None).is_some());
    assert_eq!(scene.watch.calls(), NONE);
    // Another user shares two of the levels.
    assert_eq!(resolve(scene, &ns, "user-2", "gpt").await, (Some(5), BATCH));
    let expected = CacheStatistics {
        hits: 4 + 4 + 2,
        negative_hits: 3 + 3 + 1,
        misses: 4 + 2,
        entries: 6,
        oldest_ms: Some(0),
        ttl_ms: 60_000,
    };
    assert_eq!(limiter.cache_statistics(), expected);
    scene.clock.advance_ms(7 * 1_000);
    assert_eq!(limiter.cache_statistics().oldest_ms, Some(7_000));
}

async fn missing_levels_are_cached_too(scene: &Scene) {
    let ns = another(scene).await;
    assert_eq!(resolve(scene, &ns, "user", "gpt").await, (None, BATCH));
    assert_eq!(resolve(scene, &ns, "user", "gpt").await, (None, NONE));
}

async fn a_level_is_read_again_after_its_ttl(scene: &Scene) {
    scene.ns.set_limits(&Level::System, limits(5), "tests").await.unwrap();
    let ns = another(scene).await;
    assert_eq!(resolve(scene, &ns, "user", "gpt").await, (Some(5), BATCH));
    scene.clock.advance_ms(59_999);
    assert_eq!(resolve(scene, &ns, "user", "gpt").await, (Some(5), NONE));
    scene.clock.advance_ms(1);
    assert_eq!(ns.resolve_cached(&entity("user"), &resource("gpt"), None), None);
    assert_eq!(resolve(scene, &ns, "user", "gpt").await, (Some(5), BATCH));
    assert_eq!(resolve(scene, &ns, "user", "gpt").await, (Some(5), NONE));
}

async fn with_a_ttl_of_zero_every_resolve_reads(scene: &Scene) {
    scene.ns.set_limits(&Level::System, limits(5), "tests").await.unwrap();
    let limiter = scene.another_with(|settings| settings.config_ttl_ms = 0).await;
    let ns = limiter.namespace(scene.ns.name()).await.unwrap();
    for _ in 0..3 {
        assert_eq!(resolve(scene, &ns, "user", "gpt").await, (Some(5), BATCH));
        assert_eq!(ns.resolve_cached(&entity("user"), &resource("gpt"), None), None);
    }
    let CacheStatistics { hits, misses, .. } = limiter.cache_statistics();
    assert_eq!((hits, misses), (0, 12));
}

async fn invalidated_levels_are_read_again(scene: &Scene) {
    scene.ns.set_limits(&Level::System, limits(5), "tests").await.unwrap();
    let ns = another(scene).await;
    let (user, gpt) = (entity("user"), resource("gpt"));
    for (of, on, forgotten) in [
        (Some(&user), None, [true, true, false]),
        (None, Some(&gpt), [true, false, true]),
        (Some(&user), Some(&gpt), [true, true, true]),
        (None, None, [true, true, true]),
    ] {
        let pairs = [("user", "gpt"), ("user", "claude"), ("other", "gpt")];
        for (user, on) in pairs {
            resolve(scene, &ns, user, on).await;
        }
        ns.invalidate(of, on);
        for ((user, on), forgotten) in pairs.into_iter().zip(forgotten) {
            let there = ns.resolve_cached(&entity(user), &resource(on), None);
            assert_eq!(there.is_none(), forgotten, "{of:?} {on:?}: {user}");
        }
    }
}

async fn a_write_is_seen_at_once_here_and_after_a_while_elsewhere(scene: &Scene) {
    let gpt = Level::Resource(resource("gpt"));
    scene.ns.set_limits(&gpt, limits(1), "tests").await.unwrap();
    let ns = another(scene).await;
    for here in [&scene.ns, &ns] {
        assert_eq!(resolve(scene, here, "user", "gpt").await.0, Some(1));
    }
    scene.ns.set_limits(&gpt, limits(2), "tests").await.unwrap();
    // It knows what it wrote: nothing is read.
    assert_eq!(resolve(scene, &scene.ns, "user", "gpt").await, (Some(2), NONE));
    assert_eq!(resolve(scene, &ns, "user", "gpt").await, (Some(1), NONE));
    scene.clock.advance_ms(60 * 1_000);
    assert_eq!(resolve(scene, &ns, "user", "gpt").await, (Some(2), BATCH));
    scene.ns.delete_limits(&gpt, "tests").await.unwrap();
    assert_eq!(resolve(scene, &scene.ns, "user", "gpt").await.0, None);
}

async fn a_stale_on_unavailable_still_applies_when_the_store_is_unavailable(scene: &Scene) {
    let config = LevelConfig { on_unavailable: Some(OnUnavailable::Allow), ..limits(1) };
    scene.ns.set_limits(&Level::System, config, "tests").await.unwrap();
    let ns = another(scene).await;
    let (user, gpt) = (entity("user"), resource("gpt"));
    assert_eq!(ns.on_unavailable_cached(&user, &gpt), OnUnavailable::Block);
    resolve(scene, &ns, "user", "gpt").await;
    scene.clock.advance_ms(3_600 * 1_000);
    scene.watch.down(Some(Strike::Before));
    let error = ns.resolve(&user, &gpt, None).await.unwrap_err();
    assert!(error.is_unavailable());
    assert_eq!(ns.on_unavailable_cached(&user, &gpt), OnUnavailable::Allow);
    // Another user's levels were never seen, but the system's was.
    assert_eq!(ns.on_unavailable_cached(&entity("other"), &gpt), OnUnavailable::Allow);
    scene.watch.down(None);
}

async fn a_lost_response_to_a_set_leaves_no_stale_level(scene: &Scene) {
    scene.ns.set_limits(&Level::System, limits(1), "tests").await.unwrap();
    assert_eq!(resolve(scene, &scene.ns, "user", "gpt").await.0, Some(1));
    // The read passes; the transaction is done, but its answer is lost.
    scene.watch.fail_once(1, Strike::After);
    scene.ns.set_limits(&Level::System, limits(2), "tests").await.unwrap_err();
    assert_eq!(resolve(scene, &scene.ns, "user", "gpt").await.0, Some(2));
}
