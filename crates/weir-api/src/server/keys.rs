//! The keys of the server: `/v1/admin-key`, `/v1/signing-key`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A new admin key. The server shows it once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct NewAdminKey {
    /// The new admin key. The old one is no longer valid.
    pub admin_key: String,
}

/// The new signing key.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct NewSigningKey {
    /// Id of the signing key (`kid`).
    pub kid: String,
}
