//! `…/credentials`: secrets of clients.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::config::SecretLink;
use crate::secret::{Secret, in_clear};

/// Rotation of a client's secret.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RotationRequest {
    /// Hours for which the old secret works after the new one was fetched. With 0 the client's access and refresh tokens end
    /// then, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 168, default = 24)]
    pub grace_period_hours: Option<u32>,
}

/// A rotation that was started. The new secret is created when it is fetched.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RotationResponse {
    /// One-time link to the new secret.
    pub secret_retrieval: SecretLink,
    /// Expiry of the old secret.
    pub rotation: SecretRotation,
}

/// Expiry of a client's old secret.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SecretRotation {
    /// Time at which the rotation was started.
    #[schema(format = DateTime)]
    pub rotated_at: String,
    /// Latest time at which the old secret stops working. The grace period starts when the new secret is fetched; if nobody
    /// fetches it, the old secret continues to work.
    #[schema(format = DateTime)]
    pub old_secret_expires_at: String,
    /// Hours for which the old secret works after the new one was fetched.
    pub grace_period_hours: u32,
}

/// The one-time token of a link to a secret.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SecretParams {
    /// One-time token that the creation of the client or the rotation of its secret returned. Leave it out to send the token as
    /// `Authorization: Bearer`, which no log of a proxy shows.
    #[serde(default)]
    #[param(value_type = Option<String>, min_length = 1, max_length = 128)]
    pub token: Option<Secret>,
}

/// A request for a secret.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretRequest {
    /// One-time token that the creation of the client or the rotation of its secret returned. Leave it out to send the token as
    /// `Authorization: Bearer`.
    #[serde(default, serialize_with = "in_clear", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 128)]
    pub token: Option<Secret>,
}

/// A client's secret. The server returns it only once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ClientSecret {
    /// Client id with which the client requests tokens.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: String,
    /// Time at which the secret was fetched.
    #[schema(format = DateTime)]
    pub retrieved_at: String,
    /// Time at which the one-time token would have expired.
    #[schema(format = DateTime)]
    pub expires_at: String,
}
