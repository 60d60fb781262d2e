//! Health of the server: `/healthz`, `/readyz`, `/health`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The process is running.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Alive {
    /// Always `ok`.
    pub status: String,
    /// Version of the server.
    pub version: String,
}

/// Conditions of the readiness of the server.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReadinessParams {
    /// Whether the store must respond and accept writes; `check` by default. With `ignore` the server is ready until it stops.
    #[serde(default)]
    #[param(inline, required = false)]
    pub store: StoreProbe,
}

/// Whether the readiness of the server depends on the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoreProbe {
    /// The store must respond and accept writes.
    #[default]
    Check,
    /// The state of the store does not matter.
    Ignore,
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
    /// Response time of the store in milliseconds; 0 if the store was not checked.
    pub latency_ms: f64,
    /// Reason why the server is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Present if the data is a demo.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demo: bool,
}
