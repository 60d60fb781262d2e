//! The keys of the server: `/v1/admin-key`, `/v1/signing-key`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A new admin key. The server shows it once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct NewAdminKey {
    /// The key; the one before is refused from now on.
    pub admin_key: String,
}

/// The key that signs from now on.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct NewSigningKey {
    /// Its id, as tokens name it.
    pub kid: String,
}
