//! What a client asks to be set. Taken as it comes, so that each thing that is wrong can be named by its own code.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The configuration wanted for an org.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutOrg {
    /// Its name.
    pub org_name: String,
    /// An IANA time zone.
    pub timezone: String,
    /// `ORG` or `APP`.
    pub quota_scope: String,
    /// Labels, the preferred one first.
    pub model_ordering: Vec<String>,
    /// Micro-USD a day for every label.
    pub quotas: BTreeMap<String, i64>,
    /// What differs from the defaults.
    #[serde(default)]
    pub overrides: Overrides,
    /// `refuse` (the default) or `zero`: what to do with submissions whose model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpriced: Option<String>,
}

/// The configuration wanted for an app.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutApp {
    /// Its name.
    pub app_name: String,
    /// Labels, the preferred one first; else as the org.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ordering: Option<Vec<String>>,
    /// Micro-USD a day for every label; else as the org.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotas: Option<BTreeMap<String, i64>>,
    /// What differs from the org.
    #[serde(default)]
    pub overrides: Overrides,
}

/// What differs from the defaults, or from the org.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// From which percentage of its quota a model is tight: 50 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tight_mode_threshold_pct: Option<i64>,
    /// Shards of the counters, of an org only: 8, 16, 32 or 64, for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agg_shard_count: Option<i64>,
    /// Whether a fallback lasts for the day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky_fallback_enabled: Option<bool>,
    /// Seconds between two checks of a client while there is room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_interval_normal_secs: Option<i64>,
    /// The same close to a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_interval_tight_secs: Option<i64>,
    /// Another name of `refresh_interval_normal_secs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_interval_secs: Option<i64>,
}
