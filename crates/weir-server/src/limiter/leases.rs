//! Settling a lease: adjust, commit, release or roll back. Any instance can settle it.

use axum::Json;
use weir_api::limiter::{
    AdjustLeaseRequest, CommitLeaseRequest, LeaseResponse, ReleaseLeaseRequest,
    RollbackLeaseRequest,
};
use weir_limiter::Namespace;
use weir_limiter::lease::Settle;
use weir_table::AnyBackend;

use super::convert;
use super::path::{IdempotencyKey, LeasePath, NamespacePath};
use crate::limiter::error::{LimiterError, Reply};
use weir_framework::extract::{FastBody, OptionalBody};

/// Characters of a lease that is opened: many times those of the largest one.
const LEASE_MAX: usize = 16 * 1024;

async fn settle(
    ns: &Namespace<AnyBackend>,
    lease: &str,
    settle: &Settle,
    key: &IdempotencyKey,
) -> Reply<LeaseResponse> {
    if lease.len() > LEASE_MAX {
        return Err(weir_limiter::Error::NotALease.into());
    }
    let grant = ns.open_lease(lease)?;
    let settled = ns.settle(&grant, settle, key.as_str()).await?;
    Ok(Json(convert::lease_response(settled)))
}

/// Adjusts a lease
///
/// Takes more tokens, which may leave the bucket in debt, or returns some. The lease stays open.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/leases/{lease}/adjust", tag = "limiter",
    params(NamespacePath, LeasePath, IdempotencyKey), request_body = AdjustLeaseRequest,
    responses((status = 200, body = LeaseResponse)))]
pub(crate) async fn adjust(
    NamespacePath(ns): NamespacePath,
    LeasePath(lease): LeasePath,
    key: IdempotencyKey,
    FastBody(request): FastBody<AdjustLeaseRequest>,
) -> Reply<LeaseResponse> {
    settle(&ns, &lease, &adjustment(request)?, &key).await
}

/// Commits a lease
///
/// Ends the lease; its tokens stay taken. With `actual`, the lease is adjusted to the tokens that were used first, in the same
/// transaction: it takes more, which may leave the bucket in debt, or returns the rest. A commit with other `actual` tokens
/// after that gets a `409`.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/leases/{lease}/commit", tag = "limiter",
    params(NamespacePath, LeasePath, IdempotencyKey), request_body = Option<CommitLeaseRequest>,
    responses((status = 200, body = LeaseResponse)))]
pub(crate) async fn commit(
    NamespacePath(ns): NamespacePath,
    LeasePath(lease): LeasePath,
    key: IdempotencyKey,
    OptionalBody(request): OptionalBody<CommitLeaseRequest>,
) -> Reply<LeaseResponse> {
    settle(&ns, &lease, &committed(request)?, &key).await
}

/// Releases a lease
///
/// Returns some tokens and leaves the lease open, or returns all tokens and ends it.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/leases/{lease}/release", tag = "limiter",
    params(NamespacePath, LeasePath, IdempotencyKey), request_body = Option<ReleaseLeaseRequest>,
    responses((status = 200, body = LeaseResponse)))]
pub(crate) async fn release(
    NamespacePath(ns): NamespacePath,
    LeasePath(lease): LeasePath,
    key: IdempotencyKey,
    OptionalBody(request): OptionalBody<ReleaseLeaseRequest>,
) -> Reply<LeaseResponse> {
    settle(&ns, &lease, &released(request)?, &key).await
}

/// Rolls back a lease
///
/// Returns all tokens, adjustments included, and ends the lease.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/leases/{lease}/rollback", tag = "limiter",
    params(NamespacePath, LeasePath, IdempotencyKey), request_body = Option<RollbackLeaseRequest>,
    responses((status = 200, body = LeaseResponse)))]
pub(crate) async fn rollback(
    NamespacePath(ns): NamespacePath,
    LeasePath(lease): LeasePath,
    key: IdempotencyKey,
    OptionalBody(RollbackLeaseRequest {}): OptionalBody<RollbackLeaseRequest>,
) -> Reply<LeaseResponse> {
    settle(&ns, &lease, &Settle::Rollback, &key).await
}

fn adjustment(request: AdjustLeaseRequest) -> Result<Settle, LimiterError> {
    Ok(Settle::Adjust(convert::amounts("adjust", request.adjust)?))
}

fn committed(request: CommitLeaseRequest) -> Result<Settle, LimiterError> {
    if request.actual.is_empty() {
        return Ok(Settle::Commit);
    }
    Ok(Settle::CommitActual(convert::amounts("actual", request.actual)?))
}

fn released(request: ReleaseLeaseRequest) -> Result<Settle, LimiterError> {
    Ok(Settle::Release(convert::amounts("release", request.release)?))
}
