//! Apps of an org.

use weir_keeper::Error;
use weir_keeper::config::{Overrides, PutApp, PutOrg};
use weir_keeper::deletion::Deleted;
use weir_keeper::ids::Scope;
use weir_testkit::watched::Strike;

use crate::credentials::fetched;
use crate::scene::{Scene, app, app_request, org, org_request};

scenes!(
    an_app_inherits_unset_fields_from_its_org,
    an_app_needs_an_org,
    an_app_cannot_set_a_chain_under_a_shared_one,
    apps_are_listed_by_org,
    a_failed_put_can_be_retried,
    concurrent_puts_lose_nothing,
);

async fn an_app_inherits_unset_fields_from_its_org(scene: &Scene) {
    let keeper = &scene.keeper;
    keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    let wanted = PutApp {
        model_ordering: Some(vec!["economy".into()]),
        overrides: Some(Overrides { tight_mode_threshold_pct: Some(90), ..Overrides::default() }),
        ..app_request()
    };
    let put = keeper.put_app(&org(1), &app("a"), &wanted, "admin").await.unwrap();
    assert!(put.created);
    let found = keeper.get_app(&org(1), &app("a")).await.unwrap();
    assert_eq!(found, put.effective);
    assert_eq!(found.model_ordering.len(), 1);
    assert_eq!((found.tight_mode_threshold_pct, found.timezone.name()), (90, "America/New_York"));
    assert!(found.inherited_fields.contains(&"quotas"));
    assert!(!found.inherited_fields.contains(&"model_ordering"));
    // The org and the app change concurrently.
    let cheaper =
        PutOrg { quotas: [("premium".into(), 1), ("economy".into(), 7)].into(), ..org_request() };
    keeper.effective_config(&org(1), Some(&app("a"))).await.unwrap();
    keeper.put_org(&org(1), &cheaper, "admin").await.unwrap();
    let now = keeper.effective_config(&org(1), Some(&app("a"))).await.unwrap();
    assert_eq!(now.quota(&now.model_ordering[0]).0, 7);
    assert!(now.config_version > found.config_version);
}

async fn an_app_needs_an_org(scene: &Scene) {
    let error = scene.keeper.put_app(&org(1), &app("a"), &app_request(), "admin").await;
    assert!(matches!(error, Err(Error::NotFound { what: "org", .. })));
    scene.keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    let error = scene.keeper.get_app(&org(1), &app("a")).await;
    assert!(matches!(error, Err(Error::NotFound { what: "app", .. })));
    let error = scene.keeper.list_apps(&org(2), 10, None, Deleted::Hidden).await;
    assert!(matches!(error, Err(Error::NotFound { what: "org", .. })));
}

async fn an_app_cannot_set_a_chain_under_a_shared_one(scene: &Scene) {
    let keeper = &scene.keeper;
    let shared = PutOrg { quota_scope: "ORG".into(), ..org_request() };
    keeper.put_org(&org(1), &shared, "admin").await.unwrap();
    let own = [
        PutApp { model_ordering: Some(vec!["economy".into()]), ..app_request() },
        PutApp { quotas: Some([("economy".into(), 1)].into()), ..app_request() },
    ];
    for wanted in own {
        let error = keeper.put_app(&org(1), &app("a"), &wanted, "admin").await.unwrap_err();
        assert!(matches!(error, Error::Config { .. }));
    }
    keeper.put_app(&org(1), &app("a"), &app_request(), "admin").await.unwrap();
}

async fn apps_are_listed_by_org(scene: &Scene) {
    let keeper = &scene.keeper;
    for number in [1, 2] {
        keeper.put_org(&org(number), &org_request(), "admin").await.unwrap();
    }
    for name in ["b", "a", "c"] {
        keeper.put_app(&org(1), &app(name), &app_request(), "admin").await.unwrap();
    }
    keeper.put_app(&org(2), &app("a"), &app_request(), "admin").await.unwrap();
    let first = keeper.list_apps(&org(1), 2, None, Deleted::Hidden).await.unwrap();
    let rest = keeper.list_apps(&org(1), 2, first.cursor, Deleted::Hidden).await.unwrap();
    let apps = first.items.into_iter().chain(rest.items).filter_map(|found| found.app_id);
    assert_eq!(apps.collect::<Vec<_>>(), ["a", "b", "c"].map(app));
}

async fn a_failed_put_can_be_retried(scene: &Scene) {
    let keeper = &scene.keeper;
    keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    let mut number = 0;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..20 {
            number += 1;
            let name = app(&format!("app-{number}"));
            let scope = Scope::App(org(1), name.clone());
            scene.watch.fail_once(skip, strike);
            let first = keeper.put_app(&org(1), &name, &app_request(), "admin").await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            let put = match first {
                Ok(put) => put,
                Err(_) => keeper.put_app(&org(1), &name, &app_request(), "admin").await.unwrap(),
            };
            assert!(put.created, "{skip} {strike:?}");
            let secret = fetched(scene, &scope, put.retrieval.unwrap().token.reveal()).await;
            let found = keeper.verify_secret(&scope.client_id(), &secret).await.unwrap();
            assert_eq!(found, Some(scope));
            if !struck {
                break;
            }
        }
    }
}

async fn concurrent_puts_lose_nothing(scene: &Scene) {
    scene.keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..6 {
        let keeper = scene.keeper.clone();
        tasks.spawn(async move {
            let wanted = PutApp { app_name: format!("name {number}"), ..app_request() };
            keeper.put_app(&org(1), &app("a"), &wanted, "admin").await.unwrap()
        });
    }
    let puts = tasks.join_all().await;
    assert_eq!(puts.iter().filter(|put| put.created).count(), 1);
    let found = scene.keeper.get_app(&org(1), &app("a")).await.unwrap();
    assert_eq!(found.config_version, 1 + 6, "one of the org, six of the app");
}
