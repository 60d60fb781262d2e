//! Tokens of operators and programs: `/v1/tokens`, `/v1/whoami`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The token to issue.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// Name of the token, shown in lists.
    #[schema(
        min_length = 1,
        max_length = 100,
        pattern = r"^[^\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]*[^\s\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb][^\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]*$",
        example = "nightly-report"
    )]
    pub name: String,
    /// The scopes that it grants, separated by spaces: `admin`, `metrics`, or those of a tenant, such as `ns:NAME`,
    /// `ns:NAME:acquire` and `org:ID app:ID:read`.
    #[schema(format = "scope", min_length = 1, max_length = 4096, example = "ns:default:acquire")]
    pub scope: String,
    /// Lifetime of the token in seconds.
    #[schema(minimum = 1, maximum = 31_622_400, default = 7_776_000)]
    pub expires_in: Option<u64>,
}

/// A newly issued token. The server shows its text once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MadeToken {
    /// Id of the token.
    pub id: String,
    /// Name of the token.
    pub name: String,
    /// Scope of the token.
    pub scope: String,
    /// Token to send as `Authorization: Bearer`.
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: String,
    /// Lifetime of the token in seconds.
    pub expires_in: u64,
}

/// A token, without its text.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Id of the token.
    pub id: String,
    /// Name of the token.
    pub name: String,
    /// Scope of the token.
    pub scope: String,
    /// Time of issue.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of expiry.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// Time of revocation.
    #[schema(format = DateTime)]
    pub revoked_at: Option<String>,
    /// Whether the token is a session of the console, which works in a browser's cookie only.
    #[serde(default)]
    pub session: bool,
}

/// The caller's identity.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Whoami {
    /// Name of the caller.
    pub subject: String,
    /// Scope of the caller.
    pub scope: String,
    /// Time of expiry of the caller's token; `null` for the admin key.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}
