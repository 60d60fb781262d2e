//! Routes that move a chain to a model by hand.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use weir_api::keeper::{AppParam, OrgParam, StickyFallback, StickyOverride};
use weir_keeper::ids::Label;

use super::convert;
use super::error::{KeeperError, Reply};
use super::path::{TargetPath, keeper};
use super::twin::twin_routes;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::Body;

twin_routes! {
    put() => set(actor: Actor, request: Body<StickyOverride>) -> Reply<StickyFallback>,
    described by (tag = "sticky", request_body = StickyOverride,
        responses((status = 200, body = StickyFallback)));
    /// Moves an org's chain to a model for the rest of the day
    set_org = "/api/v1/orgs/{org}/sticky";
    /// Moves an app's chain to a model for the rest of the day
    set_app = "/api/v1/orgs/{org}/apps/{app}/sticky";

    delete() => reset(actor: Actor) -> Result<StatusCode, KeeperError>,
    described by (tag = "sticky", responses((status = 204)));
    /// Ends the fallback of an org's chain
    reset_org = "/api/v1/orgs/{org}/sticky";
    /// Ends the fallback of an app's chain
    reset_app = "/api/v1/orgs/{org}/apps/{app}/sticky";
}

async fn set(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
    Body(request): Body<StickyOverride>,
) -> Reply<StickyFallback> {
    let label = Label::new(&request.model_label)?;
    let sticky = keeper(&app)?.override_sticky(&scope, &label, actor.name()).await?;
    Ok(Json(convert::sticky_fallback(&sticky)))
}

async fn reset(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
) -> Result<StatusCode, KeeperError> {
    keeper(&app)?.reset_sticky(&scope, actor.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}
