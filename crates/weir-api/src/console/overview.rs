//! `/v1/overview`: the figures of all services on one page.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::keeper::{Budget, ModelBudget};

/// The figures that the caller's scopes reach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    /// Time of the figures.
    #[schema(format = DateTime)]
    pub at: String,
    /// Health of the store; for administrators only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreHealth>,
    /// Background jobs of this instance; for administrators only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobsHealth>,
    /// Budgets of the orgs that the caller may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper: Option<BudgetsOverview>,
    /// Acquires in the namespaces that the caller may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limiter: Option<TrafficOverview>,
}

/// Health of the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StoreHealth {
    /// Kind of the store: `embedded` or `dynamodb`.
    pub backend: String,
    /// State of the store, as `/readyz` reports it: `ready`, `not_ready` or `draining`.
    pub status: String,
    /// Response time of the store, in milliseconds.
    pub latency_ms: f64,
    /// Reason when the store is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Free space of the disk, in bytes; absent when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_free_bytes: Option<u64>,
}

/// Background jobs that need attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobsHealth {
    /// Number of jobs.
    pub total: u64,
    /// Names of jobs whose last run failed.
    pub failed: Vec<String>,
    /// Names of jobs that are late, as the list of jobs has them.
    pub late: Vec<String>,
}

/// Budgets of many orgs on their present days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BudgetsOverview {
    /// Number of orgs that were added up.
    pub orgs: u64,
    /// Whether all orgs were added up.
    pub is_complete: bool,
    /// Spend on all models so far today, in micro-USD.
    pub spent_usd_micros: u64,
    /// Sum of the quotas of all chains, in micro-USD.
    pub quota_usd_micros: u64,
    /// Spend of the whole day seven days ago, in micro-USD.
    pub spent_7_days_ago_usd_micros: u64,
    /// Number of submissions so far today.
    pub requests: u64,
    /// Number of orgs that have spent more than 80 percent of their quotas.
    pub above_80_pct: u64,
    /// Number of orgs whose quotas are all spent.
    pub exceeded: u64,
    /// Number of webhooks whose next notice could not be delivered yet.
    pub webhooks_failing: u64,
    /// Orgs with the highest share of their quotas spent.
    pub top: Vec<Budget>,
    /// Usage of each model, the highest spend first.
    pub models: Vec<ModelBudget>,
}

/// Acquires that this instance has decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrafficOverview {
    /// Time since which acquires are counted: the start of this instance.
    #[schema(format = DateTime)]
    pub since: String,
    /// Number of granted acquires.
    pub granted: u64,
    /// Number of refused acquires.
    pub refused: u64,
    /// Resources with the most acquires.
    pub top: Vec<ResourceTraffic>,
}

/// Acquires on a resource of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResourceTraffic {
    /// Name of the namespace.
    pub namespace: String,
    /// Name of the resource.
    pub resource: String,
    /// Number of granted acquires.
    pub granted: u64,
    /// Number of refused acquires.
    pub refused: u64,
}
