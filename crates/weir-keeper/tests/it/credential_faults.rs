//! Secrets, when the store fails in the middle: nobody is locked out, and another try works.

use weir_keeper::credentials::Redeemed;
use weir_testkit::watched::Strike;

use crate::credentials::{client, fetched, secret_of, works};
use crate::scene::Scene;

scenes!(
    a_rotation_that_failed_can_be_tried_again,
    a_redemption_that_failed_locks_nobody_out,
    a_secret_that_was_lost_on_the_way_is_replaced,
    a_check_that_failed_is_not_an_answer,
);

/// More calls than any of these makes.
const CALLS_MAX: u64 = 20;

async fn a_rotation_that_failed_can_be_tried_again(scene: &Scene) {
    let (scope, mut old) = client(scene).await;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..CALLS_MAX {
            scene.watch.fail_once(skip, strike);
            let first = scene.keeper.rotate(&scope, 24, "admin").await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            assert!(works(&scene.keeper, &scope, &old).await);
            let rotation = match first {
                Ok(rotation) => rotation,
                Err(_) => scene.keeper.rotate(&scope, 24, "admin").await.unwrap(),
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

async fn a_redemption_that_failed_locks_nobody_out(scene: &Scene) {
    let (scope, mut old) = client(scene).await;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..CALLS_MAX {
            let token = scene.keeper.rotate(&scope, 24, "admin").await.unwrap().retrieval.token;
            scene.watch.fail_once(skip, strike);
            let first = scene.keeper.redeem(&scope, token.reveal()).await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            assert!(works(&scene.keeper, &scope, &old).await, "{skip} {strike:?}");
            let redeemed = match first {
                Ok(redeemed) => redeemed,
                Err(_) => scene.keeper.redeem(&scope, token.reveal()).await.unwrap(),
            };
            let Redeemed::Secret { client_secret, .. } = redeemed else { panic!("{redeemed:?}") };
            assert!(works(&scene.keeper, &scope, client_secret.expose()).await);
            assert_eq!(scene.keeper.redeem(&scope, token.reveal()).await.unwrap(), Redeemed::Used);
            old = client_secret.expose().to_owned();
            if !struck {
                break;
            }
        }
    }
}

async fn a_secret_that_was_lost_on_the_way_is_replaced(scene: &Scene) {
    let (scope, old) = client(scene).await;
    let token = scene.keeper.rotate(&scope, 24, "admin").await.unwrap().retrieval.token;
    // The store does it and stays away until all tries are over.
    scene.watch.fail(2, 3, Strike::After);
    let error = scene.keeper.redeem(&scope, token.reveal()).await.unwrap_err();
    assert!(error.is_unavailable() && !scene.watch.is_planned(), "{error}");
    assert_eq!(scene.keeper.redeem(&scope, token.reveal()).await.unwrap(), Redeemed::Used);
    assert!(works(&scene.keeper, &scope, &old).await);
    let new = secret_of(scene, &scope, 24).await;
    assert!(works(&scene.keeper, &scope, &new).await);
}

async fn a_check_that_failed_is_not_an_answer(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    scene.watch.fail_once(0, Strike::Before);
    assert!(scene.keeper.check_secret(&scope.client_id(), &secret).await.is_err());
    assert!(works(&scene.keeper, &scope, &secret).await);
}
