//! Live buckets: reading them, and the operations of an operator on them.

use axum::Json;
use weir_api::limiter::{BucketResponse, CapacityLimit, CapacityResponse, TopUpRequest};

use super::convert::{self, bucket_response};
use super::path::{EntityPath, IdempotencyKey, NamespacePath, ResourcePath};
use crate::limiter::error::Reply;
use weir_framework::actor::Actor;
use weir_framework::extract::{Body, Query};
use weir_framework::page::{Page, PageLimit as _, PageParams};

/// Lists the live buckets of an entity
#[utoipa::path(get, path = "/v1/namespaces/{ns}/entities/{id}/buckets", tag = "buckets",
    params(NamespacePath, EntityPath), responses((status = 200, body = Page<BucketResponse>)))]
pub(crate) async fn list(
    NamespacePath(ns): NamespacePath,
    EntityPath(id): EntityPath,
) -> Reply<Page<BucketResponse>> {
    let buckets = ns.buckets(&id).await?;
    let items = buckets.into_iter().map(bucket_response).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// Lists the live buckets of a resource, with their sums
#[utoipa::path(get, path = "/v1/namespaces/{ns}/resources/{r}/capacity", tag = "buckets",
    params(NamespacePath, ResourcePath, PageParams),
    responses((status = 200, body = CapacityResponse)))]
pub(crate) async fn capacity(
    NamespacePath(ns): NamespacePath,
    ResourcePath(resource): ResourcePath,
    Query(params): Query<PageParams>,
) -> Reply<CapacityResponse> {
    let found = ns.capacity(&resource, params.checked_limit()?, params.cursor).await?;
    let limits = found.limits.into_iter().map(|(name, (capacity, available))| CapacityLimit {
        name: name.to_string(),
        capacity,
        available,
    });
    Ok(Json(CapacityResponse {
        resource: found.resource.to_string(),
        entities: found.entities,
        limits: limits.collect(),
        items: found.buckets.into_iter().map(bucket_response).collect(),
        next_cursor: found.cursor,
    }))
}

/// Fills a bucket up to its capacity
#[utoipa::path(post, path = "/v1/namespaces/{ns}/entities/{id}/buckets/{r}/reset", tag = "buckets",
    params(NamespacePath, EntityPath, ResourcePath, IdempotencyKey),
    responses((status = 200, body = BucketResponse)))]
pub(crate) async fn reset(
    NamespacePath(ns): NamespacePath,
    EntityPath(id): EntityPath,
    ResourcePath(resource): ResourcePath,
    key: IdempotencyKey,
    actor: Actor,
) -> Reply<BucketResponse> {
    let bucket = ns.reset_bucket(&id, &resource, key.as_str(), actor.name()).await?;
    Ok(Json(bucket_response(bucket)))
}

/// Adds tokens to a bucket
///
/// The bucket never holds more than its capacity. With an `Idempotency-Key`, repeated requests add the tokens once.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/entities/{id}/buckets/{r}/top-up", tag = "buckets",
    params(NamespacePath, EntityPath, ResourcePath, IdempotencyKey), request_body = TopUpRequest,
    responses((status = 200, body = BucketResponse)))]
pub(crate) async fn top_up(
    NamespacePath(ns): NamespacePath,
    EntityPath(id): EntityPath,
    ResourcePath(resource): ResourcePath,
    key: IdempotencyKey,
    actor: Actor,
    Body(request): Body<TopUpRequest>,
) -> Reply<BucketResponse> {
    let amounts = convert::amounts("amounts", request.amounts)?;
    let bucket = ns.top_up_bucket(&id, &resource, &amounts, key.as_str(), actor.name()).await?;
    Ok(Json(bucket_response(bucket)))
}
