//! What happens after an acquire: a lease is adjusted, committed, released or rolled back. Any instance can do it.

use crate::limiter::error::LimiterError;
use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_limiter::Namespace;
use weir_limiter::lease::{LeaseState, Settle};
use weir_table::AnyBackend;

use super::place::{Ns, Once, named};
use super::shapes::{Amounts, IdempotencyKey, NsAt, positive_amounts_or_none, signed_amounts};
use crate::limiter::error::Reply;
use weir_framework::app::App;
use weir_framework::extract::{Body, is_left_out};

/// Characters of a lease that is looked at: many times what the largest one has.
const LEASE_MAX: usize = 16 * 1024;

/// A lease in a path.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct LeaseAt {
    /// The lease, as acquire answered it.
    #[param(min_length = 1, max_length = 16_384, pattern = "^[A-Za-z0-9_-]+$")]
    lease: String,
}

impl FromRequestParts<App> for LeaseAt {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<LeaseAt, LimiterError> {
        let lease = named(parts, "lease", |text| Ok(text.to_owned())).await?;
        Ok(LeaseAt { lease })
    }
}

/// How a lease is to be adjusted.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Adjust {
    /// Tokens of each limit: more are taken where it is positive, which may leave a debt; given back where it
    /// is negative.
    #[schema(schema_with = signed_amounts)]
    pub adjust: Amounts,
}

/// What of a lease is to be released.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Tokens of each limit to give back; all of them, and the lease ends, when none are named.
    #[serde(default)]
    #[schema(schema_with = positive_amounts_or_none)]
    pub release: Amounts,
}

/// A lease after it was settled.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Settled {
    /// Its id.
    pub id: String,
    /// Where it is now.
    #[schema(value_type = State)]
    pub state: LeaseState,
    /// Tokens of each limit that it holds.
    #[schema(value_type = BTreeMap<String, i64>)]
    pub net: Amounts,
    /// Whether it was granted because the store could not be reached, so that there is nothing to settle.
    pub degraded: bool,
}

/// Where a lease is in its life.
#[derive(Debug, ToSchema)]
#[schema(as = LeaseState, rename_all = "snake_case")]
pub enum State {
    /// It can be settled.
    Open,
    /// What it took is kept.
    Committed,
    /// What it took was given back.
    Released,
    /// What it took was given back, adjustments included.
    RolledBack,
    /// It was rolled back because nobody settled it.
    Expired,
}

async fn settle(
    ns: &Namespace<AnyBackend>,
    lease: &str,
    settle: &Settle,
    once: &Once,
) -> Reply<Settled> {
    if lease.len() > LEASE_MAX {
        return Err(weir_limiter::Error::NotALease.into());
    }
    let grant = ns.open_lease(lease)?;
    let settled = ns.settle(&grant, settle, once.key()).await?;
    Ok(Json(Settled {
        id: settled.id,
        state: settled.state,
        net: settled.net,
        degraded: settled.degraded,
    }))
}

/// Adjusts a lease
///
/// Takes more of a limit, which may leave a debt, or gives back. The lease stays open.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/leases/{lease}/adjust", tag = "limiter",
    params(NsAt, LeaseAt, IdempotencyKey), request_body = Adjust,
    responses((status = 200, body = Settled)))]
pub(crate) async fn adjust(
    Ns(ns): Ns,
    at: LeaseAt,
    once: Once,
    Body(body): Body<Adjust>,
) -> Reply<Settled> {
    settle(&ns, &at.lease, &Settle::Adjust(body.adjust), &once).await
}

/// Commits a lease
///
/// What it took is kept, and it ends.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/leases/{lease}/commit", tag = "limiter",
    params(NsAt, LeaseAt, IdempotencyKey), responses((status = 200, body = Settled)))]
pub(crate) async fn commit(Ns(ns): Ns, at: LeaseAt, once: Once) -> Reply<Settled> {
    settle(&ns, &at.lease, &Settle::Commit, &once).await
}

/// Releases a lease
///
/// Gives back some tokens and leaves it open, or gives back all and ends it.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/leases/{lease}/release", tag = "limiter",
    params(NsAt, LeaseAt, IdempotencyKey), request_body = Option<Release>,
    responses((status = 200, body = Settled)))]
pub(crate) async fn release(
    Ns(ns): Ns,
    at: LeaseAt,
    once: Once,
    Maybe(body): Maybe<Release>,
) -> Reply<Settled> {
    settle(&ns, &at.lease, &Settle::Release(body.release), &once).await
}

/// Rolls a lease back
///
/// Everything it took is given back, adjustments included, and it ends.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/leases/{lease}/rollback", tag = "limiter",
    params(NsAt, LeaseAt, IdempotencyKey), responses((status = 200, body = Settled)))]
pub(crate) async fn rollback(Ns(ns): Ns, at: LeaseAt, once: Once) -> Reply<Settled> {
    settle(&ns, &at.lease, &Settle::Rollback, &once).await
}

/// A JSON body that may be left out, or `null`.
pub(crate) struct Maybe<T>(T);

impl<S, T> FromRequest<S> for Maybe<T>
where
    S: Send + Sync,
    T: Default + serde::de::DeserializeOwned,
{
    type Rejection = LimiterError;

    async fn from_request(request: Request, state: &S) -> Result<Maybe<T>, LimiterError> {
        if is_left_out(request.headers(), request.body()) {
            return Ok(Maybe(T::default()));
        }
        let Body(body) = Body::<Option<T>>::from_request(request, state).await?;
        Ok(Maybe(body.unwrap_or_default()))
    }
}
