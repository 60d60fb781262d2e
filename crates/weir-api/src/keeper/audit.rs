//! `…/audit`: changes of orgs and apps.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A change of an org or an app.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct OrgAuditEvent {
    /// Id of the event; ids sort by time.
    pub id: String,
    /// Time of the change.
    #[schema(format = DateTime)]
    pub at: String,
    /// Kind of the change.
    #[schema(example = "org_updated")]
    pub action: String,
    /// Client id of the changed org or app.
    pub subject: String,
    /// Name of the caller who made the change.
    pub actor: String,
    /// Details of the change, like the names of changed settings; never a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
