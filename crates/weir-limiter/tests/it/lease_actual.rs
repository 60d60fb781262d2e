//! Commits that name the tokens that were used: one call adjusts the lease and ends it.

use weir_limiter::Error;
use weir_limiter::acquire::Acquire;
use weir_limiter::lease::{LeaseState, Leased, Settle};

use crate::acquire::request;
use crate::lease::{adjust, amounts, balance, lease_item, limits, put_bucket, shard, taken};
use crate::scene::Scene;
use crate::watched::Calls;

scenes!(
    a_commit_adjusts_child_and_parent_to_what_was_used,
    a_commit_is_repeated_with_the_same_amounts_only,
    a_commit_without_amounts_repeats_any_commit,
    a_commit_of_wrong_amounts_changes_nothing,
    a_commit_of_a_lease_whose_bucket_is_gone_can_be_repeated,
    a_commit_to_what_was_used_is_two_calls,
    of_two_commits_with_other_amounts_one_wins,
    a_lease_in_process_is_committed_to_what_was_used,
);

fn actual(of: &[(&str, i64)]) -> Settle {
    Settle::CommitActual(amounts(of))
}

fn is_conflict(error: &Error) -> bool {
    matches!(error, Error::Conflict(_))
}

async fn a_commit_adjusts_child_and_parent_to_what_was_used(scene: &Scene) {
    // Less and more than was taken, nothing, all of it, and more than there is.
    for (rpm, tpm, left) in [(4, 0, 1000), (25, 1, 999), (0, 1_500, -500), (10, 100, 900)] {
        let grant = taken(scene, &["user", "team"], &[("rpm", 10), ("tpm", 100)]).await;
        let settle = actual(&[("rpm", rpm), ("tpm", tpm)]);
        let settled = scene.ns.settle(&grant, &settle, None).await.unwrap();
        assert_eq!(settled.state, LeaseState::Committed);
        assert_eq!(settled.net, amounts(&[("rpm", rpm), ("tpm", tpm)]));
        for who in ["user", "team"] {
            assert_eq!(balance(scene, who, "rpm").await, (100 - rpm, rpm), "{who}");
            assert_eq!(balance(scene, who, "tpm").await, (left, tpm), "{who}");
        }
    }
    // After an adjustment, the totals count; a limit that is not named keeps its tokens.
    let grant = taken(scene, &["user", "team"], &[("rpm", 10), ("tpm", 100)]).await;
    scene.ns.settle(&grant, &adjust(&[("tpm", 50)]), None).await.unwrap();
    let settled = scene.ns.settle(&grant, &actual(&[("tpm", 120)]), None).await.unwrap();
    assert_eq!(settled.net, amounts(&[("rpm", 10), ("tpm", 120)]));
    for who in ["user", "team"] {
        assert_eq!(balance(scene, who, "rpm").await, (90, 10), "{who}");
        assert_eq!(balance(scene, who, "tpm").await, (880, 120), "{who}");
    }
}

async fn a_commit_is_repeated_with_the_same_amounts_only(scene: &Scene) {
    for key in [None, Some("key")] {
        let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
        let settle = actual(&[("rpm", 3)]);
        let first = scene.ns.settle(&grant, &settle, key).await.unwrap();
        for again in [key, None, Some("other")] {
            assert_eq!(scene.ns.settle(&grant, &settle, again).await.unwrap(), first);
        }
        for other in [
            actual(&[("rpm", 4)]),
            actual(&[("rpm", 10)]),
            actual(&[("rpm", 3), ("tpm", 0)]),
            adjust(&[("rpm", 1)]),
            Settle::Rollback,
        ] {
            let error = scene.ns.settle(&grant, &other, key).await.unwrap_err();
            assert!(is_conflict(&error), "{other:?}");
        }
        // Also when the lease could no longer be settled.
        scene.clock.advance_ms(600_001);
        assert_eq!(scene.ns.settle(&grant, &settle, key).await.unwrap(), first);
        for who in ["user", "team"] {
            assert_eq!(balance(scene, who, "rpm").await, (97, 3), "{who}");
        }
    }
}

async fn a_commit_without_amounts_repeats_any_commit(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    let first = scene.ns.settle(&grant, &actual(&[("rpm", 3)]), None).await.unwrap();
    assert_eq!(scene.ns.settle(&grant, &Settle::Commit, None).await.unwrap(), first);
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    scene.ns.settle(&grant, &Settle::Commit, None).await.unwrap();
    let error = scene.ns.settle(&grant, &actual(&[("rpm", 3)]), None).await.unwrap_err();
    assert!(is_conflict(&error), "it was committed to 10");
    assert_eq!(balance(scene, "user", "rpm").await, (90, 10));
}

async fn a_commit_of_wrong_amounts_changes_nothing(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    for wrong in [
        actual(&[]),
        actual(&[("rpm", -1)]),
        actual(&[("rpm", 1_000_000_000_001)]),
        actual(&[("rpm", 5), ("images", 1)]),
        actual(&[("rpm", 5), ("images", 0)]),
    ] {
        let error = scene.ns.settle(&grant, &wrong, None).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{wrong:?}: {error}");
    }
    assert_eq!(lease_item(scene, &grant).await, None);
    assert_eq!(balance(scene, "user", "rpm").await, (90, 10));
}

async fn a_commit_of_a_lease_whose_bucket_is_gone_can_be_repeated(scene: &Scene) {
    let grant = taken(scene, &["user"], &[("rpm", 10)]).await;
    let bucket = shard(scene, "user", 0).await.unwrap();
    let expired = weir_limiter::bucket::Bucket { expires: Some(1), ..bucket };
    put_bucket(scene, "user", &expired).await;
    let settle = actual(&[("rpm", 25)]);
    let first = scene.ns.settle(&grant, &settle, None).await.unwrap();
    assert_eq!(first.state, LeaseState::Committed);
    assert_eq!(scene.ns.settle(&grant, &settle, None).await.unwrap(), first);
}

async fn a_commit_to_what_was_used_is_two_calls(scene: &Scene) {
    let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
    scene.watch.reset();
    scene.ns.settle(&grant, &actual(&[("rpm", 3)]), None).await.unwrap();
    let calls = Calls { batch_gets: 1, transactions: 1, ..Calls::default() };
    assert_eq!(scene.watch.calls(), calls);
}

async fn of_two_commits_with_other_amounts_one_wins(scene: &Scene) {
    let grant = taken(scene, &["user", "team"], &[("rpm", 10)]).await;
    let other = scene.another().await.namespace(scene.ns.name()).await.unwrap();
    let (low, high) = (actual(&[("rpm", 3)]), actual(&[("rpm", 30)]));
    let (low, high) =
        tokio::join!(scene.ns.settle(&grant, &low, None), other.settle(&grant, &high, None));
    let won = match (low, high) {
        (Ok(won), Err(lost)) | (Err(lost), Ok(won)) if is_conflict(&lost) => won,
        both => panic!("{both:?}"),
    };
    let used = won.net[&crate::scene::limit_name("rpm")];
    assert!(used == 3 || used == 30);
    for who in ["user", "team"] {
        assert_eq!(balance(scene, who, "rpm").await, (100 - used, used), "{who}");
    }
}

async fn a_lease_in_process_is_committed_to_what_was_used(scene: &Scene) {
    let ask: Acquire = request("user", &[("rpm", 10)], &limits());
    let Leased::Granted(lease) = scene.ns.lease(&ask).await.unwrap() else { panic!("refused") };
    let settled = lease.commit_actual(amounts(&[("rpm", 3)])).await.unwrap();
    assert_eq!((settled.state, settled.net), (LeaseState::Committed, amounts(&[("rpm", 3)])));
    assert_eq!(balance(scene, "user", "rpm").await, (97, 3));
}
