//! Health of the server: `/healthz`, `/readyz`, `/health`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Says that the process lives.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Alive {
    /// Always `ok`.
    pub status: String,
    /// The version that runs.
    pub version: String,
}

/// Says whether the store answers, and how fast.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// `ready` or `not_ready`.
    pub status: String,
    /// The version that runs.
    pub version: String,
    /// The kind of store.
    pub store: String,
    /// How long the store took to answer.
    pub latency_ms: f64,
    /// What is wrong, when something is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
