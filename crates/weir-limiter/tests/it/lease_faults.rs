//! Settling when store calls fail and when several processes settle at once: everything takes effect once.

use std::collections::BTreeMap;

use weir_limiter::lease::{LeaseState, Settle, Settled};
use weir_limiter::{Error, Result};

use crate::lease::{adjust, amounts, balance, lease_item, taken};
use crate::scene::Scene;
use crate::watched::Strike;

scenes!(
    a_settle_takes_effect_once_whichever_call_fails,
    a_settle_without_a_key_takes_effect_once_or_not_at_all,
    an_unavailable_store_is_reported,
    the_same_call_from_two_processes_takes_effect_once,
    different_calls_from_two_processes_all_take_effect,
    of_two_ends_at_once_one_wins,
);

/// Most store calls of a settle request, one failure included.
const CALLS_MAX: u64 = 12;

/// A request, the rpm it leaves in the bucket of 100 that 10 were taken from, and the state of the lease.
fn cases() -> Vec<(Settle, i64, LeaseState)> {
    vec![
        (adjust(&[("rpm", 5)]), 85, LeaseState::Open),
        (adjust(&[("rpm", -3)]), 93, LeaseState::Open),
        (Settle::Consume(amounts(&[("rpm", 7)])), 83, LeaseState::Open),
        (Settle::Release(amounts(&[("rpm", 4)])), 94, LeaseState::Open),
        (Settle::Release(BTreeMap::new()), 100, LeaseState::Released),
        (Settle::Rollback, 100, LeaseState::RolledBack),
        (Settle::Commit, 90, LeaseState::Committed),
        (Settle::CommitActual(amounts(&[("rpm", 4)])), 96, LeaseState::Committed),
        (Settle::CommitActual(amounts(&[("rpm", 25)])), 75, LeaseState::Committed),
    ]
}

async fn a_settle_takes_effect_once_whichever_call_fails(scene: &Scene) {
    for (settle, left, state) in cases() {
        for strike in [Strike::Before, Strike::After] {
            let mut struck = 0;
            for skip in 0..CALLS_MAX {
                let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
                scene.watch.fail_once(skip, strike);
                let first = scene.ns.settle(&grant, &settle, Some("key")).await;
                let fault = !scene.watch.is_planned();
                scene.watch.fail_once(u64::MAX, strike);
                let again = scene.ns.settle(&grant, &settle, Some("key")).await.unwrap();
                let why = format!("{settle:?} {strike:?} {skip}");
                assert_eq!(again.state, state, "{why}");
                if let Ok(first) = first {
                    assert_eq!(first, again, "{why}");
                }
                for who in ["user", "team"] {
                    assert_eq!(balance(scene, who, "rpm").await, (left, 100 - left), "{why} {who}");
                }
                if !fault {
                    break;
                }
                struck += 1;
            }
            assert!((1..CALLS_MAX).contains(&struck), "{settle:?} was struck {struck} times");
        }
    }
}

async fn a_settle_without_a_key_takes_effect_once_or_not_at_all(scene: &Scene) {
    for (settle, left, _) in cases() {
        for strike in [Strike::Before, Strike::After] {
            for skip in 0..CALLS_MAX {
                let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
                scene.watch.fail_once(skip, strike);
                let settled = scene.ns.settle(&grant, &settle, None).await;
                let fault = !scene.watch.is_planned();
                scene.watch.fail_once(u64::MAX, strike);
                let found = balance(scene, "user", "rpm").await;
                // A failed reading is an error and nothing was done; a failed writing is tried again.
                let done = if settled.is_ok() { left } else { 90 };
                assert_eq!(found, (done, 100 - done), "{settle:?} {strike:?} {skip} {settled:?}");
                if !fault {
                    break;
                }
            }
        }
    }
}

async fn an_unavailable_store_is_reported(scene: &Scene) {
    for strike in [Strike::Before, Strike::After] {
        for (settle, left, _) in cases() {
            let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
            scene.watch.down(Some(strike));
            let error = scene.ns.settle(&grant, &settle, Some("key")).await.unwrap_err();
            scene.watch.down(None);
            assert!(error.is_unavailable(), "{error}");
            scene.ns.settle(&grant, &settle, Some("key")).await.unwrap();
            assert_eq!(balance(scene, "user", "rpm").await, (left, 100 - left), "{settle:?}");
        }
    }
}

/// Settles in turn from this process and from another, all at once.
async fn at_once(
    scene: &Scene,
    grant: &weir_limiter::lease::Grant,
    calls: Vec<(Settle, Option<String>)>,
) -> Vec<Result<Settled>> {
    let other = scene.another().await.namespace(scene.ns.name()).await.unwrap();
    let mut running = Vec::new();
    for (place, (settle, key)) in calls.into_iter().enumerate() {
        let ns = if place % 2 == 0 { scene.ns.clone() } else { other.clone() };
        let grant = grant.clone();
        running.push(tokio::spawn(async move { ns.settle(&grant, &settle, key.as_deref()).await }));
    }
    let mut answers = Vec::new();
    for call in running {
        answers.push(call.await.unwrap());
    }
    answers
}

async fn the_same_call_from_two_processes_takes_effect_once(scene: &Scene) {
    for (settle, left, state) in cases() {
        let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
        let calls = (0..6).map(|_| (settle.clone(), Some("key".to_owned()))).collect();
        for answer in at_once(scene, &grant, calls).await {
            assert_eq!(answer.unwrap().state, state, "{settle:?}");
        }
        for who in ["user", "team"] {
            assert_eq!(balance(scene, who, "rpm").await, (left, 100 - left), "{settle:?} {who}");
        }
    }
}

async fn different_calls_from_two_processes_all_take_effect(scene: &Scene) {
    let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
    let calls = (1..=6).map(|n| (adjust(&[("rpm", n)]), (n > 3).then(|| n.to_string()))).collect();
    for answer in at_once(scene, &grant, calls).await {
        answer.unwrap();
    }
    for who in ["user", "team"] {
        assert_eq!(balance(scene, who, "rpm").await, (69, 31), "{who}");
    }
    let settled = scene.ns.settle(&grant, &Settle::Rollback, None).await.unwrap();
    assert_eq!(settled.net, amounts(&[("rpm", 0)]));
    assert_eq!(balance(scene, "team", "rpm").await, (100, 0));
}

async fn of_two_ends_at_once_one_wins(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    let calls = vec![(Settle::Commit, None), (Settle::Rollback, None)];
    let answers = at_once(scene, &grant, calls).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 1));
    assert!(matches!(lost[0], Err(Error::Conflict(_))), "{lost:?}");
    let state = won[0].as_ref().unwrap().state;
    let left = if state == LeaseState::Committed { 90 } else { 100 };
    assert_eq!(balance(scene, "user", "rpm").await.0, left);
    assert_eq!(lease_item(scene, &grant).await.unwrap().s("state"), Some(state.as_str()));
}
