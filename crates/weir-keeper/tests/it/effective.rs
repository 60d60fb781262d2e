//! What is remembered of configurations.

use weir_keeper::config::PutOrg;
use weir_testkit::watched::{Calls, Strike};

use crate::scene::{Scene, app, app_request, org, org_request};

scenes!(
    a_configuration_is_read_once_and_believed_for_a_while,
    own_writes_are_seen_at_once,
    what_is_not_there_is_not_remembered,
);

async fn a_configuration_is_read_once_and_believed_for_a_while(scene: &Scene) {
    let keeper = &scene.keeper;
    keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    keeper.put_app(&org(1), &app("a"), &app_request(), "admin").await.unwrap();
    scene.watch.reset();
    for _ in 0..3 {
        keeper.effective(&org(1), Some(&app("a"))).await.unwrap();
        keeper.effective(&org(1), None).await.unwrap();
    }
    assert_eq!(scene.watch.calls(), Calls { gets: 1, batch_gets: 1, ..Calls::default() });
    // Another process changes it: that is seen when what is remembered is too old.
    let wanted = PutOrg { org_name: "other".into(), ..org_request() };
    scene.another().await.put_org(&org(1), &wanted, "admin").await.unwrap();
    let version = async || keeper.effective(&org(1), None).await.unwrap().config_version;
    scene.clock.advance_ms(9_999);
    assert_eq!(version().await, 1);
    scene.clock.advance_ms(1);
    assert_eq!(version().await, 2);
}

async fn own_writes_are_seen_at_once(scene: &Scene) {
    let keeper = &scene.keeper;
    keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    keeper.put_app(&org(1), &app("a"), &app_request(), "admin").await.unwrap();
    for number in 2..5 {
        let before = keeper.effective(&org(1), Some(&app("a"))).await.unwrap();
        let wanted = PutOrg { org_name: format!("name {number}"), ..org_request() };
        keeper.put_org(&org(1), &wanted, "admin").await.unwrap();
        let after = keeper.effective(&org(1), Some(&app("a"))).await.unwrap();
        assert_eq!(after.config_version, before.config_version + 1);
    }
}

async fn what_is_not_there_is_not_remembered(scene: &Scene) {
    let keeper = &scene.keeper;
    assert!(keeper.effective(&org(1), None).await.is_err());
    scene.another().await.put_org(&org(1), &org_request(), "admin").await.unwrap();
    scene.watch.fail_once(0, Strike::Before);
    assert!(keeper.effective(&org(1), None).await.unwrap_err().is_unavailable());
    assert!(keeper.effective(&org(1), None).await.is_ok());
    assert_eq!(keeper.effective(&org(1), Some(&app("a"))).await.unwrap_err().code(), "NOT_FOUND");
}
