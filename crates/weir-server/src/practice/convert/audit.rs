//! Audit events.

use weir_api::practice as api;
use weir_framework::time::time;
use weir_practice::audit::AuditEvent;

/// An audit event.
pub(in crate::practice) fn audit_event(event: AuditEvent) -> api::PracticeAuditEvent {
    api::PracticeAuditEvent {
        id: event.id.to_string(),
        at: time(event.at_ms),
        action: event.action.as_str().to_owned(),
        subject: event.subject,
        actor: event.actor,
        detail: event.detail,
    }
}
