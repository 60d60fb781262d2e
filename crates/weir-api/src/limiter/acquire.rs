//! `POST acquire` and `GET availability`.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::schema::{EntityId, QueryAmounts, ResourceName, consumed_amounts};
use super::{Amounts, RateLimit};

/// A request to take tokens from an entity's bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireRequest {
    /// Entity that takes the tokens.
    #[schema(value_type = EntityId)]
    pub entity: String,
    /// Resource whose limits apply.
    #[schema(value_type = ResourceName)]
    pub resource: String,
    /// Tokens to take from each limit.
    #[schema(schema_with = consumed_amounts)]
    pub consume: Amounts,
    /// Limits that apply when no level configures limits for this entity and resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 16)]
    pub limits: Option<Vec<RateLimit>>,
    /// Lifetime of the lease in seconds; the lease can be settled until it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400, default = 600)]
    pub lease_ttl_secs: Option<i64>,
    /// Fate of the tokens when the lease expires unsettled.
    #[serde(default)]
    #[schema(default = "keep")]
    pub on_expiry: OnExpiry,
    /// Whether to decide without taking any tokens.
    #[serde(default)]
    #[schema(default = false)]
    pub dry_run: bool,
}

/// Fate of the tokens of a lease that expires unsettled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    /// The tokens stay taken.
    #[default]
    Keep,
    /// The tokens return to the bucket.
    Rollback,
}

/// A granted acquire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AcquireResponse {
    /// Signed lease that settles the tokens; missing after a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// Time at which the lease expires; missing after a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// Whether the acquire was granted without taking tokens, because the store was unreachable.
    pub degraded: bool,
    /// Status of every requested limit after the acquire: the entity's limits, then its parent's.
    pub limits: Vec<LimitStatus>,
}

/// A limit as a request finds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitStatus {
    /// Entity that the limit belongs to: the caller's, or its parent.
    #[schema(value_type = String)]
    pub entity: CompactString,
    /// Name of the limit.
    #[schema(value_type = String)]
    pub name: CompactString,
    /// Capacity of the bucket, in tokens.
    pub capacity: u64,
    /// Tokens that refill in each period.
    pub refill_amount: u64,
    /// Length of the refill period, in seconds.
    pub refill_period_seconds: u64,
    /// Tokens available now; negative when the bucket is in debt.
    pub available: i64,
    /// Tokens requested.
    #[serde(rename = "asked")]
    pub requested: i64,
    /// Tokens missing for the request; 0 when the limit can serve it.
    pub deficit: i64,
    /// Milliseconds until the limit can serve the request; 0 when it can now.
    pub retry_after_ms: i64,
}

/// The entity, resource and amounts to check.
#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AvailabilityParams {
    /// Entity that would take the tokens.
    #[param(value_type = EntityId, inline)]
    pub entity: String,
    /// Resource whose limits apply.
    #[param(value_type = ResourceName, inline)]
    pub resource: String,
    /// Amounts to compute the waiting times for, as `limit:amount` separated by commas; one token of each limit by default.
    #[param(value_type = QueryAmounts, inline, required = false)]
    pub amounts: Option<String>,
}

/// Tokens that are available now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AvailabilityResponse {
    /// Entity that would take the tokens.
    pub entity: String,
    /// Resource whose limits apply.
    pub resource: String,
    /// Status of every limit: the entity's limits and, if it cascades, its parent's.
    pub limits: Vec<LimitStatus>,
}
