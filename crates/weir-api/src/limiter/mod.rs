//! Requests and responses of the limiter: one file per group of routes.
//!
//! Tokens are whole numbers. An amount that is available is rounded down; an amount that is missing is rounded up.

pub mod acquire;
pub mod audit;
pub mod buckets;
pub mod entities;
pub mod leases;
pub mod limits;
pub mod namespaces;
pub mod plan;
pub mod schema;
pub mod status;
pub mod usage;

use std::collections::BTreeMap;

pub use acquire::{
    AcquireRequest, AcquireResponse, AvailabilityParams, AvailabilityResponse, LimitStatus,
    OnExpiry,
};
pub use audit::{LimiterAuditEvent, LimiterAuditParams};
pub use buckets::{BucketLimit, BucketResponse, CapacityLimit, CapacityResponse, TopUpRequest};
pub use entities::{EntitiesParams, EntityResponse, PutEntityRequest, SetParentRequest};
pub use leases::{
    AdjustLeaseRequest, CommitLeaseRequest, LeaseResponse, LeaseState, ReleaseLeaseRequest,
    RollbackLeaseRequest,
};
pub use limits::{
    ConfiguredEntitiesParams, ConfiguredResourcesParams, EffectiveLimitsParams,
    EffectiveLimitsResponse, LimitsLevel, LimitsResponse, LimitsSource, OnUnavailable, RateLimit,
    SetLimitsRequest, SetSystemLimitsRequest,
};
pub use namespaces::{NamespaceResponse, NamespaceState};
pub use plan::{
    LevelKind, LevelLimits, PlanLimitsRequest, PlanLimitsResponse, PlannedAction, PlannedChange,
    PlannedLevel,
};
pub use status::{LimiterCacheResponse, LimiterVersionResponse};
pub use usage::{UsageParams, UsageSnapshot, UsageSummary, UsageWindow};

/// Tokens by the name of their limit.
pub type Amounts = BTreeMap<String, i64>;

/// The resource name that stands for all resources, in the limits of an entity.
pub const ALL_RESOURCES: &str = "_default_";
