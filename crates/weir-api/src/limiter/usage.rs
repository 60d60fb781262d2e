//! Usage by hour, day and month: `…/usage` and `…/usage/summary`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Amounts;
use super::schema::{EntityId, ResourceName};

/// The length of a usage window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageWindow {
    /// An hour.
    #[default]
    Hourly,
    /// A day in UTC.
    Daily,
    /// A month in UTC.
    Monthly,
}

/// Which usage to read. A request names an entity, a resource or both.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UsageParams {
    /// Entity whose usage is read; every entity by default.
    #[param(value_type = EntityId, inline, required = false)]
    pub entity: Option<String>,
    /// Resource whose usage is read; every resource by default.
    #[param(value_type = ResourceName, inline, required = false)]
    pub resource: Option<String>,
    /// Length of the usage windows; `hourly` by default.
    #[serde(default)]
    #[param(inline, required = false)]
    pub window: UsageWindow,
}

/// Usage of a resource by an entity in one window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageSnapshot {
    /// Entity that used the tokens.
    pub entity: String,
    /// Resource that was used.
    pub resource: String,
    /// Length of the window.
    pub window: UsageWindow,
    /// Start of the window.
    #[schema(format = DateTime)]
    pub start: String,
    /// Tokens used of each limit.
    pub used: Amounts,
    /// Number of changes that the usage was computed from.
    pub events: i64,
}

/// Usage summed over windows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageSummary {
    /// Start of the time range, inclusive.
    #[schema(format = DateTime)]
    pub from: String,
    /// End of the time range, exclusive.
    #[schema(format = DateTime)]
    pub to: String,
    /// Length of the windows.
    pub window: UsageWindow,
    /// Number of windows that were summed.
    pub snapshots: u64,
    /// Tokens used of each limit.
    pub total: Amounts,
    /// Tokens used of each limit in its busiest window.
    pub peak: Amounts,
    /// Number of changes that the usage was computed from.
    pub events: i64,
}
