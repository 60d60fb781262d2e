//! Routes of daily totals.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use weir_api::keeper::{AppParam, DayParams, DayRangeParams, DayTotals, OrgParam};
use weir_api::server::Job;

use super::convert;
use super::error::KeeperError;
use super::path::{TargetPath, keeper};
use super::rates::allowances;
use super::summing::AGGREGATE;
use super::twin::twin_routes;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::{Path, Query};
use weir_framework::jobs::Running;
use weir_framework::page::Page;
use weir_keeper::day::parse_day;

/// Header with the time in seconds for which submissions are missing from the totals; 0 when none is.
const LAG: HeaderName = HeaderName::from_static("x-data-lag-secs");
const TODAY: &str = "today";

twin_routes! {
    get(DayParams) => day(actor: Actor, params: Path<DayParams>) -> Result<Response, KeeperError>,
    described by (tag = "aggregates", responses((status = 200, body = DayTotals,
        headers(("X-Data-Lag-Secs", description = "Seconds for which submissions are missing from the totals; 0 when none is")))));
    /// Returns the usage and spend of an org on a day
    org_day = "/api/v1/orgs/{org}/aggregates/{date}";
    /// Returns the usage and spend of an app on a day
    app_day = "/api/v1/orgs/{org}/apps/{app}/aggregates/{date}";

    get(DayRangeParams) => days(actor: Actor, range: Query<DayRangeParams>) -> Result<Response, KeeperError>,
    described by (tag = "aggregates", responses((status = 200, body = Page<DayTotals>,
        headers(("X-Data-Lag-Secs", description = "Seconds for which submissions are missing from the totals; 0 when none is")))));
    /// Returns the usage and spend of an org on each day of a range
    org_days = "/api/v1/orgs/{org}/aggregates";
    /// Returns the usage and spend of an app on each day of a range
    app_days = "/api/v1/orgs/{org}/apps/{app}/aggregates";
}

async fn day(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    Path(params): Path<DayParams>,
) -> Result<Response, KeeperError> {
    allowances(&app)?.aggregates(&app, &actor).await?;
    let keeper = keeper(&app)?;
    let day = match params.date.as_str() {
        TODAY => keeper.today(&scope).await?,
        date => parse_day(date)?,
    };
    let totals = keeper.day_totals(&scope, day).await?;
    let lag = lag(&app, totals.outstanding_since_epoch);
    Ok((lag, Json(convert::day_totals(totals))).into_response())
}

async fn days(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    Query(range): Query<DayRangeParams>,
) -> Result<Response, KeeperError> {
    allowances(&app)?.aggregates(&app, &actor).await?;
    let (from, to) = (parse_day(&range.from)?, parse_day(&range.to)?);
    let items = keeper(&app)?.series(&scope, from, to).await?;
    let since = items.iter().filter_map(|day| day.outstanding_since_epoch).min();
    let items = items.into_iter().map(convert::day_totals).collect();
    Ok((lag(&app, since), Json(Page { items, next_cursor: None })).into_response())
}

/// How long submissions have been missing from totals. A job that is further behind says more than the counters do: they
/// only have the time of their last change.
fn lag(app: &App, since: Option<i64>) -> [(HeaderName, HeaderValue); 1] {
    let now = i64::try_from(app.now_ms() / 1000).unwrap_or(i64::MAX);
    let statuses = || app.jobs().map(Running::statuses).unwrap_or_default();
    let behind = |job: &Job| i64::try_from(job.lag_ms / 1000).unwrap_or(i64::MAX);
    let job_lag = || statuses().iter().find(|job| job.name == AGGREGATE).map_or(0, behind);
    let secs = since.map_or(0, |at| now.saturating_sub(at).max(job_lag()));
    [(LAG, HeaderValue::from(secs))]
}
