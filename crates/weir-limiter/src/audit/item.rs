//! The stored form of an audit event: zae-limiter's attributes, with before and after among the details.

use ulid::Ulid;
use weir_table::{Item, Value};

use super::{AuditAction, AuditEvent, NewAuditEvent, json};
use crate::{keys, time};

const EVENT_ID: &str = "event_id";
const SUBJECT: &str = "entity_id";
const TIMESTAMP: &str = "timestamp";
const ACTION: &str = "action";
const ACTOR: &str = "principal";
const RESOURCE: &str = "resource";
const DETAILS: &str = "details";
const BEFORE: &str = "before";
const AFTER: &str = "after";

/// Encodes an event of the first namespace, which the second one lists. `expires` is in seconds since 1970.
pub(super) fn encode(
    (ns, listed): (&str, &str),
    id: String,
    event: &NewAuditEvent<'_>,
    now_ms: i64,
    expires: i64,
) -> Item {
    let sides = [(BEFORE, &event.before), (AFTER, &event.after)];
    let details = sides.into_iter().filter_map(|(name, side)| {
        let side = side.as_ref()?;
        Some((name, json::from_json(side)))
    });
    keys::item(keys::audit(ns, event.subject, &id))
        .with("GSI1PK", keys::gsi1_audit(listed))
        .with("GSI1SK", id.as_str())
        .with(SUBJECT, event.subject)
        .with(EVENT_ID, id)
        .with(TIMESTAMP, time::rfc3339_seconds(now_ms))
        .with(ACTION, event.action.as_str())
        .with(ACTOR, event.actor)
        .with(RESOURCE, event.resource.map_or(Value::Null, Value::from))
        .with(DETAILS, Value::map(details))
        .with("ttl", expires)
        .with("GSI4PK", ns)
        .with("GSI4SK", keys::audit_partition(ns, event.subject))
}

/// Decodes an event. None, if its action is unknown to this version.
pub(super) fn decode(item: &Item) -> Option<AuditEvent> {
    let id = item.s(EVENT_ID).or_else(|| item.s("SK")?.strip_prefix(keys::AUDIT_SK))?;
    let from_id = Ulid::from_string(id).ok().and_then(|id| i64::try_from(id.timestamp_ms()).ok());
    let at_ms = from_id.or_else(|| item.s(TIMESTAMP).and_then(time::parse))?;
    let (before, after) = sides(item.get(DETAILS));
    Some(AuditEvent {
        id: id.to_owned(),
        at_ms,
        action: AuditAction::parse(item.s(ACTION)?)?,
        subject: item.s(SUBJECT).unwrap_or_default().to_owned(),
        actor: item.s(ACTOR).unwrap_or_default().to_owned(),
        resource: item.s(RESOURCE).map(str::to_owned),
        before,
        after,
    })
}

/// The subject before and after. Events of zae-limiter have neither: their details describe the state afterwards.
fn sides(details: Option<&Value>) -> (Option<serde_json::Value>, Option<serde_json::Value>) {
    let Some(Value::M(fields)) = details else { return (None, None) };
    let side = |name| fields.get(name).map(json::to_json);
    match (side(BEFORE), side(AFTER)) {
        (None, None) if !fields.is_empty() => (None, details.map(json::to_json)),
        sides => sides,
    }
}
