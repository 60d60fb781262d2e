//! Routes of days by the hour.

use axum::Json;
use axum::extract::State;
use weir_api::keeper::{AppParam, DayHours, DayParams, OrgParam};

use super::convert;
use super::error::{KeeperError, Reply};
use super::path::{TargetPath, keeper};
use super::rates::allowances;
use super::twin::twin_routes;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::Path;
use weir_keeper::day::parse_day;

const TODAY: &str = "today";

twin_routes! {
    get(DayParams) => hours(actor: Actor, params: Path<DayParams>) -> Result<Json<DayHours>, KeeperError>,
    described by (tag = "aggregates", responses((status = 200, body = DayHours)));
    /// Returns the spend of an org on a day by the hour
    org_hours = "/api/v1/orgs/{org}/aggregates/{date}/hours";
    /// Returns the spend of an app on a day by the hour
    app_hours = "/api/v1/orgs/{org}/apps/{app}/aggregates/{date}/hours";
}

async fn hours(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    Path(params): Path<DayParams>,
) -> Reply<DayHours> {
    allowances(&app)?.aggregates(&app, &actor).await?;
    let keeper = keeper(&app)?;
    let day = match params.date.as_str() {
        TODAY => keeper.today(&scope).await?,
        date => parse_day(date)?,
    };
    Ok(Json(convert::day_hours(keeper.day_hours(&scope, day).await?)))
}
