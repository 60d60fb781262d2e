//! Routes of daily totals.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use weir_api::keeper::{AppParam, DayParams, DayRangeParams, DayTotals, OrgParam};
use weir_keeper::ids::Scope;

use super::convert;
use super::error::KeeperError;
use super::path::{Actor, TargetPath, keeper};
use super::rates::allowances;
use weir_framework::app::App;
use weir_framework::extract::{Path, Query};
use weir_framework::page::Page;

/// Header with the age of the totals in seconds.
const LAG: HeaderName = HeaderName::from_static("x-data-lag-secs");
const TODAY: &str = "today";

async fn day(app: &App, scope: &Scope, actor: &Actor, date: &str) -> Result<Response, KeeperError> {
    allowances(app)?.aggregates(app, actor).await?;
    let keeper = keeper(app)?;
    let day = match date {
        TODAY => keeper.today(scope).await?,
        date => date.parse()?,
    };
    let totals = keeper.day_totals(scope, day).await?;
    Ok((lag(app, totals.updated_at_epoch), Json(convert::day_totals(totals))).into_response())
}

async fn days(
    app: &App,
    scope: &Scope,
    actor: &Actor,
    range: &DayRangeParams,
) -> Result<Response, KeeperError> {
    allowances(app)?.aggregates(app, actor).await?;
    let (from, to) = (range.from.parse()?, range.to.parse()?);
    let items = keeper(app)?.series(scope, from, to).await?;
    let updated = items.iter().filter_map(|day| day.updated_at_epoch).max();
    let items = items.into_iter().map(convert::day_totals).collect();
    Ok((lag(app, updated), Json(Page { items, next_cursor: None })).into_response())
}

/// The age of totals by their last aggregation: later submissions can be missing from them.
fn lag(app: &App, updated: Option<i64>) -> [(HeaderName, HeaderValue); 1] {
    let now = i64::try_from(app.now_ms() / 1000).unwrap_or(i64::MAX);
    let secs = updated.map_or(0, |at| now.saturating_sub(at).max(0));
    [(LAG, HeaderValue::from(secs))]
}

/// Returns the usage and spend of an org on a day
#[utoipa::path(get, path = "/api/v1/orgs/{org}/aggregates/{date}", tag = "aggregates",
    params(OrgParam, DayParams), responses((status = 200, body = DayTotals,
        headers(("X-Data-Lag-Secs", description = "Age of the totals in seconds")))))]
pub(crate) async fn org_day(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    Path(params): Path<DayParams>,
) -> Result<Response, KeeperError> {
    day(&app, &scope, &actor, &params.date).await
}

/// Returns the usage and spend of an app on a day
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/aggregates/{date}", tag = "aggregates",
    params(OrgParam, AppParam, DayParams), responses((status = 200, body = DayTotals,
        headers(("X-Data-Lag-Secs", description = "Age of the totals in seconds")))))]
pub(crate) async fn app_day(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    Path(params): Path<DayParams>,
) -> Result<Response, KeeperError> {
    day(&app, &scope, &actor, &params.date).await
}

/// Returns the usage and spend of an org on each day of a range
#[utoipa::path(get, path = "/api/v1/orgs/{org}/aggregates", tag = "aggregates",
    params(OrgParam, DayRangeParams), responses((status = 200, body = Page<DayTotals>,
        headers(("X-Data-Lag-Secs", description = "Age of the totals in seconds")))))]
pub(crate) async fn org_days(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    Query(range): Query<DayRangeParams>,
) -> Result<Response, KeeperError> {
    days(&app, &scope, &actor, &range).await
}

/// Returns the usage and spend of an app on each day of a range
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}/aggregates", tag = "aggregates",
    params(OrgParam, AppParam, DayRangeParams), responses((status = 200, body = Page<DayTotals>,
        headers(("X-Data-Lag-Secs", description = "Age of the totals in seconds")))))]
pub(crate) async fn app_days(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    Query(range): Query<DayRangeParams>,
) -> Result<Response, KeeperError> {
    days(&app, &scope, &actor, &range).await
}
