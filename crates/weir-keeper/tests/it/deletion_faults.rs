//! Deletion while the store fails midway: it happens as a whole or not at all, and a retry completes it.

use weir_keeper::deletion::Deleted;
use weir_keeper::ids::Scope;
use weir_testkit::watched::Strike;

use crate::credentials::{client, works};
use crate::scene::{EndedTokens, Scene, app, app_request, org};
use crate::spending::submission;

scenes!(
    a_failed_deletion_can_be_retried,
    a_failed_restore_can_be_retried,
    a_failed_purge_continues,
);

/// More calls than any of these makes.
const CALLS_MAX: u64 = 40;

async fn a_failed_deletion_can_be_retried(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    let all = Scope::Org(org(1));
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..CALLS_MAX {
            let before = EndedTokens.count(scene, &scope).await;
            scene.watch.fail_once(skip, strike);
            let first = scene.keeper.delete(&all, "admin", &EndedTokens).await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            if first.is_err() {
                scene.keeper.delete(&all, "admin", &EndedTokens).await.unwrap();
            }
            assert!(EndedTokens.count(scene, &scope).await > before, "{skip} {strike:?}");
            assert!(!works(&scene.keeper, &scope, &secret).await);
            let refused = scene.keeper.submit(&org(1), &app("a"), &submission(scene)).await;
            assert!(refused.is_err(), "{skip} {strike:?}");
            scene.keeper.restore(&all, "admin", &EndedTokens).await.unwrap();
            if !struck {
                break;
            }
        }
    }
}

async fn a_failed_restore_can_be_retried(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..CALLS_MAX {
            scene.keeper.delete(&scope, "admin", &EndedTokens).await.unwrap();
            scene.watch.fail_once(skip, strike);
            let first = scene.keeper.restore(&scope, "admin", &EndedTokens).await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            if first.is_err() {
                scene.keeper.restore(&scope, "admin", &EndedTokens).await.unwrap();
            }
            assert!(works(&scene.keeper, &scope, &secret).await, "{skip} {strike:?}");
            scene.keeper.select(&org(1), &app("a"), false).await.unwrap();
            if !struck {
                break;
            }
        }
    }
}

async fn a_failed_purge_continues(scene: &Scene) {
    let (scope, _) = client(scene).await;
    scene.keeper.put_app(&org(1), &app("b"), &app_request(), "admin").await.unwrap();
    scene.keeper.delete(&scope, "admin", &EndedTokens).await.unwrap();
    scene.keeper.delete(&Scope::Org(org(1)), "admin", &EndedTokens).await.unwrap();
    scene.clock.advance_ms(31 * 86_400_000);
    for skip in 0..CALLS_MAX {
        scene.watch.fail_once(skip, Strike::Before);
        let done = scene.keeper.purge_deleted(9, &EndedTokens).await;
        let struck = !scene.watch.is_planned();
        scene.watch.cancel();
        if done.is_ok() && !struck {
            break;
        }
    }
    assert_eq!(scene.keeper.purge_deleted(9, &EndedTokens).await.unwrap().purged, 0);
    let orgs = scene.keeper.list_orgs(9, None, Deleted::Included).await.unwrap().items;
    assert!(orgs.is_empty(), "{orgs:?}");
    let put = scene.keeper.put_org(&org(1), &crate::scene::org_request(), "admin").await.unwrap();
    assert!(put.created);
    let apps = scene.keeper.list_apps(&org(1), 9, None, Deleted::Included).await.unwrap().items;
    assert!(apps.is_empty(), "{apps:?}");
}
