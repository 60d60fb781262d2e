//! Routes of daily totals.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use weir_api::keeper::{AppParam, DayParams, DayRangeParams, DayTotals, OrgParam};

use super::convert;
use super::error::KeeperError;
use super::path::{TargetPath, keeper};
use super::rates::allowances;
use super::twin::twin_routes;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::{Path, Query};
use weir_framework::page::Page;

/// Header with the age of the totals in seconds.
const LAG: HeaderName = HeaderName::from_static("x-data-lag-secs");
const TODAY: &str = "today";

twin_routes! {
    get(DayParams) => day(actor: Actor, params: Path<DayParams>) -> Result<Response, KeeperError>,
    described by (tag = "aggregates", responses((status = 200, body = DayTotals,
        headers(("X-Data-Lag-Secs", description = "Age of the totals in seconds")))));
    /// Returns the usage and spend of an org on a day
    org_day = "/api/v1/orgs/{org}/aggregates/{date}";
    /// Returns the usage and spend of an app on a day
    app_day = "/api/v1/orgs/{org}/apps/{app}/aggregates/{date}";

    get(DayRangeParams) => days(actor: Actor, range: Query<DayRangeParams>) -> Result<Response, KeeperError>,
    described by (tag = "aggregates", responses((status = 200, body = Page<DayTotals>,
        headers(("X-Data-Lag-Secs", description = "Age of the totals in seconds")))));
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
        date => date.parse()?,
    };
    let totals = keeper.day_totals(&scope, day).await?;
    Ok((lag(&app, totals.updated_at_epoch), Json(convert::day_totals(totals))).into_response())
}

async fn days(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    Query(range): Query<DayRangeParams>,
) -> Result<Response, KeeperError> {
    allowances(&app)?.aggregates(&app, &actor).await?;
    let (from, to) = (range.from.parse()?, range.to.parse()?);
    let items = keeper(&app)?.series(&scope, from, to).await?;
    let updated = items.iter().filter_map(|day| day.updated_at_epoch).max();
    let items = items.into_iter().map(convert::day_totals).collect();
    Ok((lag(&app, updated), Json(Page { items, next_cursor: None })).into_response())
}

/// The age of totals by their last aggregation: later submissions can be missing from them.
fn lag(app: &App, updated: Option<i64>) -> [(HeaderName, HeaderValue); 1] {
    let now = i64::try_from(app.now_ms() / 1000).unwrap_or(i64::MAX);
    let secs = updated.map_or(0, |at| now.saturating_sub(at).max(0));
    [(LAG, HeaderValue::from(secs))]
}
