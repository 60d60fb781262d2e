//! Usage of a user: takes an action of the daily limit, and reads what was used.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;
use weir_api::practice::{
    PracticeUserParam, RecountRequest, RecountResponse, ResetDayResponse, TakeUsageRequest,
    TakeUsageResponse, UsageDateParams, UsageLogEntry, UserUsage,
};
use weir_framework::ApiError;
use weir_framework::actor::Actor;
use weir_framework::api::Api;
use weir_framework::app::App;
use weir_framework::extract::{Body, FastBody, Query, QueryParts};
use weir_framework::limits::RateLimitHeader;
use weir_framework::page::{Page, PageParams, page_response};
use weir_framework::problem::Problem;
use weir_practice::day::parse_day;
use weir_practice::usage::{Repair, UsageAnswer};

use super::codes::DAILY_LIMIT_EXCEEDED;
use super::convert;
use super::error::{PracticeError, Reply};
use super::metrics::metrics;
use super::path::{ReachedUser, UserPath, practice};
use super::scopes::{ADMINISTRATOR, ANY_USER};

/// The body of a refusal: a problem that also has the fields of the response.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UsageRefusal {
    #[serde(flatten)]
    problem: Problem,
    #[serde(flatten)]
    usage: TakeUsageResponse,
}

/// Length of a day for the headers of rate limits, in seconds.
const DAY_SECS: u64 = 86_400;

/// Declares the routes.
pub(super) fn routes(api: Api) -> Api {
    api.route(ANY_USER, routes!(take, read))
        .route(ANY_USER, routes!(log))
        .route(ADMINISTRATOR, routes!(recount))
        .route(ADMINISTRATOR, routes!(reset_day))
}

/// Takes one action of a user's daily limit
///
/// An action that is allowed is counted and logged. A refusal returns 429 with the same fields and counts nothing. Staff and
/// unlimited plans are counted and never refused; the requests of an inactive user return 403. The day is that of the
/// service's time zone, and of the server's clock when it takes the request.
#[utoipa::path(post, path = "/v1/practice/users/{id}/usage", tag = "practice-usage",
    params(PracticeUserParam), request_body = TakeUsageRequest, responses(
        (status = 200, description = "The action is allowed and counted", body = TakeUsageResponse),
        (status = 429, description = "The limit of the day is reached",
            body = UsageRefusal, content_type = "application/problem+json",
            headers(("Retry-After", description = "Seconds until the next day")))))]
pub(crate) async fn take(
    State(app): State<App>,
    ReachedUser(user): ReachedUser,
    FastBody(request): FastBody<TakeUsageRequest>,
) -> Reply<TakeUsageResponse> {
    let request = convert::usage_request(request)?;
    let answer = practice(&app)?.take_usage(&user, &request).await?;
    metrics(&app)?.usage(answer.action, result(&answer));
    match answer.allowed {
        true => Ok(Json(convert::usage_answer(&answer))),
        false => Err(refusal(&answer, app.now_ms()).into()),
    }
}

fn result(answer: &UsageAnswer) -> &'static str {
    match answer {
        UsageAnswer { allowed: false, .. } => "refused",
        UsageAnswer { is_replay: true, .. } => "repeated",
        _ => "allowed",
    }
}

fn refusal(answer: &UsageAnswer, now_ms: u64) -> ApiError {
    let body = convert::usage_answer(answer);
    let detail =
        format!("the user has used all {} {}s of the day", answer.limit.to_number(), answer.action);
    let error = ApiError::new(DAILY_LIMIT_EXCEEDED, detail).members(&body);
    let now_s = i64::try_from(now_ms / 1000).unwrap_or(i64::MAX);
    let limit = RateLimitHeader {
        name: answer.action.as_str().into(),
        quota: u64::try_from(answer.limit.to_number()).unwrap_or_default(),
        window_secs: DAY_SECS,
        remaining: answer.remaining.unwrap_or_default(),
        reset_secs: u64::try_from(answer.resets_at_s.saturating_sub(now_s)).unwrap_or_default(),
    };
    limit.refuse(error)
}

/// Returns the usage of a user on a day
#[utoipa::path(get, path = "/v1/practice/users/{id}/usage", tag = "practice-usage",
    params(PracticeUserParam, UsageDateParams), responses((status = 200, body = UserUsage)))]
pub(crate) async fn read(
    State(app): State<App>,
    ReachedUser(user): ReachedUser,
    Query(params): Query<UsageDateParams>,
) -> Reply<UserUsage> {
    let day = params.date.as_deref().map(|text| parse_day("date", text)).transpose()?;
    Ok(Json(convert::day_usage(practice(&app)?.usage(&user, day).await?)))
}

/// Lists the actions of a user on a day, newest first
#[utoipa::path(get, path = "/v1/practice/users/{id}/usage/log", tag = "practice-usage",
    params(PracticeUserParam, UsageDateParams, PageParams),
    responses((status = 200, body = Page<UsageLogEntry>)))]
pub(crate) async fn log(
    State(app): State<App>,
    ReachedUser(user): ReachedUser,
    QueryParts((params, page)): QueryParts<(UsageDateParams, PageParams)>,
) -> Reply<Page<UsageLogEntry>> {
    let practice = practice(&app)?;
    let page = convert::page_request(page)?;
    let day = match params.date.as_deref() {
        Some(text) => parse_day("date", text)?,
        None => practice.usage(&user, None).await?.day,
    };
    let found = practice.usage_log(&user, day, &page).await?;
    Ok(page_response(found, convert::log_entry))
}

/// Compares the counters of a user with the log
///
/// With `repair`, counters that differ are corrected. Safe while requests come in.
#[utoipa::path(post, path = "/v1/practice/users/{id}/usage/recount", tag = "practice-usage",
    params(PracticeUserParam), request_body = RecountRequest,
    responses((status = 200, body = RecountResponse)))]
pub(crate) async fn recount(
    State(app): State<App>,
    UserPath(user): UserPath,
    actor: Actor,
    Body(request): Body<RecountRequest>,
) -> Result<Json<RecountResponse>, PracticeError> {
    let day = parse_day("date", &request.date)?;
    let repair = if request.repair { Repair::By(actor.name()) } else { Repair::No };
    let recount = practice(&app)?.recount(&user, day, repair).await?;
    Ok(Json(convert::recount(day, recount)))
}

/// Sets back the latest day of a user to today
///
/// A clock that was far ahead has counted the user on a day that has not come, which closes the days before it. Counters stay,
/// so no limit is exceeded.
#[utoipa::path(post, path = "/v1/practice/users/{id}/usage/reset-day", tag = "practice-usage",
    params(PracticeUserParam), responses((status = 200, body = ResetDayResponse)))]
pub(crate) async fn reset_day(
    State(app): State<App>,
    UserPath(user): UserPath,
    actor: Actor,
) -> Reply<ResetDayResponse> {
    Ok(Json(convert::day_reset(practice(&app)?.reset_latest_day(&user, actor.name()).await?)))
}
