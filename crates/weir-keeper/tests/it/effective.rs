//! The cache of effective configurations.

use weir_keeper::Error;
use weir_keeper::config::PutOrg;
use weir_testkit::watched::{Calls, Strike};

use crate::scene::{Scene, app, app_request, org, org_request};

scenes!(
    a_configuration_is_cached_until_its_ttl,
    own_writes_are_visible_at_once,
    missing_orgs_and_apps_are_not_cached,
);

async fn a_configuration_is_cached_until_its_ttl(scene: &Scene) {
    let keeper = &scene.keeper;
    keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    keeper.put_app(&org(1), &app("a"), &app_request(), "admin").await.unwrap();
    scene.watch.reset();
    for _ in 0..3 {
        keeper.effective_config(&org(1), Some(&app("a"))).await.unwrap();
        keeper.effective_config(&org(1), None).await.unwrap();
    }
    assert_eq!(scene.watch.calls(), Calls { gets: 1, batch_gets: 1, ..Calls::default() });
    // A change by another process is visible once the cache entry expires.
    let wanted = PutOrg { org_name: "other".into(), ..org_request() };
    scene.another().await.put_org(&org(1), &wanted, "admin").await.unwrap();
    let version = async || keeper.effective_config(&org(1), None).await.unwrap().config_version;
    scene.clock.advance_ms(9_999);
    assert_eq!(version().await, 1);
    scene.clock.advance_ms(1);
    assert_eq!(version().await, 2);
}

async fn own_writes_are_visible_at_once(scene: &Scene) {
    let keeper = &scene.keeper;
    keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    keeper.put_app(&org(1), &app("a"), &app_request(), "admin").await.unwrap();
    for number in 2..5 {
        let before = keeper.effective_config(&org(1), Some(&app("a"))).await.unwrap();
        let wanted = PutOrg { org_name: format!("name {number}"), ..org_request() };
        keeper.put_org(&org(1), &wanted, "admin").await.unwrap();
        let after = keeper.effective_config(&org(1), Some(&app("a"))).await.unwrap();
        assert_eq!(after.config_version, before.config_version + 1);
    }
}

async fn missing_orgs_and_apps_are_not_cached(scene: &Scene) {
    let keeper = &scene.keeper;
    assert!(keeper.effective_config(&org(1), None).await.is_err());
    scene.another().await.put_org(&org(1), &org_request(), "admin").await.unwrap();
    scene.watch.fail_once(0, Strike::Before);
    assert!(keeper.effective_config(&org(1), None).await.unwrap_err().is_unavailable());
    assert!(keeper.effective_config(&org(1), None).await.is_ok());
    assert!(matches!(
        keeper.effective_config(&org(1), Some(&app("a"))).await.unwrap_err(),
        Error::NotFound { .. }
    ));
}
