//! Who did what, and when.

use weir_keeper::audit::Act;
use weir_keeper::ids::Scope;

use crate::credentials::secret_of;
use crate::scene::{Scene, app, app_request, org, org_request};

scenes!(every_act_is_told_once_and_forgotten_in_time);

async fn every_act_is_told_once_and_forgotten_in_time(scene: &Scene) {
    let keeper = &scene.keeper;
    keeper.put_org(&org(1), &org_request(), "ann").await.unwrap();
    keeper.put_org(&org(1), &org_request(), "nobody").await.unwrap();
    keeper.put_app(&org(1), &app("a"), &app_request(), "bob").await.unwrap();
    secret_of(scene, &Scope::Org(org(1)), 2).await;
    keeper.put_org(&org(2), &org_request(), "cat").await.unwrap();
    let first = keeper.audit(&org(1), 3, None).await.unwrap();
    let rest = keeper.audit(&org(1), 3, first.cursor).await.unwrap();
    let told: Vec<_> = first.items.into_iter().chain(rest.items).collect();
    let acts: Vec<_> = told.iter().map(|event| (event.action, event.actor.as_str())).collect();
    assert_eq!(
        acts,
        [
            (Act::SecretRetrieved, "a one-time token"),
            (Act::CredentialsRotated, "admin"),
            (Act::AppCreated, "bob"),
            (Act::OrgCreated, "ann"),
        ]
    );
    assert_eq!(told[1].detail.as_deref(), Some("grace_period_hours=2"));
    assert_eq!(told[2].subject, Scope::App(org(1), app("a")).client_id());
    assert_eq!(told[3].at_ms, keeper.now_ms());
    scene.clock.advance_ms(90 * 86_400_000);
    assert!(keeper.audit(&org(1), 9, None).await.unwrap().items.is_empty());
}
