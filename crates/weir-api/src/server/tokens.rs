//! Tokens of operators and programs: `/v1/tokens`, `/v1/whoami`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The token to issue.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// Whose it is, for people.
    #[schema(
        min_length = 1,
        max_length = 100,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$",
        example = "nightly-report"
    )]
    pub name: String,
    /// What it may do: `admin`, or grants such as `org:ID`, `ns:NAME` and `owner:LOGIN`, separated by spaces.
    #[schema(format = "scope", min_length = 1, max_length = 4096, example = "ns:default")]
    pub scope: String,
    /// How long it counts.
    #[schema(minimum = 1, maximum = 31_622_400, default = 7_776_000)]
    pub expires_in: Option<u64>,
}

/// A newly issued token. The server shows its text once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MadeToken {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub name: String,
    /// What it may do.
    pub scope: String,
    /// The token.
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: String,
    /// How long it counts.
    pub expires_in: u64,
}

/// A token, without its text.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub name: String,
    /// What it may do.
    pub scope: String,
    /// When it was issued.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Until when it counts.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// When it was revoked.
    #[schema(format = DateTime)]
    pub revoked_at: Option<String>,
}

/// Who is asking.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Whoami {
    /// Their name.
    pub subject: String,
    /// What they may do.
    pub scope: String,
    /// Until when their token counts; `null` for the admin key.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}
