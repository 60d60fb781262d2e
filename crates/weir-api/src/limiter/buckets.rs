//! Live buckets: `…/entities/{id}/buckets/…` and `…/resources/{r}/capacity`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Amounts;
use super::schema::topped_up_amounts;

/// A bucket of an entity on a resource: its shards summed, refilled to now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BucketResponse {
    /// Entity that the bucket belongs to.
    pub entity: String,
    /// Resource that the bucket limits.
    pub resource: String,
    /// Number of shards of the bucket.
    pub shards: u32,
    /// Limits of the bucket.
    pub limits: Vec<BucketLimit>,
    /// Time at which the unused bucket may be removed; `null` when it never is.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// Whether every acquire also takes from the parent's bucket.
    pub cascade: bool,
    /// Parent of the entity.
    pub parent: Option<String>,
}

/// A limit of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BucketLimit {
    /// Name of the limit.
    pub name: String,
    /// Capacity of the bucket, in tokens.
    pub capacity: u64,
    /// Tokens that refill in each period.
    pub refill_amount: u64,
    /// Length of the refill period, in seconds.
    pub refill_period_seconds: u64,
    /// Tokens available now; negative when the bucket is in debt.
    pub available: i64,
    /// Tokens consumed since the bucket was created.
    pub consumed: i64,
    /// Milliseconds until the bucket is full.
    pub full_in_ms: i64,
}

/// A page of the live buckets of a resource, with their sums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CapacityResponse {
    /// Name of the resource.
    pub resource: String,
    /// Number of entities on this page that have a live bucket.
    pub entities: u64,
    /// Capacity and available tokens of each limit, summed over the buckets of this page.
    pub limits: Vec<CapacityLimit>,
    /// Buckets of this page.
    pub items: Vec<BucketResponse>,
    /// Cursor of the next page; `null` on the last page.
    #[schema(format = "cursor")]
    pub next_cursor: Option<String>,
}

/// A limit, summed over buckets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CapacityLimit {
    /// Name of the limit.
    pub name: String,
    /// Capacity of the buckets, in tokens.
    pub capacity: i64,
    /// Tokens available now.
    pub available: i64,
}

/// Tokens to add to a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TopUpRequest {
    /// Tokens to add to each limit.
    #[schema(schema_with = topped_up_amounts)]
    pub amounts: Amounts,
}
