//! `…/sticky`: the model that a chain stays at for the rest of the day.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::formats::Identifier;

/// A model to use for the rest of the day.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StickyOverride {
    /// Label of a model of the chain.
    #[schema(value_type = Identifier)]
    pub model_label: String,
}

/// The model that a chain stays at for the rest of the day.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StickyFallback {
    /// Label of the model in use.
    pub active_model_label: String,
    /// Label of the model that was in use before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_model_label: Option<String>,
    /// Reason of the move: `QUOTA_EXCEEDED` or `MANUAL_OVERRIDE`.
    pub reason: String,
    /// Time at which the chain moved.
    #[schema(format = DateTime)]
    pub activated_at: String,
}
