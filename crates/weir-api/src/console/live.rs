//! `/v1/live`: figures as they change.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::overview::JobsHealth;

/// The figures of a moment that the caller's scopes reach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tick {
    /// Time of the figures.
    #[schema(format = DateTime)]
    pub at: String,
    /// Rates of acquires on this instance, the highest first, of at most 50 resources.
    pub limiter: Vec<ResourceRates>,
    /// Rates of acquires in namespaces, the highest first, of at most 50 namespaces.
    pub limiter_namespaces: Vec<NamespaceRates>,
    /// Sums over all namespaces and resources, also over those that the lists do not have.
    pub limiter_totals: TotalRates,
    /// Orgs whose day, spend or quota has changed.
    pub keeper: Vec<OrgSpend>,
    /// Background jobs of this instance; for administrators only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobsHealth>,
}

/// Rates of acquires on a resource of a namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResourceRates {
    /// Name of the namespace.
    pub namespace: String,
    /// Name of the resource.
    pub resource: String,
    /// Granted acquires per second over the last ten seconds.
    pub granted_per_sec: f64,
    /// Refused acquires per second over the last ten seconds.
    pub refused_per_sec: f64,
}

/// Rates of acquires on all resources of a namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NamespaceRates {
    /// Name of the namespace.
    pub namespace: String,
    /// Granted acquires per second over the last ten seconds.
    pub granted_per_sec: f64,
    /// Refused acquires per second over the last ten seconds.
    pub refused_per_sec: f64,
    /// Number of resources with acquires. If the list of resources has fewer of the namespace, it is cut.
    pub resources: u64,
}

/// Rates of all acquires.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TotalRates {
    /// Granted acquires per second over the last ten seconds.
    pub granted_per_sec: f64,
    /// Refused acquires per second over the last ten seconds.
    pub refused_per_sec: f64,
    /// Number of resources with acquires.
    pub resources: u64,
    /// Number of namespaces with acquires.
    pub namespaces: u64,
}

/// Spend of an org on its present day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OrgSpend {
    /// Id of the org.
    pub org_id: String,
    /// Present day of the org.
    #[schema(format = Date)]
    pub day: String,
    /// Spend on all models so far today, in micro-USD.
    pub spent_usd_micros: u64,
    /// Sum of the quotas of the chain, in micro-USD.
    pub quota_usd_micros: u64,
}
