//! The audit log: `…/audit`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::schema::AuditSubject;

/// Which audit events to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LimiterAuditParams {
    /// Subject of the events: an entity, `$SYSTEM` or `$RESOURCE:name`; the whole namespace by default.
    #[param(value_type = AuditSubject, inline, required = false)]
    pub entity: Option<String>,
}

/// A change of an entity, a level of limits, a bucket or a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimiterAuditEvent {
    /// Id of the event; ids sort by time.
    pub id: String,
    /// Time of the change.
    #[schema(format = DateTime)]
    pub at: String,
    /// Action that was taken.
    #[schema(example = "limits_set")]
    pub action: String,
    /// Subject of the change: an entity, `$SYSTEM`, `$RESOURCE:name`, or a namespace.
    pub subject: String,
    /// Principal that made the change.
    pub principal: String,
    /// Resource that the change applies to.
    pub resource: Option<String>,
    /// Value before the change; `null` for a creation.
    #[schema(value_type = Option<Object>)]
    pub before: Option<Value>,
    /// Value after the change; `null` for a removal.
    #[schema(value_type = Option<Object>)]
    pub after: Option<Value>,
}
