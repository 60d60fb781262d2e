//! The audit log.

use weir_keeper::Error;
use weir_keeper::audit::AuditAction;
use weir_keeper::config::{PutApp, PutOrg};
use weir_keeper::ids::Scope;
use weir_table::audit::EventRange;

use crate::credentials::secret_of;
use crate::scene::{Scene, app, app_request, org, org_request};

scenes!(
    every_action_is_audited_once_and_expires,
    events_are_found_by_time_and_by_app,
    a_change_names_the_changed_fields,
);

fn of_org() -> Scope {
    Scope::Org(org(1))
}

fn most(limit: u32) -> EventRange {
    EventRange { limit, ..EventRange::default() }
}

async fn every_action_is_audited_once_and_expires(scene: &Scene) {
    let keeper = &scene.keeper;
    keeper.put_org(&org(1), &org_request(), "ann").await.unwrap();
    keeper.put_org(&org(1), &org_request(), "nobody").await.unwrap();
    keeper.put_app(&org(1), &app("a"), &app_request(), "bob").await.unwrap();
    secret_of(scene, &Scope::Org(org(1)), 2).await;
    keeper.put_org(&org(2), &org_request(), "cat").await.unwrap();
    let first = keeper.audit_events(&of_org(), &most(3)).await.unwrap();
    let rest = EventRange { cursor: first.cursor, ..most(3) };
    let rest = keeper.audit_events(&of_org(), &rest).await.unwrap();
    let events: Vec<_> = first.items.into_iter().chain(rest.items).collect();
    let actions: Vec<_> = events.iter().map(|event| (event.action, event.actor.as_str())).collect();
    assert_eq!(
        actions,
        [
            (AuditAction::SecretRetrieved, "a one-time token"),
            (AuditAction::CredentialsRotated, "admin"),
            (AuditAction::AppCreated, "bob"),
            (AuditAction::OrgCreated, "ann"),
        ]
    );
    assert_eq!(events[1].detail.as_deref(), Some("grace_period_hours=2"));
    assert_eq!(events[2].subject, Scope::App(org(1), app("a")).client_id());
    assert_eq!(events[3].at_ms, keeper.now_ms());
    scene.clock.advance_ms(90 * 86_400_000);
    assert!(keeper.audit_events(&of_org(), &most(9)).await.unwrap().items.is_empty());
}

async fn events_are_found_by_time_and_by_app(scene: &Scene) {
    let keeper = &scene.keeper;
    let began_ms = keeper.now_ms();
    keeper.put_org(&org(1), &org_request(), "ann").await.unwrap();
    for (minute, name) in ["a", "b", "a", "b", "b", "b", "b", "a"].into_iter().enumerate() {
        scene.clock.advance_ms(60_000);
        let wanted = app_request();
        let wanted = PutApp { app_name: format!("At minute {minute}"), ..wanted };
        keeper.put_app(&org(1), &app(name), &wanted, "bob").await.unwrap();
    }
    let minutes = async |scope: &Scope, range: EventRange| {
        let (mut range, mut found) = (range, Vec::new());
        loop {
            let page = keeper.audit_events(scope, &range).await.unwrap();
            assert!(page.items.len() <= range.limit as usize);
            found.extend(page.items.iter().map(|event| (event.at_ms - began_ms) / 60_000));
            match page.cursor {
                None => return found,
                cursor => range.cursor = cursor,
            }
        }
    };
    let of_a = Scope::App(org(1), app("a"));
    for limit in [1, 2, 100] {
        assert_eq!(minutes(&of_a, most(limit)).await, [8, 3, 1], "{limit} a page");
        let all = minutes(&of_org(), most(limit)).await;
        assert_eq!(all, [8, 7, 6, 5, 4, 3, 2, 1, 0], "{limit} a page");
    }
    let (from_ms, to_ms) = (Some(began_ms + 120_000), Some(began_ms + 240_000));
    let range = EventRange { from_ms, to_ms, ..most(1) };
    let empty = EventRange { to_ms: from_ms, ..range.clone() };
    assert_eq!(minutes(&of_org(), range.clone()).await, [3, 2]);
    assert_eq!(minutes(&of_a, range).await, [3]);
    assert_eq!(minutes(&of_org(), empty).await, [0; 0]);
    let cursor = keeper.audit_events(&of_org(), &most(1)).await.unwrap().cursor;
    let mixed = keeper.audit_events(&of_a, &EventRange { cursor, ..most(1) }).await.unwrap_err();
    assert!(matches!(mixed, Error::Invalid { .. }), "{mixed}");
}

async fn a_change_names_the_changed_fields(scene: &Scene) {
    let keeper = &scene.keeper;
    keeper.put_org(&org(1), &org_request(), "ann").await.unwrap();
    keeper.put_app(&org(1), &app("a"), &app_request(), "ann").await.unwrap();
    let wanted = PutOrg { timezone: "UTC".into(), unpriced: Some("zero".into()), ..org_request() };
    keeper.put_org(&org(1), &wanted, "ann").await.unwrap();
    let wanted = PutApp { quotas: Some(org_request().quotas), ..app_request() };
    keeper.put_app(&org(1), &app("a"), &wanted, "ann").await.unwrap();
    let events = keeper.audit_events(&of_org(), &most(2)).await.unwrap().items;
    let details: Vec<_> = events.iter().map(|event| event.detail.as_deref()).collect();
    assert_eq!(details, [Some("quotas"), Some("timezone, unpriced")]);
}
