//! Credentials while the store fails midway: nobody is locked out, and a retry works.

use weir_keeper::credentials::RetrievalOutcome;
use weir_testkit::watched::Strike;

use crate::credentials::{client, fetched, secret_of, works};
use crate::scene::{EndedTokens, Scene};

scenes!(
    a_failed_rotation_can_be_retried,
    a_failed_cancellation_can_be_retried,
    a_failed_retrieval_locks_nobody_out,
    tokens_end_exactly_with_the_secret,
    a_secret_lost_in_transit_is_replaced_by_another_rotation,
    a_failed_verification_is_an_error,
);

/// More calls than any of these makes.
const CALLS_MAX: u64 = 20;

async fn a_failed_rotation_can_be_retried(scene: &Scene) {
    let (scope, mut old) = client(scene).await;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..CALLS_MAX {
            scene.watch.fail_once(skip, strike);
            let first = scene.keeper.rotate_credentials(&scope, 24, "admin").await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            assert!(works(&scene.keeper, &scope, &old).await);
            let rotation = match first {
                Ok(rotation) => rotation,
                Err(_) => scene.keeper.rotate_credentials(&scope, 24, "admin").await.unwrap(),
            };
            let new = fetched(scene, &scope, rotation.retrieval.token.reveal()).await;
            assert!(works(&scene.keeper, &scope, &old).await);
            old = new;
            if !struck {
                break;
            }
        }
    }
}

async fn a_failed_retrieval_locks_nobody_out(scene: &Scene) {
    let (scope, mut old) = client(scene).await;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..CALLS_MAX {
            let token =
                scene.keeper.rotate_credentials(&scope, 24, "admin").await.unwrap().retrieval.token;
            scene.watch.fail_once(skip, strike);
            let first = scene.keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens).await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            assert!(works(&scene.keeper, &scope, &old).await, "{skip} {strike:?}");
            let redeemed = match first {
                Ok(redeemed) => redeemed,
                Err(_) => scene
                    .keeper
                    .retrieve_secret(&scope, token.reveal(), &EndedTokens)
                    .await
                    .unwrap(),
            };
            let RetrievalOutcome::Secret { client_secret, .. } = redeemed else {
                panic!("{redeemed:?}")
            };
            assert!(works(&scene.keeper, &scope, client_secret.expose()).await);
            assert_eq!(
                scene.keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens).await.unwrap(),
                RetrievalOutcome::AlreadyUsed
            );
            old = client_secret.expose().to_owned();
            if !struck {
                break;
            }
        }
    }
}

async fn a_failed_cancellation_can_be_retried(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..CALLS_MAX {
            let token =
                scene.keeper.rotate_credentials(&scope, 0, "admin").await.unwrap().retrieval.token;
            scene.watch.fail_once(skip, strike);
            let first = scene.keeper.cancel_rotation(&scope, "admin").await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            if first.is_err() {
                scene.keeper.cancel_rotation(&scope, "admin").await.unwrap();
            }
            let redeemed =
                scene.keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens).await.unwrap();
            assert_eq!(redeemed, RetrievalOutcome::Void, "{skip} {strike:?}");
            assert!(works(&scene.keeper, &scope, &secret).await);
            if !struck {
                break;
            }
        }
    }
}

async fn tokens_end_exactly_with_the_secret(scene: &Scene) {
    let (scope, mut old) = client(scene).await;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..CALLS_MAX {
            let token =
                scene.keeper.rotate_credentials(&scope, 0, "admin").await.unwrap().retrieval.token;
            let before = EndedTokens.count(scene, &scope).await;
            scene.watch.fail_once(skip, strike);
            let first = scene.keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens).await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            // Before the retry: either both happened or neither.
            let ended = EndedTokens.count(scene, &scope).await - before;
            assert_eq!(ended, i64::from(!works(&scene.keeper, &scope, &old).await), "{skip}");
            let redeemed = match first {
                Ok(redeemed) => redeemed,
                Err(_) => {
                    let again = scene.keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens);
                    again.await.unwrap()
                }
            };
            let RetrievalOutcome::Secret { client_secret, .. } = redeemed else {
                panic!("{redeemed:?}")
            };
            assert_eq!(EndedTokens.count(scene, &scope).await, before + 1, "{skip} {strike:?}");
            old = client_secret.expose().to_owned();
            if !struck {
                break;
            }
        }
    }
}

async fn a_secret_lost_in_transit_is_replaced_by_another_rotation(scene: &Scene) {
    let (scope, old) = client(scene).await;
    let token = scene.keeper.rotate_credentials(&scope, 24, "admin").await.unwrap().retrieval.token;
    // The store applies the write and stays unavailable through all retries.
    scene.watch.fail(2, 3, Strike::After);
    let error =
        scene.keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens).await.unwrap_err();
    assert!(error.is_unavailable() && !scene.watch.is_planned(), "{error}");
    assert_eq!(
        scene.keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens).await.unwrap(),
        RetrievalOutcome::AlreadyUsed
    );
    assert!(works(&scene.keeper, &scope, &old).await);
    let new = secret_of(scene, &scope, 24).await;
    assert!(works(&scene.keeper, &scope, &new).await);
}

async fn a_failed_verification_is_an_error(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    scene.watch.fail_once(0, Strike::Before);
    assert!(scene.keeper.verify_secret(&scope.client_id(), &secret).await.is_err());
    assert!(works(&scene.keeper, &scope, &secret).await);
}
