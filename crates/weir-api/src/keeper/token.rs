//! `/auth/token`, `/auth/refresh` and `/auth/revoke`: tokens of clients (RFC 6749, RFC 7009).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::secret::{Secret, in_clear};

/// A request for a pair of tokens (RFC 6749, section 4.4).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// Client id: `org-{org}` or `org-{org}-app-{app}`.
    #[schema(min_length = 1, max_length = 256)]
    pub client_id: String,
    /// The client's secret.
    #[serde(serialize_with = "in_clear")]
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub client_secret: Secret,
    /// Always `client_credentials`.
    #[schema(pattern = "^client_credentials$")]
    pub grant_type: String,
    /// Accepted and ignored: the client id decides what the tokens grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub scope: Option<String>,
}

/// A pair of tokens.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenResponse {
    /// Token for requests.
    pub access_token: String,
    /// Token for further access tokens.
    pub refresh_token: String,
    /// Always `Bearer`.
    pub token_type: String,
    /// Seconds for which the access token is valid.
    pub expires_in: u64,
    /// Seconds for which the refresh token is valid.
    pub refresh_expires_in: u64,
    /// Granted scope: `org:{org}`, and `app:{app}` for an app.
    pub scope: String,
}

/// A request for another access token.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshRequest {
    /// The client's refresh token.
    #[serde(serialize_with = "in_clear")]
    #[schema(value_type = String, min_length = 1, max_length = 8192)]
    pub refresh_token: Secret,
    /// Always `refresh_token`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^refresh_token$")]
    pub grant_type: Option<String>,
}

/// An access token.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RefreshResponse {
    /// Token for requests.
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: String,
    /// Seconds for which the access token is valid.
    pub expires_in: u64,
    /// Granted scope: `org:{org}`, and `app:{app}` for an app.
    pub scope: String,
}

/// A token to revoke, or a client whose tokens to revoke.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevocationRequest {
    /// Access or refresh token. Revoking a refresh token also revokes the access tokens that came from it.
    #[serde(default, serialize_with = "in_clear", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 8192)]
    pub token: Option<Secret>,
    /// Accepted and ignored: the server finds out the type of the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub token_type_hint: Option<String>,
    /// Whether to revoke all tokens that the client has received so far.
    #[serde(default)]
    #[schema(default = false)]
    pub all: bool,
    /// Client whose tokens to revoke with the admin key, instead of with one of its tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 256)]
    pub client_id: Option<String>,
}
