//! Which model an app shall use now. Asked before every call of a model, so nothing here is done twice.

use crate::keeper::error::KeeperError;
use crate::keeper::metrics::metrics;
use std::collections::BTreeMap;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_keeper::select::Selected;

use super::codes;
use super::configured::time;
use super::place::{Asker, OrgApp, keeper};
use super::rates::allowances;
use super::shapes::{AppAt, OrgAt};
use weir_framework::app::App;
use weir_framework::edge::express::{Asked, Sent};
use weir_framework::extract::Query;
use weir_framework::limits::retry_after;
use weir_framework::{ApiError, Code};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// How to look.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct How {
    /// Whether to sum up what was submitted until now, instead of believing the totals.
    #[serde(default)]
    #[param(required = false, default = false)]
    force_check: bool,
}

/// The decision that a client knows already.
pub(crate) struct Known(Option<HeaderValue>);

impl FromRequestParts<App> for Known {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Known, KeeperError> {
        Ok(Known::of(&parts.headers))
    }
}

impl Known {
    fn of(headers: &HeaderMap) -> Known {
        Known(headers.get(header::IF_NONE_MATCH).cloned())
    }

    /// Whether it is this one; weakly compared, as RFC 9110 has it for `If-None-Match`.
    fn is(&self, etag: &str) -> bool {
        let Some(known) = self.0.as_ref().and_then(|known| known.to_str().ok()) else {
            return false;
        };
        let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        known.trim() == "*" || known.split(',').any(|tag| strong(tag) == strong(etag))
    }
}

/// Tells which model to use
///
/// The `ETag` stays as long as the decision does; spend and times are not part of it.
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/model-selection", tag = "runtime",
    params(OrgAt, AppAt, How), responses(
        (status = 200, body = Selection, headers(
            ("ETag", description = "Of the decision"), ("Cache-Control", description = "How long to believe it"))),
        (status = 304, description = "The decision is the one that `If-None-Match` names"),
        (status = 429, description = "All quotas are spent until the next local midnight, or too many requests",
            body = weir_framework::problem::Problem, content_type = "application/problem+json",
            headers(("Retry-After", description = "Seconds to wait")))))]
pub(crate) async fn select(
    State(app): State<App>,
    of: OrgApp,
    asker: Asker,
    Query(how): Query<How>,
    known: Known,
) -> Result<Response, KeeperError> {
    choose(&app, of, &asker, how, &known).await
}

/// The same on the short way, which knows no query.
pub(super) async fn express(app: App, asked: Asked, _: Sent) -> Result<Response, KeeperError> {
    let (of, asker) = (OrgApp::of(&asked)?, Asker::of(&asked)?);
    choose(&app, of, &asker, How::default(), &Known::of(asked.headers())).await
}

async fn choose(
    app: &App,
    OrgApp(org, id): OrgApp,
    asker: &Asker,
    how: How,
    known: &Known,
) -> Result<Response, KeeperError> {
    allowances(app)?.selection(app, asker).await?;
    let selected = keeper(app)?.select(&org, &id, how.force_check).await?;
    metrics(app)?.selected(selected.decision.recommended.is_some());
    if selected.decision.recommended.is_none() {
        return Err(all_spent(&selected).into());
    }
    let etag = selected.etag();
    let cache = match how.force_check {
        true => NO_STORE,
        false => cache_control(selected.max_age_secs()),
    };
    let tag = HeaderValue::try_from(etag.as_str()).unwrap_or(HeaderValue::from_static("W/\"\""));
    let headers = [(header::ETAG, tag), (header::CACHE_CONTROL, cache)];
    if !how.force_check && known.is(&etag) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    let body = serde_json::to_vec(&selected.answer).map_err(unwritable)?;
    Ok((headers, [(header::CONTENT_TYPE, JSON)], body).into_response())
}

pub(super) fn unwritable(error: serde_json::Error) -> ApiError {
    let detail = "the server's log says why, under this request's id";
    ApiError::new(Code::INTERNAL_ERROR, detail).because(error.to_string())
}

/// The answer is one client's, and none of the next day.
fn cache_control(max_age_secs: u64) -> HeaderValue {
    HeaderValue::try_from(format!("private, max-age={max_age_secs}")).unwrap_or(NO_STORE)
}

/// All quotas are spent.
fn all_spent(selected: &Selected) -> ApiError {
    let at = time(selected.decision.retry_at_ms);
    let status = serde_json::to_value(&selected.answer.quota_status).unwrap_or_default();
    let detail = format!("all quotas of the day are spent; they open again at {at}");
    let error = ApiError::new(codes::QUOTA_EXCEEDED, detail)
        .with("reason", selected.decision.reason.to_string())
        .with("retry_after", at)
        .with("retry_after_secs", selected.retry_after_secs())
        .with("quota_status", status);
    retry_after(error, selected.retry_after_secs())
}

/// Which model to use, and why.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Selection {
    /// The model to use.
    pub recommended_model: RecommendedModel,
    /// How the quotas do.
    pub quota_status: QuotaStatus,
    /// What the model costs, where anybody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Pricing>,
    /// What to do with the answer.
    pub client_guidance: Guidance,
    /// When this was decided.
    #[schema(format = DateTime)]
    pub checked_at: String,
    /// The org's day.
    #[schema(format = Date)]
    pub org_day: String,
    /// The org's time.
    #[schema(format = DateTime)]
    pub org_local_time: String,
}

/// A model to use.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RecommendedModel {
    /// Its label.
    pub label: String,
    /// What Bedrock calls it.
    pub bedrock_model_id: String,
    /// Why it: `NORMAL`, `QUOTA_EXCEEDED_{label}`, `STICKY_FALLBACK` or `MANUAL_OVERRIDE`.
    pub reason: String,
    /// What it is for.
    pub description: String,
}

/// How the quotas do.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct QuotaStatus {
    /// Whose spend they are for: `ORG` or `APP`.
    pub scope: String,
    /// How closely to watch: `NORMAL` or `TIGHT`.
    pub mode: String,
    /// The recommended model.
    pub current_model: Option<String>,
    /// What was spent on it.
    pub spend_usd_micros: u64,
    /// What may be.
    pub quota_usd_micros: u64,
    /// The first as a part of the second.
    pub quota_pct: f64,
    /// Whether the chain is at a later model for the rest of the day.
    pub sticky_fallback_active: bool,
    /// When the quota will be spent at the rate of the day so far; `null` when not today.
    #[schema(format = DateTime)]
    pub projected_exhaustion_at: Option<String>,
    /// Every model.
    pub models_status: BTreeMap<String, ModelQuota>,
}

/// How a model does.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ModelQuota {
    /// What was spent.
    pub spend_usd_micros: u64,
    /// What may be.
    pub quota_usd_micros: u64,
    /// The first as a part of the second.
    pub quota_pct: f64,
    /// `NORMAL`, `TIGHT` or `EXCEEDED`.
    pub status: String,
}

/// What a model costs, in millionths of a US dollar for a million tokens.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Pricing {
    /// Tokens read.
    pub input_price_usd_micros_per_1m: u64,
    /// Tokens written.
    pub output_price_usd_micros_per_1m: u64,
    /// Tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_price_usd_micros_per_1m: Option<u64>,
    /// Tokens put into a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_price_usd_micros_per_1m: Option<u64>,
    /// Which edition of it.
    pub version: String,
    /// `PRICING_API`, `CACHED`, `PRICE_BOOK` or `CONFIG_FALLBACK`.
    pub source: String,
}

/// What clients shall do.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Guidance {
    /// How often to ask: `PERIODIC_300S`.
    pub check_frequency: String,
    /// How long to believe the answer.
    pub cache_duration_secs: u64,
    /// Why.
    pub explanation: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_knows_is_compared_weakly() {
        let known = |text: &str| Known(Some(HeaderValue::try_from(text).unwrap()));
        let etag = "W/\"ab\"";
        for same in ["W/\"ab\"", "\"ab\"", "*", "\"x\", W/\"ab\"", " \"ab\" "] {
            assert!(known(same).is(etag), "{same}");
        }
        for other in ["", "W/\"a\"", "ab", "\"x\""] {
            assert!(!known(other).is(etag), "{other}");
        }
        assert!(!Known(None).is(etag));
    }
}
