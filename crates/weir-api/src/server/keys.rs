//! The keys of the server: `/v1/admin-key`, `/v1/signing-key`, `/v1/signing-keys`.

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
    /// Id of the replaced key.
    pub previous_kid: String,
    /// Whether the replaced key ended. Otherwise the tokens that it signed stay valid until they expire.
    pub previous_ended: bool,
}

/// Replacement of the signing key.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SigningKeyRotation {
    /// Whether the replaced key ends at once, with all tokens that it signed.
    #[serde(default)]
    pub end_previous: bool,
}

/// A key that verifies tokens.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SigningKey {
    /// Id of the key (`kid`).
    pub kid: String,
    /// Whether the key signs new tokens. The other one only verifies existing ones.
    pub signs: bool,
}
