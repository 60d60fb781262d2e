//! A recorded day under another configuration.

use axum::Json;
use axum::extract::State;
use weir_api::keeper::{OrgParam, SimulationRequest, SimulationResponse};
use weir_keeper::day::parse_day;
use weir_keeper::ids::Scope;

use super::convert;
use super::error::Reply;
use super::path::{OrgPath, keeper};
use super::rates::allowances;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::Body;

const TODAY: &str = "today";

/// Replays a recorded day of an org under a changed configuration
///
/// Nothing is written. The number of submissions, the tokens and the spend by hour are those that were recorded; single
/// submissions are not, so each gets the average tokens of its model.
#[utoipa::path(post, path = "/api/v1/orgs/{org}/simulate", tag = "orgs", params(OrgParam),
    request_body = SimulationRequest, responses((status = 200, body = SimulationResponse)))]
pub(crate) async fn simulate(
    State(app): State<App>,
    OrgPath(org): OrgPath,
    actor: Actor,
    Body(request): Body<SimulationRequest>,
) -> Reply<SimulationResponse> {
    allowances(&app)?.aggregates(&app, &actor).await?;
    let keeper = keeper(&app)?;
    let day = match request.date.as_str() {
        TODAY => keeper.today(&Scope::Org(org.clone())).await?,
        date => parse_day(date)?,
    };
    let report = keeper.what_if(&org, day, &convert::what_if(request)).await?;
    Ok(Json(convert::simulation(report)))
}
