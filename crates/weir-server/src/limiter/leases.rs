//! Settling a lease: adjust, commit, release or roll back. Any instance can settle it.

use axum::Json;
use axum::extract::{FromRequest, Request};
use weir_api::limiter::{AdjustLeaseRequest, LeaseResponse, ReleaseLeaseRequest};
use weir_limiter::Namespace;
use weir_limiter::lease::Settle;
use weir_table::AnyBackend;

use super::convert;
use super::path::{IdempotencyKey, LeasePath, NamespacePath};
use crate::limiter::error::{LimiterError, Reply};
use weir_framework::extract::{Body, is_left_out};

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
    Body(request): Body<AdjustLeaseRequest>,
) -> Reply<LeaseResponse> {
    settle(&ns, &lease, &adjustment(request)?, &key).await
}

/// Commits a lease
///
/// Ends the lease; its tokens stay taken.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/leases/{lease}/commit", tag = "limiter",
    params(NamespacePath, LeasePath, IdempotencyKey),
    responses((status = 200, body = LeaseResponse)))]
pub(crate) async fn commit(
    NamespacePath(ns): NamespacePath,
    LeasePath(lease): LeasePath,
    key: IdempotencyKey,
) -> Reply<LeaseResponse> {
    settle(&ns, &lease, &Settle::Commit, &key).await
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
    params(NamespacePath, LeasePath, IdempotencyKey),
    responses((status = 200, body = LeaseResponse)))]
pub(crate) async fn rollback(
    NamespacePath(ns): NamespacePath,
    LeasePath(lease): LeasePath,
    key: IdempotencyKey,
) -> Reply<LeaseResponse> {
    settle(&ns, &lease, &Settle::Rollback, &key).await
}

fn adjustment(request: AdjustLeaseRequest) -> Result<Settle, LimiterError> {
    Ok(Settle::Adjust(convert::amounts("adjust", request.adjust)?))
}

fn released(request: ReleaseLeaseRequest) -> Result<Settle, LimiterError> {
    Ok(Settle::Release(convert::amounts("release", request.release)?))
}

/// A JSON body that may be missing or `null`.
pub(crate) struct OptionalBody<T>(T);

impl<S, T> FromRequest<S> for OptionalBody<T>
where
    S: Send + Sync,
    T: Default + serde::de::DeserializeOwned,
{
    type Rejection = LimiterError;

    async fn from_request(request: Request, state: &S) -> Result<OptionalBody<T>, LimiterError> {
        if is_left_out(request.headers(), request.body()) {
            return Ok(OptionalBody(T::default()));
        }
        let Body(body) = Body::<Option<T>>::from_request(request, state).await?;
        Ok(OptionalBody(body.unwrap_or_default()))
    }
}
