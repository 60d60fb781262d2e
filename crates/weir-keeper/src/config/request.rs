//! Configuration requests, unvalidated: fields are plain text and numbers, so that each invalid one gets its own error.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The requested configuration of an org.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutOrg {
    /// Name of the org.
    pub org_name: String,
    /// IANA time zone.
    pub timezone: String,
    /// `ORG` or `APP`.
    pub quota_scope: String,
    /// Labels of the chain, the preferred one first.
    pub model_ordering: Vec<String>,
    /// Daily quota of every label, in micro-USD.
    pub quotas: BTreeMap<String, i64>,
    /// Settings that differ from the defaults; without them, the org keeps those it has.
    #[serde(default)]
    pub overrides: Option<Overrides>,
    /// What to do with submissions whose model has no price: `refuse` (the default) or `zero`; without it, the org keeps
    /// what it has.
    #[serde(default)]
    pub unpriced: Option<String>,
}

/// The requested configuration of an app.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutApp {
    /// Name of the app.
    pub app_name: String,
    /// Labels of the chain, the preferred one first; inherited from the org by default.
    #[serde(default)]
    pub model_ordering: Option<Vec<String>>,
    /// Daily quota of every label, in micro-USD; inherited from the org by default.
    #[serde(default)]
    pub quotas: Option<BTreeMap<String, i64>>,
    /// Settings that differ from the org; without them, the app keeps those it has.
    #[serde(default)]
    pub overrides: Option<Overrides>,
}

/// Settings that differ from the defaults, or from the org.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// Percentage of its quota from which a model is tight: 50 to 100.
    #[serde(default)]
    pub tight_mode_threshold_pct: Option<i64>,
    /// Shard count of an org: 8, 16, 32 or 64; it never changes.
    #[serde(default)]
    pub agg_shard_count: Option<i64>,
    /// Whether a fallback is sticky: it lasts for the rest of the day.
    #[serde(default)]
    pub sticky_fallback_enabled: Option<bool>,
    /// Seconds between two checks of a client below the threshold.
    #[serde(default)]
    pub refresh_interval_normal_secs: Option<i64>,
    /// Seconds between two checks of a client near a quota.
    #[serde(default)]
    pub refresh_interval_tight_secs: Option<i64>,
    /// Alias of `refresh_interval_normal_secs`.
    #[serde(default)]
    pub refresh_interval_secs: Option<i64>,
}
