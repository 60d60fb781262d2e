//! Limits of the system, of resources and of entities: `…/limits/…` and `…/resources`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::schema::{EntityId, LimitName, ResourceName, ResourceNameOrAll};

/// A token bucket: holds up to `capacity` tokens and refills `refill_amount` every `refill_period_seconds`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Name of the limit.
    #[schema(value_type = LimitName)]
    pub name: String,
    /// Capacity of the bucket, in tokens; also called burst.
    #[schema(minimum = 1, maximum = 1_000_000_000_000u64)]
    pub capacity: u64,
    /// Tokens that refill in each period.
    #[schema(minimum = 1, maximum = 1_000_000_000_000u64)]
    pub refill_amount: u64,
    /// Length of the refill period, in seconds.
    #[schema(minimum = 1, maximum = 315_360_000)]
    pub refill_period_seconds: u64,
}

/// The configuration of a resource's or an entity's level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetLimitsRequest {
    /// Limits of the level; may be empty when `on_unavailable` is set.
    #[serde(default)]
    #[schema(max_items = 16)]
    pub limits: Vec<RateLimit>,
    /// Decision of an acquire while the store is unreachable; inherited from the next level by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable>,
}

/// The configuration of the system level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSystemLimitsRequest {
    /// Limits of the system; may be empty when another field is set.
    #[serde(default)]
    #[schema(max_items = 16)]
    pub limits: Vec<RateLimit>,
    /// Decision of an acquire while the store is unreachable; `block` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable>,
    /// Setting of zae-limiter, stored for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_update: Option<bool>,
    /// Whether to refuse a table whose schema has another version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict_version: Option<bool>,
}

/// Decision of an acquire while the store is unreachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnUnavailable {
    /// Grant the acquire without taking tokens; the lease is marked `degraded`.
    Allow,
    /// Refuse the acquire with 503.
    Block,
}

/// The configuration of one level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitsResponse {
    /// Limits of the level, sorted by name.
    pub limits: Vec<RateLimit>,
    /// Decision of an acquire while the store is unreachable; `null` when the level inherits it.
    pub on_unavailable: Option<OnUnavailable>,
    /// Setting of zae-limiter, stored for it; system level only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_update: Option<bool>,
    /// Whether to refuse a table whose schema has another version; system level only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict_version: Option<bool>,
    /// Number of times the level was written.
    pub version: u64,
}

/// The entity and resource to resolve limits for.
#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EffectiveLimitsParams {
    /// Entity to resolve limits for.
    #[param(value_type = EntityId, inline)]
    pub entity: String,
    /// Resource to resolve limits for.
    #[param(value_type = ResourceName, inline)]
    pub resource: String,
}

/// The limits in force for an entity on a resource, and the level that sets them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EffectiveLimitsResponse {
    /// Limits in force.
    pub limits: Vec<RateLimit>,
    /// Level that the limits come from.
    pub limits_from: LimitsSource,
    /// Decision of an acquire while the store is unreachable.
    pub on_unavailable: OnUnavailable,
    /// Level that `on_unavailable` comes from.
    pub on_unavailable_from: LimitsSource,
}

/// The level that a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitsSource {
    /// The entity's limits on this resource.
    Entity,
    /// The entity's limits on all resources.
    EntityDefault,
    /// The resource's limits.
    Resource,
    /// The system's limits.
    System,
    /// The limits in the request.
    Caller,
    /// The built-in default.
    BuiltIn,
}

/// Which resources to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ConfiguredResourcesParams {
    /// Level whose limits a listed resource has.
    #[serde(default)]
    #[param(inline, required = false)]
    pub level: LimitsLevel,
}

/// The level whose limits are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(default = "resource")]
pub enum LimitsLevel {
    /// Limits of the resource, for every entity.
    #[default]
    Resource,
    /// Limits of single entities on the resource.
    Entity,
}

/// Which entities to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ConfiguredEntitiesParams {
    /// Resource that a listed entity has limits on; `_default_`, for limits on all resources, by default.
    #[param(value_type = ResourceNameOrAll, inline, required = false)]
    pub resource: Option<String>,
}
