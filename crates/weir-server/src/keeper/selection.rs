//! The route that selects a model. Programs request it before every call, so it repeats no work.

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use weir_api::keeper::{AppParam, ModelSelection, OrgParam, QuotaStatus, SelectionParams};
use weir_keeper::select::Selection;

use super::error::KeeperError;
use super::metrics::metrics;
use super::path::{AppPath, keeper};
use super::rates::allowances;
use super::{codes, convert};
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::Query;
use weir_framework::limits::retry_after;
use weir_framework::time::time;
use weir_framework::{ApiError, Code};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The `If-None-Match` header of a request.
pub(crate) struct IfNoneMatch(Option<HeaderValue>);

impl FromRequestParts<App> for IfNoneMatch {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<IfNoneMatch, KeeperError> {
        Ok(IfNoneMatch(parts.headers.get(header::IF_NONE_MATCH).cloned()))
    }
}

impl IfNoneMatch {
    /// Whether the client has this tag; compared weakly, as RFC 9110 requires for `If-None-Match`.
    fn matches(&self, etag: &str) -> bool {
        let Some(known) = self.0.as_ref().and_then(|known| known.to_str().ok()) else {
            return false;
        };
        let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        known.trim() == "*" || known.split(',').any(|tag| strong(tag) == strong(etag))
    }
}

/// Selects the model for an app's next call
///
/// The `ETag` changes with the decision; spend and times are not part of it.
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/model-selection", tag = "runtime",
    params(OrgParam, AppParam, SelectionParams), responses(
        (status = 200, body = ModelSelection, headers(
            ("ETag", description = "Tag of the decision"), ("Cache-Control", description = "How long a client may use the selection"))),
        (status = 304, description = "The decision has not changed since the tag in `If-None-Match`."),
        (status = 429, description = "All quotas are spent until the next local midnight, or the rate limit is exceeded.",
            body = weir_framework::problem::Problem, content_type = "application/problem+json",
            headers(("Retry-After", description = "Seconds to wait")))))]
pub(crate) async fn select(
    State(app): State<App>,
    path: AppPath,
    actor: Actor,
    Query(params): Query<SelectionParams>,
    known: IfNoneMatch,
) -> Result<Response, KeeperError> {
    choose(&app, path, &actor, params, &known).await
}

async fn choose(
    app: &App,
    AppPath(org, id): AppPath,
    actor: &Actor,
    params: SelectionParams,
    known: &IfNoneMatch,
) -> Result<Response, KeeperError> {
    allowances(app)?.selection(app, actor).await?;
    let selected = keeper(app)?.select(&org, &id, params.force_check).await?;
    metrics(app)?.selected(selected.decision.recommended.is_some());
    if selected.decision.recommended.is_none() {
        return Err(all_spent(&selected).into());
    }
    let etag = selected.etag();
    let cache = match params.force_check {
        true => NO_STORE,
        false => cache_control(selected.max_age_secs()),
    };
    let tag = HeaderValue::try_from(etag.as_str()).unwrap_or(HeaderValue::from_static("W/\"\""));
    let headers = [(header::ETAG, tag), (header::CACHE_CONTROL, cache)];
    if !params.force_check && known.matches(&etag) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    let body = serde_json::to_vec(&convert::model_selection(&selected.response));
    let body = body.map_err(unserializable)?;
    Ok((headers, [(header::CONTENT_TYPE, JSON)], body).into_response())
}

pub(super) fn unserializable(error: serde_json::Error) -> ApiError {
    let detail = "the server's log says why, under this request's id";
    ApiError::new(Code::INTERNAL_ERROR, detail).because(error.to_string())
}

/// A selection belongs to one client, and expires with the day.
fn cache_control(max_age_secs: u64) -> HeaderValue {
    HeaderValue::try_from(format!("private, max-age={max_age_secs}")).unwrap_or(NO_STORE)
}

fn all_spent(selected: &Selection) -> ApiError {
    let at = time(selected.decision.retry_at_ms);
    let details = AllSpent {
        reason: selected.decision.reason.to_string(),
        retry_after: &at,
        retry_after_secs: selected.retry_after_secs(),
        quota_status: convert::quota_status(&selected.response.quota_status),
    };
    let detail = format!("all quotas of the day are spent; the next day starts at {at}");
    let error = ApiError::new(codes::QUOTA_EXCEEDED, detail).details(&details).retry_at(&at);
    retry_after(error, selected.retry_after_secs())
}

/// Details of the error when all quotas are spent. Serialized at once, which keeps the chain's order.
#[derive(Serialize)]
struct AllSpent<'a> {
    reason: String,
    retry_after: &'a str,
    retry_after_secs: u64,
    quota_status: QuotaStatus<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_weakly() {
        let known = |text: &str| IfNoneMatch(Some(HeaderValue::try_from(text).unwrap()));
        let etag = "W/\"ab\"";
        for same in ["W/\"ab\"", "\"ab\"", "*", "\"x\", W/\"ab\"", " \"ab\" "] {
            assert!(known(same).matches(etag), "{same}");
        }
        for other in ["", "W/\"a\"", "ab", "\"x\""] {
            assert!(!known(other).matches(etag), "{other}");
        }
        assert!(!IfNoneMatch(None).matches(etag));
    }
}
