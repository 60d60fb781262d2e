//! Leases that roll back on expiry.

use weir_limiter::Error;
use weir_limiter::lease::{Grant, LeaseState, OnExpiry, Settle};

use crate::lease::{adjust, balance, lease_item, taken};
use crate::scene::{Scene, eventually};
use crate::watched::Strike;

scenes!(
    an_expired_lease_is_rolled_back_once_though_two_instances_do_it,
    a_lease_that_was_ended_is_left_alone,
    a_rollback_run_is_bounded,
    rolling_back_survives_every_fault,
);

/// A lease of some rpm that rolls back on expiry and is open.
async fn held(scene: &Scene, who: &str) -> Grant {
    let mut grant = taken(scene, &[who, "team"], &[("rpm", 9)]).await;
    grant.on_expiry = OnExpiry::Rollback;
    // What an acquire writes, and a token more.
    scene.ns.settle(&grant, &adjust(&[("rpm", 1)]), None).await.unwrap();
    grant
}

async fn wait_for_held(scene: &Scene, count: u64) {
    eventually(async || (scene.limiter.open_leases().await.unwrap() == count).then_some(())).await;
}

async fn an_expired_lease_is_rolled_back_once_though_two_instances_do_it(scene: &Scene) {
    const LEASES: u64 = 5;
    let mut grants = Vec::new();
    for n in 0..LEASES {
        grants.push(held(scene, &format!("user-{n}")).await);
    }
    wait_for_held(scene, LEASES).await;
    assert_eq!(scene.limiter.roll_back_expired(100).await.unwrap(), (0, false), "none is expired");
    scene.clock.advance_ms(600_000);
    let other = scene.another().await;
    let (one, two) =
        tokio::join!(scene.limiter.roll_back_expired(100), other.roll_back_expired(100));
    assert_eq!(one.unwrap().0 + two.unwrap().0, LEASES);
    for (n, grant) in grants.iter().enumerate() {
        assert_eq!(balance(scene, &format!("user-{n}"), "rpm").await, (100, 0));
        let item = lease_item(scene, grant).await.unwrap();
        assert_eq!(item.s("state"), Some("expired"));
        assert!(item.get("GSI2PK").is_none() && item.i64("ttl").is_some());
        for late in [Settle::Commit, Settle::Rollback, adjust(&[("rpm", 1)])] {
            let error = scene.ns.settle(grant, &late, None).await.unwrap_err();
            assert!(matches!(error, Error::LeaseExpired { .. }), "{error}");
        }
    }
    wait_for_held(scene, 0).await;
    assert_eq!(scene.limiter.roll_back_expired(100).await.unwrap(), (0, false));
}

async fn a_lease_that_was_ended_is_left_alone(scene: &Scene) {
    let grant = held(scene, "user").await;
    assert!(lease_item(scene, &grant).await.unwrap().i64("ttl").is_none());
    wait_for_held(scene, 1).await;
    let settled = scene.ns.settle(&grant, &Settle::Commit, None).await.unwrap();
    assert_eq!(settled.state, LeaseState::Committed);
    // The index may still name it.
    scene.clock.advance_ms(600_000);
    assert_eq!(scene.limiter.roll_back_expired(100).await.unwrap().0, 0);
    assert_eq!(balance(scene, "user", "rpm").await, (90, 10));
    wait_for_held(scene, 0).await;
}

async fn a_rollback_run_is_bounded(scene: &Scene) {
    for n in 0..3 {
        held(scene, &format!("user-{n}")).await;
    }
    wait_for_held(scene, 3).await;
    scene.clock.advance_ms(600_000);
    assert_eq!(scene.limiter.roll_back_expired(2).await.unwrap(), (2, true));
    wait_for_held(scene, 1).await;
    assert_eq!(scene.limiter.roll_back_expired(2).await.unwrap(), (1, false));
    assert_eq!(scene.limiter.roll_back_expired(0).await.unwrap(), (0, true));
}

async fn rolling_back_survives_every_fault(scene: &Scene) {
    // A page of the index, the lease, it and its buckets, the transaction, and some of them again.
    const CALLS: u64 = 6;
    let faults: Vec<(u64, Strike)> = (0..CALLS)
        .flat_map(|skip| [Strike::Before, Strike::After].map(|strike| (skip, strike)))
        .collect();
    let mut grants = Vec::new();
    for n in 0..2 * faults.len() {
        grants.push(held(scene, &format!("user-{n}")).await);
    }
    wait_for_held(scene, grants.len() as u64).await;
    scene.clock.advance_ms(600_000);
    for (skip, strike) in faults {
        scene.watch.fail_once(skip, strike);
        let _ = scene.limiter.roll_back_expired(2).await;
        scene.watch.fail_once(u64::MAX, strike);
    }
    while scene.limiter.roll_back_expired(100).await.unwrap().1 {}
    for (n, grant) in grants.iter().enumerate() {
        assert_eq!(balance(scene, &format!("user-{n}"), "rpm").await, (100, 0));
        assert_eq!(lease_item(scene, grant).await.unwrap().s("state"), Some("expired"));
    }
}
