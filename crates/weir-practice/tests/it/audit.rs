//! The audit log.

use weir_practice::audit::{AuditAction, NewAuditEvent};
use weir_table::audit::EventRange;

use crate::scene::{NOW_MS, Scene};

scenes!(events_are_listed_newest_first);

async fn events_are_listed_newest_first(scene: &Scene) {
    let practice = &scene.practice;
    for (action, subject) in [
        (AuditAction::UserCreated, "user 1"),
        (AuditAction::UserDeactivated, "user 1"),
        (AuditAction::PlanPut, "plan 2"),
    ] {
        let event =
            NewAuditEvent { action, subject: subject.to_owned(), actor: "ann", detail: None };
        let write = practice.audit_write(event, NOW_MS).unwrap();
        assert!(practice.write(write).await.unwrap().is_applied());
    }
    let all = practice.audit_events(None, &EventRange::default()).await.unwrap();
    let actions: Vec<_> = all.items.iter().map(|event| event.action.as_str()).collect();
    assert_eq!(actions, ["plan_put", "user_deactivated", "user_created"]);
    let one = practice.audit_events(Some("user 1"), &EventRange::default()).await.unwrap();
    assert_eq!(one.items.len(), 2);
    assert_eq!((one.items[0].at_ms, one.items[0].actor.as_str()), (NOW_MS, "ann"));
}
