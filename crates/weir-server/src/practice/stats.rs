//! Statistics of usage, and the clock that days are decided by.

use axum::Json;
use axum::extract::State;
use utoipa_axum::routes;
use weir_api::practice::{
    ClockResponse, DayTopUsers, DayTopUsersParams, StatsParams, UsageStats, VerifyStatsRequest,
    VerifyStatsResponse,
};
use weir_framework::actor::Actor;
use weir_framework::api::Api;
use weir_framework::app::App;
use weir_framework::extract::{Body, Query};
use weir_practice::Error;
use weir_practice::bounds::TOP_USERS_MAX;
use weir_practice::day::parse_day;
use weir_practice::usage::Repair;

use super::convert;
use super::error::Reply;
use super::path::practice;
use super::scopes::ADMINISTRATOR;

/// Days of statistics whose request names none, beside the last.
const DAYS_DEFAULT: i64 = 29;
/// Users of a list whose request names no number.
const TOP_USERS_DEFAULT: u32 = 10;

/// Declares the routes.
pub(super) fn routes(api: Api) -> Api {
    api.route(ADMINISTRATOR, routes!(stats))
        .route(ADMINISTRATOR, routes!(top_users))
        .route(ADMINISTRATOR, routes!(verify))
        .route(ADMINISTRATOR, routes!(clock))
}

/// Returns usage by day, active users and top users
///
/// The figures come from rollups, which the job `practice-rollup` keeps up to date.
#[utoipa::path(get, path = "/v1/practice/stats", tag = "practice-stats", params(StatsParams),
    responses((status = 200, body = UsageStats)))]
pub(crate) async fn stats(
    State(app): State<App>,
    Query(params): Query<StatsParams>,
) -> Reply<UsageStats> {
    let practice = practice(&app)?;
    let day = |field: &str, text: &Option<String>| {
        text.as_deref().map(|text| parse_day(field, text)).transpose()
    };
    let to = day("to", &params.to)?.unwrap_or_else(|| practice.day_of(practice.now_ms()));
    let from = day("from", &params.from)?.unwrap_or_else(|| to.plus_days(-DAYS_DEFAULT));
    Ok(Json(convert::stats((from, to), practice.stats(from, to).await?)))
}

/// Returns the most active users of a day
///
/// Each user's usage stands against the limits of the user's present plan. The list comes from rollups, the usage from the
/// counters.
#[utoipa::path(get, path = "/v1/practice/stats/top-users", tag = "practice-stats",
    params(DayTopUsersParams), responses((status = 200, body = DayTopUsers)))]
pub(crate) async fn top_users(
    State(app): State<App>,
    Query(params): Query<DayTopUsersParams>,
) -> Reply<DayTopUsers> {
    let practice = practice(&app)?;
    let day = params.date.as_deref().map(|text| parse_day("date", text)).transpose()?;
    let day = day.unwrap_or_else(|| practice.day_of(practice.now_ms()));
    let limit = params.limit.unwrap_or(TOP_USERS_DEFAULT);
    if !(1..=TOP_USERS_MAX).contains(&limit) {
        let problem = format!("must be from 1 to {TOP_USERS_MAX}, not {limit}");
        return Err(Error::invalid("limit", problem).into());
    }
    let users = practice.day_top_users(day, limit as usize).await?;
    Ok(Json(convert::day_top_users(day, users)))
}

/// Compares the rollups of a day with the counters of all users
///
/// With `repair`, rollups that differ are corrected.
#[utoipa::path(post, path = "/v1/practice/stats/verify", tag = "practice-stats",
    request_body = VerifyStatsRequest, responses((status = 200, body = VerifyStatsResponse)))]
pub(crate) async fn verify(
    State(app): State<App>,
    actor: Actor,
    Body(request): Body<VerifyStatsRequest>,
) -> Reply<VerifyStatsResponse> {
    let day = parse_day("date", &request.date)?;
    let repair = if request.repair { Repair::By(actor.name()) } else { Repair::No };
    let check = practice(&app)?.verify_rollup(day, repair).await?;
    Ok(Json(convert::verification(day, check, request.repair)))
}

/// Returns how far the clock of the instance is ahead of the newest usage item
///
/// A clock that is far ahead while requests come in counts users on a day that has not come.
#[utoipa::path(get, path = "/v1/practice/clock", tag = "practice-stats",
    responses((status = 200, body = ClockResponse)))]
pub(crate) async fn clock(State(app): State<App>) -> Reply<ClockResponse> {
    let practice = practice(&app)?;
    Ok(Json(convert::clock(practice.now_ms(), &practice.clock_reading())))
}
