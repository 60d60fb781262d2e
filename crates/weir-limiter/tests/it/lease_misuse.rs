//! Invalid lease tokens, and requests that come too late, twice or too often.

use std::collections::BTreeMap;

use weir_limiter::Error;
use weir_limiter::bounds::LEASE_OPERATIONS_MAX;
use weir_limiter::ids::NamespaceName;
use weir_limiter::lease::{LeaseState, Settle};

use crate::lease::{adjust, amounts, balance, lease_item, taken};
use crate::scene::Scene;
use crate::watched::Calls;

scenes!(
    a_token_is_verified_by_every_instance_and_no_stranger,
    a_lease_ended_twice_the_same_way_returns_the_same_result,
    a_lease_ended_differently_is_a_conflict,
    a_key_reused_for_another_call_is_a_conflict,
    an_expired_lease_cannot_be_settled,
    a_call_completed_before_expiry_can_be_repeated_after_it,
    a_refund_cannot_exceed_what_the_lease_holds,
    the_number_of_adjustments_is_bounded,
    the_item_of_a_settled_lease_expires_a_day_after_the_lease,
);

fn ends() -> [(Settle, LeaseState); 3] {
    [
        (Settle::Commit, LeaseState::Committed),
        (Settle::Release(BTreeMap::new()), LeaseState::Released),
        (Settle::Rollback, LeaseState::RolledBack),
    ]
}

async fn a_token_is_verified_by_every_instance_and_no_stranger(scene: &Scene) {
    let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
    let token = scene.limiter.lease_token(&grant);
    let other = scene.another().await;
    let ns = other.namespace(scene.ns.name()).await.unwrap();
    assert_eq!(ns.open_lease(&token).unwrap(), grant);

    let foreign = NamespaceName::new("foreign").unwrap();
    other.create_namespace(&foreign, "test").await.unwrap();
    let foreign = other.namespace(&foreign).await.unwrap();
    assert!(matches!(foreign.open_lease(&token), Err(Error::NotALease)));
    scene.watch.reset();
    let settled = foreign.settle(&grant, &Settle::Rollback, None).await;
    assert!(matches!(settled, Err(Error::NotALease)));
    assert_eq!(scene.watch.calls(), Calls::default());

    let stranger = scene.another_with(|settings| settings.lease_key = [8; 32]).await;
    let stranger = stranger.namespace(scene.ns.name()).await.unwrap();
    assert!(matches!(stranger.open_lease(&token), Err(Error::NotALease)));
    for place in 0..token.len() {
        let mut changed = token.clone().into_bytes();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert!(matches!(ns.open_lease(&changed), Err(Error::NotALease)), "{place}");
    }
    for junk in ["", "lease", "ä", "A", &"A".repeat(100_000)] {
        assert!(matches!(ns.open_lease(junk), Err(Error::NotALease)));
    }
}

async fn a_lease_ended_twice_the_same_way_returns_the_same_result(scene: &Scene) {
    for (end, state) in ends() {
        let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
        let first = scene.ns.settle(&grant, &end, None).await.unwrap();
        assert_eq!(first.state, state);
        let before = balance(scene, "user", "rpm").await;
        for key in [None, Some("a"), Some("b")] {
            assert_eq!(scene.ns.settle(&grant, &end, key).await.unwrap(), first);
        }
        assert_eq!(balance(scene, "user", "rpm").await, before);
    }
}

async fn a_lease_ended_differently_is_a_conflict(scene: &Scene) {
    for (end, state) in ends() {
        let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
        scene.ns.settle(&grant, &adjust(&[("rpm", 1)]), Some("before")).await.unwrap();
        scene.ns.settle(&grant, &end, None).await.unwrap();
        let before = balance(scene, "user", "rpm").await;
        let others = ends().into_iter().map(|(other, _)| other).filter(|other| *other != end);
        let more = [adjust(&[("rpm", 1)]), Settle::Consume(amounts(&[("rpm", 1)]))];
        for other in others.chain(more) {
            let error = scene.ns.settle(&grant, &other, None).await.unwrap_err();
            assert!(matches!(error, Error::Conflict(_)), "{other:?} after {end:?}: {error}");
            let state_text = state.as_str().replace('_', " ");
            assert!(error.to_string().contains(&state_text), "{error}");
        }
        // What was done before the end is still answered as it was.
        let repeat = adjust(&[("rpm", 1)]);
        let settled = scene.ns.settle(&grant, &repeat, Some("before")).await.unwrap();
        assert_eq!((settled.state, settled.net), (LeaseState::Open, amounts(&[("rpm", 11)])));
        assert_eq!(balance(scene, "user", "rpm").await, before);
    }
}

async fn a_key_reused_for_another_call_is_a_conflict(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    scene.ns.settle(&grant, &adjust(&[("rpm", 1)]), Some("k")).await.unwrap();
    for other in [adjust(&[("rpm", 2)]), Settle::Commit, Settle::Rollback] {
        let error = scene.ns.settle(&grant, &other, Some("k")).await.unwrap_err();
        assert!(matches!(error, Error::Conflict(_)), "{other:?}: {error}");
    }
    scene.ns.settle(&grant, &adjust(&[("rpm", 1)]), Some("other")).await.unwrap();
    let first = scene.ns.settle(&grant, &adjust(&[("rpm", 1)]), Some("k")).await.unwrap();
    assert_eq!(first.net, amounts(&[("rpm", 11)]), "as it was answered then");
    assert_eq!(balance(scene, "user", "rpm").await, (88, 12));
    for key in ["", &"k".repeat(256)] {
        let error = scene.ns.settle(&grant, &Settle::Commit, Some(key)).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
}

async fn an_expired_lease_cannot_be_settled(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    scene.clock.advance_ms(599_999);
    scene.ns.settle(&grant, &adjust(&[("rpm", -1)]), Some("in time")).await.unwrap();
    let held = balance(scene, "user", "rpm").await;
    scene.clock.advance_ms(1);
    let others = ends().into_iter().map(|(end, _)| end).chain([adjust(&[("rpm", 1)])]);
    for settle in others {
        for grant in [&grant, &taken_long_ago(scene, &grant)] {
            let error = scene.ns.settle(grant, &settle, None).await.unwrap_err();
            assert!(matches!(error, Error::LeaseExpired { ttl_secs: 600 }), "{settle:?}: {error}");
        }
    }
    assert_eq!(balance(scene, "user", "rpm").await, held);
    assert!(scene.ns.settle(&grant, &adjust(&[("rpm", -1)]), Some("in time")).await.is_ok());
}

/// A lease that was never settled, and expired long ago.
fn taken_long_ago(scene: &Scene, like: &weir_limiter::lease::Grant) -> weir_limiter::lease::Grant {
    let mut grant = like.clone();
    grant.id = format!("{:022}", 7);
    grant.taken_ms = scene.now_ms() - 6_000_000;
    grant.expires_ms = grant.taken_ms + 600_000;
    grant
}

async fn a_call_completed_before_expiry_can_be_repeated_after_it(scene: &Scene) {
    for (end, _) in ends() {
        let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
        let first = scene.ns.settle(&grant, &end, None).await.unwrap();
        let before = balance(scene, "user", "rpm").await;
        scene.clock.advance_ms(600_000);
        assert_eq!(scene.ns.settle(&grant, &end, None).await.unwrap(), first);
        for (other, _) in ends().into_iter().filter(|(other, _)| *other != end) {
            let error = scene.ns.settle(&grant, &other, None).await.unwrap_err();
            assert!(matches!(error, Error::LeaseExpired { .. }), "{error}");
        }
        assert_eq!(balance(scene, "user", "rpm").await, before);
    }
}

async fn a_refund_cannot_exceed_what_the_lease_holds(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    for settle in [
        adjust(&[("rpm", -11)]),
        adjust(&[("tpm", -1)]),
        adjust(&[("images", -1)]),
        adjust(&[("images", 1)]),
        adjust(&[]),
        adjust(&[("rpm", 0)]),
        Settle::Release(amounts(&[("rpm", 11)])),
        Settle::Release(amounts(&[("rpm", -1)])),
        Settle::Consume(amounts(&[("rpm", -1)])),
        Settle::Consume(amounts(&[("images", 1)])),
    ] {
        let error = scene.ns.settle(&grant, &settle, None).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{settle:?}: {error}");
    }
    assert_eq!(balance(scene, "user", "rpm").await, (90, 10));
    assert!(lease_item(scene, &grant).await.is_none());
    scene.ns.settle(&grant, &adjust(&[("rpm", -4)]), None).await.unwrap();
    let error = scene.ns.settle(&grant, &adjust(&[("rpm", -7)]), None).await.unwrap_err();
    assert!(error.to_string().contains("holds 6"), "{error}");
}

async fn the_number_of_adjustments_is_bounded(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    for _ in 0..LEASE_OPERATIONS_MAX {
        scene.ns.settle(&grant, &adjust(&[("tpm", 1)]), None).await.unwrap();
    }
    let error = scene.ns.settle(&grant, &adjust(&[("tpm", 1)]), None).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    scene.ns.settle(&grant, &Settle::Rollback, None).await.unwrap();
    assert_eq!(balance(scene, "user", "tpm").await, (1000, 0));
}

async fn the_item_of_a_settled_lease_expires_a_day_after_the_lease(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    scene.ns.settle(&grant, &adjust(&[("rpm", 1)]), None).await.unwrap();
    let item = lease_item(scene, &grant).await.unwrap();
    assert_eq!(item.i64("ttl"), Some((grant.expires_ms + 86_400_000) / 1000 + 1));
    assert_eq!(item.s("GSI4PK"), Some(grant.ns.as_str()));
    assert_eq!(item.s("GSI4SK"), item.s("PK"));
    assert_eq!(item.s("GSI2PK"), None);
}
