//! Sessions of the console: `/v1/session`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::secret::{Secret, in_clear};

/// The credential to open a session with.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// The admin key or an access token.
    #[serde(serialize_with = "in_clear")]
    #[schema(value_type = String, format = Password)]
    pub credential: Secret,
    /// Name of the person who uses the admin key, for audit trails; `admin` by default. A token has a name of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = r"^[^\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]*[^\s\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb][^\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]*$",
        example = "ada"
    )]
    pub name: Option<String>,
}

/// A session of the console.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Subject of the session, as audit trails show it.
    pub subject: String,
    /// Name of the person or the token.
    pub name: String,
    /// Scopes of the session.
    pub scopes: Vec<String>,
    /// Whether the session may do everything.
    pub admin: bool,
    /// Time at which the session ends.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// Token to send as `X-CSRF-Token` with every request that changes something.
    pub csrf_token: String,
    /// Version of the server.
    pub version: String,
    /// Present if the data is a demo.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demo: bool,
}

/// Which sessions to end.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SignOutParams {
    /// Whether to end all sessions of the same person or token.
    #[serde(default)]
    #[param(required = false)]
    pub everywhere: bool,
}
