//! Taking tokens, and looking at how many there are.

use crate::limiter::error::LimiterError;
use crate::limiter::metrics::metrics;
use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_limiter::acquire::{Acquire, Acquired, Granted, Refused};
use weir_limiter::bounds::{LEASE_TTL_DEFAULT_MS, LEASE_TTL_MAX_MS};
use weir_limiter::lease::OnExpiry;
use weir_limiter::{Limiter, Namespace};
use weir_table::{AnyBackend, Backend};

use super::metrics::AcquireOutcome;
use super::place::{Ns, limiter};
use super::shapes::{
    Amounts, AmountsText, EntityId, EntityText, Limit, LimitName, LimitShape, LimitState, NsAt,
    Resource, ResourceText, positive_amounts,
};
use crate::limiter::error::Reply;
use weir_framework::app::App;
use weir_framework::extract::{Body, Query};
use weir_framework::limits::RateLimit;
use weir_framework::prelude::json;
use weir_framework::time::time;
use weir_framework::{ApiError, Code};

const MS: i64 = 1_000;

/// A request for tokens.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Who asks.
    #[schema(value_type = EntityText)]
    pub entity: EntityId,
    /// For what.
    #[schema(value_type = ResourceText)]
    pub resource: Resource,
    /// Tokens of each limit.
    #[schema(schema_with = positive_amounts)]
    pub consume: Amounts,
    /// Limits that hold when none are set for this entity and resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<LimitShape>>, min_items = 1, max_items = 16)]
    pub limits: Option<Vec<Limit>>,
    /// How long the lease can be settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400, default = 600)]
    pub lease_ttl_secs: Option<i64>,
    /// What becomes of the tokens when nobody settles the lease.
    #[serde(default)]
    #[schema(value_type = Expiry, default = "keep")]
    pub on_expiry: OnExpiry,
    /// Only look: take nothing.
    #[serde(default)]
    #[schema(default = false)]
    pub dry_run: bool,
}

/// What becomes of the tokens of a lease that nobody settles.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum Expiry {
    /// They stay taken.
    Keep,
    /// They are given back.
    Rollback,
}

/// Tokens that were taken.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Lease {
    /// What the tokens are settled with; missing when nothing was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// Until when it can be settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// Whether it was granted because the store could not be reached, so that nothing was taken.
    pub degraded: bool,
    /// Every limit asked for: the entity's, then its parent's.
    pub limits: Vec<LimitState>,
}

/// Takes tokens
///
/// From the entity's bucket and, if it cascades, from its parent's: from both or from neither. `429` names every limit
/// in `details.limits`, with what is missing and when to come back.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/acquire", tag = "limiter",
    params(NsAt), request_body = Ask, responses(
        (status = 200, body = Lease),
        (status = 429, description = "There are not enough tokens; nothing was taken",
         body = weir_framework::problem::Problem, content_type = "application/problem+json")))]
pub(crate) async fn acquire(
    State(app): State<App>,
    Ns(ns): Ns,
    Body(ask): Body<Ask>,
) -> Result<Response, LimiterError> {
    take(&app, &ns, ask).await
}

async fn take(app: &App, ns: &Namespace<AnyBackend>, ask: Ask) -> Result<Response, LimiterError> {
    let dry_run = ask.dry_run;
    let acquired = match request(ask) {
        Ok(request) => ns.acquire(&request).await.map_err(LimiterError::from),
        Err(error) => Err(error),
    };
    let metrics = metrics(app)?;
    match acquired {
        Ok(Acquired::Granted(granted)) => {
            let degraded = granted.grant.degraded;
            metrics.acquired(if degraded {
                AcquireOutcome::Degraded
            } else {
                AcquireOutcome::Granted
            });
            Ok(json(&lease(limiter(app)?, granted, dry_run)))
        }
        Ok(Acquired::Refused(refused)) => {
            metrics.acquired(AcquireOutcome::Refused);
            Err(refusal(refused).into())
        }
        Err(error) => {
            metrics.acquired(AcquireOutcome::Error);
            Err(error)
        }
    }
}

/// What the domain is asked.
fn request(ask: Ask) -> Result<Acquire, LimiterError> {
    let lease_ttl_ms = match ask.lease_ttl_secs {
        None => LEASE_TTL_DEFAULT_MS,
        Some(secs) if (1..=LEASE_TTL_MAX_MS / MS).contains(&secs) => secs * MS,
        Some(secs) => {
            let problem = format!("is {secs}; it must be from 1 to {}", LEASE_TTL_MAX_MS / MS);
            return Err(ApiError::invalid("lease_ttl_secs", problem).into());
        }
    };
    Ok(Acquire {
        entity: ask.entity,
        resource: ask.resource,
        consume: ask.consume,
        limits: ask.limits,
        lease_ttl_ms,
        on_expiry: ask.on_expiry,
        dry_run: ask.dry_run,
    })
}

/// The response to a granted request.
fn lease<B: Backend>(limiter: &Limiter<B>, granted: Granted, dry_run: bool) -> Lease {
    let Granted { grant, limits } = granted;
    Lease {
        lease: (!dry_run).then(|| limiter.lease_token(&grant)),
        expires_at: (!dry_run).then(|| time(grant.expires_ms)),
        degraded: grant.degraded,
        limits: limits.into_iter().map(LimitState::from).collect(),
    }
}

/// The `details` of a refusal.
#[derive(Debug, Serialize)]
struct RefusalDetails {
    limits: Vec<LimitState>,
    retry_after_ms: i64,
}

/// The answer to a request for more than there is. The limit that takes longest governs.
fn refusal(refused: Refused) -> ApiError {
    let limits: Vec<LimitState> = refused.limits.into_iter().map(LimitState::from).collect();
    let governing = limits.iter().filter(|limit| limit.deficit > 0);
    let governing = governing.max_by_key(|limit| limit.retry_after_ms);
    let detail = match governing {
        Some(LimitState { entity, available, name, asked, .. }) => {
            format!("{entity} has {available} of limit {name}; {asked} were requested")
        }
        None => "there are not enough tokens".to_owned(),
    };
    let rate_limit = governing.map(|limit| rate_limit(limit, refused.retry_after_ms));
    let error = ApiError::new(Code::RATE_LIMIT_EXCEEDED, detail)
        .details(&RefusalDetails { limits, retry_after_ms: refused.retry_after_ms });
    match rate_limit {
        Some(limit) => limit.refuse(error),
        None => weir_framework::limits::retry_after(error, seconds_up(refused.retry_after_ms)),
    }
}

/// A limit as headers tell it: its capacity, in the time an empty bucket takes to fill.
fn rate_limit(limit: &LimitState, retry_after_ms: i64) -> RateLimit {
    let whole = Limit {
        name: limit.name.clone(),
        capacity: limit.capacity,
        refill_amount: limit.refill_amount,
        refill_period_seconds: limit.refill_period_seconds,
    };
    RateLimit {
        name: limit.name.as_str().to_owned(),
        quota: limit.capacity,
        window_secs: seconds_up(whole.rate().fill_ms()),
        remaining: u64::try_from(limit.available).unwrap_or(0),
        reset_secs: seconds_up(retry_after_ms),
    }
}

fn seconds_up(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0).div_ceil(1_000)
}

/// Whose availability is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AvailabilityOf {
    /// Who would ask.
    #[param(value_type = EntityText, inline)]
    entity: EntityId,
    /// For what.
    #[param(value_type = ResourceText, inline)]
    resource: Resource,
    /// Amounts that the waiting times are for, as `limit:amount`, separated by commas; one token of each limit
    /// when it is left out.
    #[param(value_type = AmountsText, inline, required = false)]
    amounts: Option<String>,
}

/// What is available now.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Availability {
    /// Who would ask.
    #[schema(value_type = String)]
    pub entity: EntityId,
    /// For what.
    #[schema(value_type = String)]
    pub resource: Resource,
    /// Every limit: the entity's and, if it cascades, its parent's.
    pub limits: Vec<LimitState>,
}

/// Tells what is available
///
/// For each limit: what is there now, and when an amount will be. Takes nothing.
#[utoipa::path(get, path = "/v1/namespaces/{ns}/availability", tag = "limiter",
    params(NsAt, AvailabilityOf), responses((status = 200, body = Availability)))]
pub(crate) async fn availability(
    Ns(ns): Ns,
    Query(of): Query<AvailabilityOf>,
) -> Reply<Availability> {
    let amounts = of.amounts.as_deref().map_or_else(|| Ok(BTreeMap::new()), read_amounts)?;
    let found = ns.availability(&of.entity, &of.resource, &amounts).await?;
    let limits = found.limits.into_iter().map(LimitState::from).collect();
    Ok(Json(Availability { entity: of.entity, resource: of.resource, limits }))
}

/// Amounts written as `rpm:1,tpm:500`.
fn read_amounts(text: &str) -> Result<Amounts, LimiterError> {
    let mut amounts = Amounts::new();
    for part in text.split(',') {
        let wrong = || {
            let problem = format!("{part:?} is not LIMIT:AMOUNT, like rpm:1");
            ApiError::invalid("amounts", problem)
        };
        let (name, amount) = part.split_once(':').ok_or_else(wrong)?;
        let amount = amount.parse().map_err(|_| wrong())?;
        if amounts.insert(LimitName::new(name)?, amount).is_some() {
            return Err(ApiError::invalid("amounts", format!("names {name} twice")).into());
        }
    }
    Ok(amounts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_they_are_written() {
        let amounts = read_amounts("rpm:1,tpm:500").unwrap();
        let told: Vec<_> = amounts.iter().map(|(name, amount)| (name.as_str(), *amount)).collect();
        assert_eq!(told, [("rpm", 1), ("tpm", 500)]);
        for wrong in ["", "rpm", "rpm:", "rpm:x", "1:1", "rpm:1,", "rpm:1,rpm:2"] {
            let error = ApiError::from(read_amounts(wrong).unwrap_err());
            assert_eq!(error.code(), Code::INVALID_REQUEST, "{wrong}");
        }
    }
}
