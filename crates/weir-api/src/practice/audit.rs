//! `/v1/practice/audit`: changes by administrators.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::formats::PracticeAuditSubject;

/// Which audit events to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PracticeAuditParams {
    /// Subject of the events, like `user 12345`, `plan 2` or `problem baekjoon/1000`; all by default.
    #[param(value_type = PracticeAuditSubject, inline, required = false)]
    pub subject: Option<String>,
}

/// A change of a user, a plan, a problem, a run, a job or a counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PracticeAuditEvent {
    /// Id of the event; ids sort by time.
    pub id: String,
    /// Time of the change.
    #[schema(format = DateTime)]
    pub at: String,
    /// Kind of the change.
    #[schema(example = "user_plan_changed")]
    pub action: String,
    /// Subject of the change.
    pub subject: String,
    /// Name of the caller who made the change.
    pub actor: String,
    /// Details of the change; never personal data.
    pub detail: Option<String>,
}
