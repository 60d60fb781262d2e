//! Taking tokens, and reading how many are available.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use weir_api::limiter::{
    AcquireRequest, AcquireResponse, AvailabilityParams, AvailabilityResponse, LimitStatus,
};
use weir_limiter::acquire::{self, Acquire, Acquired, Granted, Refused};
use weir_limiter::bucket::Level;
use weir_limiter::{Limiter, Namespace};
use weir_table::{AnyBackend, Backend};

use super::convert;
use super::metrics::{AcquireOutcome, metrics};
use super::path::{IdempotencyKey, NamespacePath, limiter};
use super::traffic::traffic;
use crate::limiter::error::{LimiterError, Reply};
use weir_framework::app::App;
use weir_framework::extract::{FastBody, Query};
use weir_framework::limits::{self, RateLimitHeader};
use weir_framework::prelude::json;
use weir_framework::time::time;
use weir_framework::{ApiError, Code};

/// Takes tokens
///
/// Takes the tokens from the entity's bucket and, if the entity cascades, from its parent's: from both or from neither. The headers
/// `RateLimit` and `RateLimit-Policy` list what remains of each limit. A `429`
/// reports the status of every requested limit in `details.limits`: the tokens that are missing and when to retry.
///
/// With an `Idempotency-Key`, a repeated request takes no tokens and returns the same lease, with the status of its limits
/// now; another request with that key gets a `409`. The key is remembered until a day after the lease expires. A refused
/// acquire is not remembered, so repeating it may succeed.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/acquire", tag = "limiter",
    params(NamespacePath, IdempotencyKey), request_body = AcquireRequest, responses(
        (status = 200, body = AcquireResponse),
        (status = 429, description = "A limit has too few tokens; no tokens were taken",
         body = weir_framework::problem::Problem, content_type = "application/problem+json")))]
pub(crate) async fn acquire(
    State(app): State<App>,
    NamespacePath(ns): NamespacePath,
    key: IdempotencyKey,
    FastBody(request): FastBody<AcquireRequest>,
) -> Result<Response, LimiterError> {
    take(&app, &ns, request, &key).await
}

async fn take(
    app: &App,
    ns: &Namespace<AnyBackend>,
    request: AcquireRequest,
    key: &IdempotencyKey,
) -> Result<Response, LimiterError> {
    let dry_run = request.dry_run;
    let acquired = match convert::acquire(request, key.as_str()) {
        Ok(request) => {
            let acquired = ns.acquire(&request).await;
            if let Ok(acquired) = &acquired {
                count(app, ns, &request, acquired)?;
            }
            acquired.map_err(LimiterError::from)
        }
        Err(error) => Err(error),
    };
    match acquired {
        Ok(Acquired::Granted(granted)) => {
            let rates = granted_limits(&granted.limits);
            let mut response = json(&acquire_response(limiter(app)?, granted, dry_run));
            limits::granted(rates.iter(), response.headers_mut());
            Ok(response)
        }
        Ok(Acquired::Refused(refused)) => Err(refusal(refused).into()),
        Err(error) => {
            metrics(app)?.acquired(AcquireOutcome::Error);
            Err(error)
        }
    }
}

/// Counts an acquire for the metrics and, unless it was a dry run, for the console.
pub(crate) fn count(
    app: &App,
    ns: &Namespace<AnyBackend>,
    request: &Acquire,
    acquired: &Acquired,
) -> Result<(), ApiError> {
    let (outcome, is_granted) = match acquired {
        Acquired::Granted(granted) if granted.grant.degraded => (AcquireOutcome::Degraded, true),
        Acquired::Granted(_) => (AcquireOutcome::Granted, true),
        Acquired::Refused(_) => (AcquireOutcome::Refused, false),
    };
    metrics(app)?.acquired(outcome);
    if !request.dry_run {
        traffic(app)?.count(ns.name().as_str(), request.resource.as_str(), is_granted);
    }
    Ok(())
}

/// The response to a granted acquire.
fn acquire_response<B: Backend>(
    limiter: &Limiter<B>,
    granted: Granted,
    dry_run: bool,
) -> AcquireResponse {
    let Granted { grant, limits } = granted;
    AcquireResponse {
        lease: (!dry_run).then(|| limiter.lease_token(&grant)),
        expires_at: (!dry_run).then(|| time(grant.expires_ms)),
        degraded: grant.degraded,
        limits: limits.into_iter().map(convert::limit_status).collect(),
    }
}

/// The `details` of a refusal.
#[derive(Debug, Serialize)]
struct RefusalDetails {
    limits: Vec<LimitStatus>,
    retry_after_ms: i64,
}

/// The error of an acquire that a limit refuses. The limit with the longest wait governs its headers and its text.
fn refusal(refused: Refused) -> ApiError {
    let retry_after_ms = refused.retry_after_ms;
    let short = refused.limits.iter().filter(|status| status.deficit_milli > 0);
    let governing = short.max_by_key(|status| status.retry_after_ms);
    let headers = governing.map(|status| rate_limit(status, retry_after_ms));
    let detail = match governing {
        Some(acquire::LimitStatus { entity, limit, available_milli, requested, .. }) => format!(
            "{entity} has {} of limit {}; {requested} were requested",
            convert::whole_tokens(*available_milli),
            limit.name
        ),
        None => "rate limit exceeded".to_owned(),
    };
    let limits = refused.limits.into_iter().map(convert::limit_status).collect();
    let error = ApiError::new(Code::RATE_LIMIT_EXCEEDED, detail)
        .details(&RefusalDetails { limits, retry_after_ms });
    match headers {
        Some(limit) => limit.refuse(error),
        None => weir_framework::limits::retry_after(error, seconds_up(retry_after_ms)),
    }
}

/// A limit in the form of the `RateLimit` headers: its capacity per the time that an empty bucket takes to fill.
fn rate_limit(status: &acquire::LimitStatus, reset_ms: i64) -> RateLimitHeader {
    let available = convert::whole_tokens(status.available_milli);
    RateLimitHeader {
        name: status.limit.name.as_str().into(),
        quota: status.limit.capacity,
        window_secs: seconds_up(status.limit.rate().fill_ms()),
        remaining: u64::try_from(available).unwrap_or(0),
        reset_secs: seconds_up(reset_ms),
    }
}

/// The limits of a grant, for its headers. Where the entity and its parent have a limit of the same name, the one with
/// less remaining counts. The time is the one until the limit is full.
fn granted_limits(limits: &[acquire::LimitStatus]) -> Vec<RateLimitHeader> {
    let mut rates: Vec<RateLimitHeader> = Vec::with_capacity(limits.len());
    for status in limits {
        let rate = status.limit.rate();
        let level = Level { tokens: status.available_milli, remainder: 0 };
        let full_ms = level.wait_ms(rate, rate.capacity).unwrap_or_default();
        let limit = rate_limit(status, full_ms);
        match rates.iter_mut().find(|other| other.name == limit.name) {
            Some(other) if other.remaining <= limit.remaining => {}
            Some(other) => *other = limit,
            None => rates.push(limit),
        }
    }
    rates
}

fn seconds_up(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0).div_ceil(1_000)
}

/// Returns the tokens that are available
///
/// Reports the tokens of each limit, and how long an amount takes to become available. Takes no tokens.
#[utoipa::path(get, path = "/v1/namespaces/{ns}/availability", tag = "limiter",
    params(NamespacePath, AvailabilityParams),
    responses((status = 200, body = AvailabilityResponse)))]
pub(crate) async fn availability(
    NamespacePath(ns): NamespacePath,
    Query(params): Query<AvailabilityParams>,
) -> Reply<AvailabilityResponse> {
    let entity = convert::entity_id("entity", &params.entity)?;
    let resource = convert::resource(&params.resource)?;
    let amounts = params.amounts.as_deref();
    let amounts = amounts.map_or_else(|| Ok(BTreeMap::new()), convert::query_amounts)?;
    let found = ns.availability(&entity, &resource, &amounts).await?;
    let limits = found.limits.into_iter().map(convert::limit_status).collect();
    Ok(Json(AvailabilityResponse { entity: params.entity, resource: params.resource, limits }))
}
