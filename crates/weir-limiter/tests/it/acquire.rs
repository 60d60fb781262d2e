//! Acquire: grants, refusals and invalid requests.

use weir_limiter::Error;
use weir_limiter::acquire::{Acquire, Acquired, Granted, Refused};
use weir_limiter::bucket::Limit;
use weir_limiter::lease::OnExpiry;

use crate::scene::{Scene, entity, limit_name, per_minute, resource};
use crate::watched::Calls;

scenes!(
    tokens_are_taken_until_none_remain,
    a_refill_is_lazy_and_exact,
    a_burst_after_a_pause_is_one_capacity,
    all_limits_or_none,
    an_invalid_request_takes_nothing,
    a_dry_run_takes_nothing,
    a_warm_acquire_is_one_write,
    a_repeated_refusal_makes_no_store_call,
    a_clock_that_jumps_back_mints_nothing,
    an_expired_bucket_begins_full_and_keeps_counting,
);

/// A request of an entity that sends its own limits along.
pub(crate) fn request(who: &str, consume: &[(&str, i64)], limits: &[Limit]) -> Acquire {
    Acquire {
        entity: entity(who),
        resource: resource("gpt-4"),
        consume: consume.iter().map(|(name, amount)| (limit_name(name), *amount)).collect(),
        limits: (!limits.is_empty()).then(|| limits.to_vec()),
        lease_ttl_ms: 60_000,
        on_expiry: OnExpiry::Keep,
        dry_run: false,
        idempotency_key: None,
    }
}

/// The grant of a result.
pub(crate) fn granted(answer: Acquired) -> Granted {
    match answer {
        Acquired::Granted(granted) => granted,
        Acquired::Refused(refused) => panic!("refused: {refused:?}"),
    }
}

/// The refusal of a result.
pub(crate) fn refused(answer: Acquired) -> Refused {
    match answer {
        Acquired::Granted(granted) => panic!("granted: {granted:?}"),
        Acquired::Refused(refused) => refused,
    }
}

async fn take(scene: &Scene, amount: i64, limits: &[Limit]) -> Acquired {
    scene.ns.acquire(&request("user-1", &[("rpm", amount)], limits)).await.unwrap()
}

async fn tokens_are_taken_until_none_remain(scene: &Scene) {
    let limits = [per_minute("rpm", 3)];
    for left in [2, 1, 0] {
        let taken = granted(take(scene, 1, &limits).await);
        assert_eq!(taken.limits[0].available_milli, left * 1000);
        assert_eq!(taken.grant.takes.len(), 1);
    }
    let no = refused(take(scene, 1, &limits).await);
    let status = &no.limits[0];
    assert_eq!((status.limit.capacity, status.available_milli, status.requested), (3, 0, 1));
    assert_eq!(
        (status.deficit_milli, status.retry_after_ms, no.retry_after_ms),
        (1000, 20_000, 20_000)
    );
}

async fn a_refill_is_lazy_and_exact(scene: &Scene) {
    let limits = [per_minute("rpm", 100)];
    granted(take(scene, 100, &limits).await);
    // A token every 600 ms: polled every 7 ms for a minute, a hundred of them and not one more.
    let mut got = 0;
    for _ in 0..(60_000 / 7) {
        scene.clock.advance_ms(7);
        if let Acquired::Granted(_) = take(scene, 1, &limits).await {
            got += 1;
        }
    }
    assert_eq!(got, (60_000 / 7) * 7 / 600);
}

/// Takes of `amount` that are granted before one is refused.
async fn burst(scene: &Scene, amount: i64, limits: &[Limit]) -> i64 {
    let mut got = 0;
    while let Acquired::Granted(_) = take(scene, amount, limits).await {
        got += amount;
    }
    got
}

async fn a_burst_after_a_pause_is_one_capacity(scene: &Scene) {
    let limits = [per_minute("rpm", 100)];
    granted(take(scene, 40, &limits).await);
    scene.clock.advance_ms(60_000);
    assert_eq!(burst(scene, 20, &limits).await, 100, "what does not fit into the bucket is gone");
    scene.clock.advance_ms(60_000);
    granted(take(scene, 70, &limits).await);
    scene.clock.advance_ms(300_000);
    assert_eq!(burst(scene, 10, &limits).await, 100);
    // Half a minute brings half, and the bucket has been full for none of it.
    scene.clock.advance_ms(30_000);
    assert_eq!(burst(scene, 10, &limits).await, 50);
    scene.clock.advance_ms(30_000);
    granted(take(scene, 10, &limits).await);
    scene.clock.advance_ms(36_000);
    assert_eq!(burst(scene, 10, &limits).await, 100);
}

async fn all_limits_or_none(scene: &Scene) {
    let limits = [per_minute("rpm", 10), per_minute("tpm", 100)];
    let both = |tpm| request("user-1", &[("rpm", 1), ("tpm", tpm)], &limits);
    granted(scene.ns.acquire(&both(90)).await.unwrap());
    let no = refused(scene.ns.acquire(&both(20)).await.unwrap());
    let short: Vec<i64> = no.limits.iter().map(|limit| limit.deficit_milli).collect();
    assert_eq!(short, [0, 10_000]);
    let after = granted(scene.ns.acquire(&both(10)).await.unwrap());
    assert_eq!(after.limits[0].available_milli, 8_000, "the refused request took no rpm");
}

async fn an_invalid_request_takes_nothing(scene: &Scene) {
    let limits = [per_minute("rpm", 10), per_minute("tpm", 100)];
    granted(take(scene, 1, &limits).await);
    let many: Vec<String> = (0..17).map(|n| format!("l{n}")).collect();
    let many: Vec<(&str, i64)> = many.iter().map(|name| (name.as_str(), 1)).collect();
    for (consume, problem) in [
        (&[][..], "consume: must name 1 to 16 limits, not 0"),
        (&[("rpm", 0)], "consume: rpm must be from 1 to 1000000000000, not 0"),
        (&[("rpm", 1), ("tpm", -5)], "consume: tpm must be from 1 to 1000000000000, not -5"),
        (
            &[("rpm", i64::MAX)],
            "consume: rpm must be from 1 to 1000000000000, not 9223372036854775807",
        ),
        (
            &[("rpm", 11)],
            "consume: 11 rpm can never be granted: the capacity is 10; request at most 10",
        ),
        (&[("rpm", 1), ("xpm", 1)], "consume: unknown limit xpm; the limits here are: rpm, tpm"),
        (&many, "consume: must name 1 to 16 limits, not 17"),
    ] {
        let error = scene.ns.acquire(&request("user-1", consume, &limits)).await.unwrap_err();
        assert_eq!(error.to_string(), problem);
    }
    let unlimited = scene.ns.acquire(&request("user-2", &[("rpm", 1)], &[])).await;
    assert!(matches!(unlimited, Err(Error::NoLimits { .. })), "{unlimited:?}");
    let after = granted(take(scene, 1, &limits).await);
    assert_eq!(after.limits[0].available_milli, 8_000, "nothing was taken by any of them");
}

async fn a_dry_run_takes_nothing(scene: &Scene) {
    let limits = [per_minute("rpm", 3)];
    let dry = |amount| Acquire { dry_run: true, ..request("user-1", &[("rpm", amount)], &limits) };
    for _ in 0..5 {
        let would = granted(scene.ns.acquire(&dry(3)).await.unwrap());
        assert_eq!(would.limits[0].available_milli, 3_000);
        assert!(would.grant.takes.is_empty());
    }
    granted(take(scene, 2, &limits).await);
    assert_eq!(refused(scene.ns.acquire(&dry(2)).await.unwrap()).retry_after_ms, 20_000);
}

async fn a_warm_acquire_is_one_write(scene: &Scene) {
    let limits = [per_minute("rpm", 100), per_minute("tpm", 1000)];
    let ask = request("user-1", &[("rpm", 1), ("tpm", 10)], &limits);
    granted(scene.ns.acquire(&ask).await.unwrap());
    scene.watch.reset();
    for _ in 0..10 {
        granted(scene.ns.acquire(&ask).await.unwrap());
    }
    assert_eq!(scene.watch.calls(), Calls { writes: 10, ..Calls::default() });
}

async fn a_repeated_refusal_makes_no_store_call(scene: &Scene) {
    let limits = [per_minute("rpm", 60)];
    granted(take(scene, 60, &limits).await);
    refused(take(scene, 2, &limits).await);
    scene.watch.reset();
    for amount in [2, 3, 60] {
        let no = refused(take(scene, amount, &limits).await);
        assert_eq!(no.retry_after_ms, amount * 1000);
    }
    assert_eq!(scene.watch.calls(), Calls::default(), "answered from memory");
    scene.clock.advance_ms(999);
    assert_eq!(refused(take(scene, 2, &limits).await).retry_after_ms, 1001);
    assert_eq!(scene.watch.calls(), Calls::default(), "still");
    assert_eq!(refused(take(scene, 1, &limits).await).retry_after_ms, 1);
    assert_eq!(scene.watch.calls(), Calls::default(), "less is asked, and not there either");
    scene.clock.advance_ms(1);
    granted(take(scene, 1, &limits).await);
}

async fn a_clock_that_jumps_back_mints_nothing(scene: &Scene) {
    let limits = [per_minute("rpm", 60)];
    granted(take(scene, 60, &limits).await);
    scene.clock.advance_ms(10_000);
    granted(take(scene, 10, &limits).await);
    // An hour back, as another instance with a wrong clock would have it.
    let hour = 3_600_000;
    let weir_table::clock::Clock::Manual(now) = &scene.clock else { panic!("a manual clock") };
    now.fetch_sub(hour, std::sync::atomic::Ordering::SeqCst);
    refused(take(scene, 1, &limits).await);
    scene.clock.advance_ms(hour - 1);
    refused(take(scene, 1, &limits).await);
    scene.clock.advance_ms(1_001);
    granted(take(scene, 1, &limits).await);
    refused(take(scene, 1, &limits).await);
}

async fn an_expired_bucket_begins_full_and_keeps_counting(scene: &Scene) {
    let limits = [per_minute("rpm", 60)];
    granted(take(scene, 60, &limits).await);
    scene.clock.advance_ms(7 * 60_000 + 300_000);
    let again = granted(take(scene, 5, &limits).await);
    assert_eq!(again.limits[0].available_milli, 55_000);
    let key = weir_limiter::keys::bucket(scene.ns.id(), &entity("user-1"), &resource("gpt-4"), 0);
    let get = weir_table::Get::new(scene.limiter.settings().table.as_str(), key);
    let item = scene.store.get(&get).await.unwrap().unwrap();
    // The embedded store may have swept the expired item; then it counts from nothing.
    let counted = item.i64("b_rpm_tc").unwrap();
    assert!(counted == 65_000 || (!scene.sharded && counted == 5_000), "{counted}");
}
