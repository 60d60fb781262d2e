//! Health of the server: `/healthz`, `/readyz`, `/health`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The process is running.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Alive {
    /// Always `ok`.
    pub status: String,
    /// Version of the server.
    pub version: String,
}

/// Readiness of the server.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// `ready`, `not_ready` or `draining`.
    pub status: String,
    /// Version of the server.
    pub version: String,
    /// Kind of store.
    pub store: String,
    /// Response time of the store in milliseconds.
    pub latency_ms: f64,
    /// Reason why the server is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Present if the data is a demo.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demo: bool,
}
