//! Live buckets: looking at them, and what an operator can do to them.

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_limiter::buckets::{BucketView, LimitView};

use super::place::{By, Ns, Once, What, Who};
use super::shapes::{
    Amounts, EntityAt, EntityId, IdempotencyKey, LimitName, NsAt, Resource, ResourceAt,
    positive_amounts, time, whole,
};
use crate::limiter::error::Reply;
use weir_framework::extract::{Body, Query};
use weir_framework::page::{Page, PageLimit as _, PageParams};

/// A bucket, its shards summed, refilled to now.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Bucket {
    /// Whose it is.
    #[schema(value_type = String)]
    pub entity: EntityId,
    /// Of what.
    #[schema(value_type = String)]
    pub resource: Resource,
    /// Shards it has.
    pub shards: u32,
    /// Its limits.
    pub limits: Vec<BucketLimit>,
    /// When it can be forgotten; `null` when never.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// Whether the parent pays too.
    pub cascade: bool,
    /// The parent.
    #[schema(value_type = Option<String>)]
    pub parent: Option<EntityId>,
}

/// A limit of a bucket.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct BucketLimit {
    /// The limit.
    #[schema(value_type = String)]
    pub name: LimitName,
    /// The most there can be, in tokens.
    pub capacity: u64,
    /// Tokens that come back in a period.
    pub refill_amount: u64,
    /// The period.
    pub refill_period_seconds: u64,
    /// Tokens that are there; below zero is a debt.
    pub available: i64,
    /// Tokens that were consumed since ever.
    pub consumed: i64,
    /// When it is full, in milliseconds from now.
    pub full_in_ms: i64,
}

impl From<LimitView> for BucketLimit {
    fn from(view: LimitView) -> BucketLimit {
        BucketLimit {
            name: view.limit.name,
            capacity: view.limit.capacity,
            refill_amount: view.limit.refill_amount,
            refill_period_seconds: view.limit.refill_period_seconds,
            available: whole(view.available_milli),
            consumed: whole(view.consumed_milli),
            full_in_ms: view.full_in_ms,
        }
    }
}

impl From<BucketView> for Bucket {
    fn from(view: BucketView) -> Bucket {
        Bucket {
            entity: view.entity,
            resource: view.resource,
            shards: view.shards,
            limits: view.limits.into_iter().map(BucketLimit::from).collect(),
            expires_at: view.expires_ms.map(time),
            cascade: view.cascade,
            parent: view.parent,
        }
    }
}

/// Lists the live buckets of an entity
#[utoipa::path(get, path = "/v1/namespaces/{ns}/entities/{id}/buckets", tag = "buckets",
    params(NsAt, EntityAt), responses((status = 200, body = Page<Bucket>)))]
pub(crate) async fn list(Ns(ns): Ns, Who(id): Who) -> Reply<Page<Bucket>> {
    let buckets = ns.buckets(&id).await?;
    let items = buckets.into_iter().map(Bucket::from).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// How a resource is used.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Capacity {
    /// The resource.
    #[schema(value_type = String)]
    pub resource: Resource,
    /// Entities with a live bucket, on this part of the list.
    pub entities: u64,
    /// Sums over the buckets on this part of the list.
    pub limits: Vec<CapacityLimit>,
    /// The buckets.
    pub items: Vec<Bucket>,
    /// Where to go on; `null` at the end.
    #[schema(format = "cursor")]
    pub next_cursor: Option<String>,
}

/// A limit, summed over buckets.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CapacityLimit {
    /// The limit.
    #[schema(value_type = String)]
    pub name: LimitName,
    /// The most there can be, in tokens.
    pub capacity: i64,
    /// Tokens that are there.
    pub available: i64,
}

/// Tells how a resource is used: its live buckets, and their sums
#[utoipa::path(get, path = "/v1/namespaces/{ns}/resources/{r}/capacity", tag = "buckets",
    params(NsAt, ResourceAt, PageParams), responses((status = 200, body = Capacity)))]
pub(crate) async fn capacity(
    Ns(ns): Ns,
    What(resource): What,
    Query(part): Query<PageParams>,
) -> Reply<Capacity> {
    let found = ns.capacity(&resource, part.checked_limit()?, part.cursor).await?;
    let limits = found.limits.into_iter();
    let limits =
        limits.map(|(name, (capacity, available))| CapacityLimit { name, capacity, available });
    Ok(Json(Capacity {
        resource: found.resource,
        entities: found.entities,
        limits: limits.collect(),
        items: found.buckets.into_iter().map(Bucket::from).collect(),
        next_cursor: found.cursor,
    }))
}

/// Fills a bucket up
#[utoipa::path(post, path = "/v1/namespaces/{ns}/entities/{id}/buckets/{r}/reset", tag = "buckets",
    params(NsAt, EntityAt, ResourceAt, IdempotencyKey), responses((status = 200, body = Bucket)))]
pub(crate) async fn reset(
    Ns(ns): Ns,
    Who(id): Who,
    What(resource): What,
    once: Once,
    By(by): By,
) -> Reply<Bucket> {
    Ok(Json(ns.reset_bucket(&id, &resource, once.key(), &by).await?.into()))
}

/// Tokens to give.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TopUp {
    /// Tokens of each limit.
    #[schema(schema_with = positive_amounts)]
    pub amounts: Amounts,
}

/// Gives a bucket tokens
///
/// At most up to its capacity. With an `Idempotency-Key`, a repeated call counts once.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/entities/{id}/buckets/{r}/top-up", tag = "buckets",
    params(NsAt, EntityAt, ResourceAt, IdempotencyKey), request_body = TopUp,
    responses((status = 200, body = Bucket)))]
pub(crate) async fn top_up(
    Ns(ns): Ns,
    Who(id): Who,
    What(resource): What,
    once: Once,
    By(by): By,
    Body(body): Body<TopUp>,
) -> Reply<Bucket> {
    let bucket = ns.top_up_bucket(&id, &resource, &body.amounts, once.key(), &by).await?;
    Ok(Json(bucket.into()))
}
