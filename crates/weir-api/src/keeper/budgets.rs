//! `/api/v1/budgets`: the present day of many orgs.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::config::QuotaScope;
use super::formats::OrgId;
use super::selection::QuotaState;

/// Which budgets to list.
#[derive(Debug, Default, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BudgetParams {
    /// Id of the only org to list.
    #[param(value_type = OrgId, inline, required = false)]
    pub org: Option<String>,
}

/// The budget of an org on its present day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Budget {
    /// Id of the org.
    pub org_id: String,
    /// Display name of the org.
    pub org_name: String,
    /// Present day of the org.
    #[schema(format = Date)]
    pub day: String,
    /// IANA time zone of the org.
    pub timezone: String,
    /// Scope of the spend that the quotas limit.
    pub quota_scope: QuotaScope,
    /// Spend on all models so far today, in micro-USD.
    pub spent_usd_micros: u64,
    /// Sum of the quotas of the chain, in micro-USD.
    pub quota_usd_micros: u64,
    /// Spend in percent of the sum of the quotas.
    pub used_pct: f64,
    /// Number of submissions so far today.
    pub requests: u64,
    /// Label of the model in use; `null` when all quotas are spent.
    pub current_model: Option<String>,
    /// `EXCEEDED` when all quotas are spent, `TIGHT` when the spend has reached the threshold of their sum.
    pub status: QuotaState,
    /// Whether the chain stays at a later model for the rest of the day.
    pub sticky_fallback_active: bool,
    /// Time at which the quota of the model in use will be spent at the rate of the day so far; `null` when not today.
    #[schema(format = DateTime)]
    pub projected_exhaustion_at: Option<String>,
    /// Usage of each model: the chain in its order, then others that were used.
    pub models: Vec<ModelBudget>,
    /// Spend of the last 14 days in micro-USD, the oldest first and today last.
    pub last_14_days: Vec<u64>,
}

/// The budget of a model on the present day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelBudget {
    /// Label of the model.
    pub label: String,
    /// Spend on the model so far today, in micro-USD.
    pub spent_usd_micros: u64,
    /// Daily quota of the model, in micro-USD.
    pub quota_usd_micros: u64,
    /// Number of submissions so far today.
    pub requests: u64,
}
