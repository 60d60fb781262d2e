//! The security log: `/v1/security-log`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A security event: a credential was issued, changed, revoked or refused.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SecurityEvent {
    /// Id of the event.
    pub id: String,
    /// Time of the event.
    #[schema(format = DateTime)]
    pub at: String,
    /// Action of the event, such as `token_issued` or `sign_in_failed`.
    pub action: String,
    /// Subject of the caller; null if the credentials were refused.
    pub actor: Option<String>,
    /// Address of the caller; null for a command on the server's machine.
    pub client_address: Option<String>,
    /// Id of the client, the token or the key that the event is about.
    pub target: Option<String>,
    /// Further details, such as the reason why credentials were refused.
    pub detail: Option<String>,
    /// Id of the request, as the access log shows it.
    pub request_id: String,
}
