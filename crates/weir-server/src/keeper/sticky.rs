//! Routes that move a chain to a model by hand.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use weir_api::keeper::{AppParam, OrgParam, StickyFallback, StickyOverride};
use weir_keeper::ids::Label;

use super::convert;
use super::error::{KeeperError, Reply};
use super::path::{Actor, TargetPath, keeper};
use weir_framework::app::App;
use weir_framework::extract::Body;

async fn set(
    app: &App,
    TargetPath(scope): TargetPath,
    actor: &Actor,
    request: &StickyOverride,
) -> Reply<StickyFallback> {
    let label = Label::new(&request.model_label)?;
    let sticky = keeper(app)?.override_sticky(&scope, &label, actor.name()).await?;
    Ok(Json(convert::sticky_fallback(&sticky)))
}

async fn reset(
    app: &App,
    TargetPath(scope): TargetPath,
    actor: &Actor,
) -> Result<StatusCode, KeeperError> {
    keeper(app)?.reset_sticky(&scope, actor.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Moves an org's chain to a model for the rest of the day
#[utoipa::path(put, path = "/api/v1/orgs/{org}/sticky", tag = "sticky", params(OrgParam),
    request_body = StickyOverride, responses((status = 200, body = StickyFallback)))]
pub(crate) async fn set_org(
    State(app): State<App>,
    path: TargetPath,
    actor: Actor,
    Body(request): Body<StickyOverride>,
) -> Reply<StickyFallback> {
    set(&app, path, &actor, &request).await
}

/// Moves an app's chain to a model for the rest of the day
#[utoipa::path(put, path = "/api/v1/orgs/{org}/apps/{app}/sticky", tag = "sticky",
    params(OrgParam, AppParam), request_body = StickyOverride,
    responses((status = 200, body = StickyFallback)))]
pub(crate) async fn set_app(
    State(app): State<App>,
    path: TargetPath,
    actor: Actor,
    Body(request): Body<StickyOverride>,
) -> Reply<StickyFallback> {
    set(&app, path, &actor, &request).await
}

/// Ends the fallback of an org's chain
#[utoipa::path(delete, path = "/api/v1/orgs/{org}/sticky", tag = "sticky", params(OrgParam),
    responses((status = 204)))]
pub(crate) async fn reset_org(
    State(app): State<App>,
    path: TargetPath,
    actor: Actor,
) -> Result<StatusCode, KeeperError> {
    reset(&app, path, &actor).await
}

/// Ends the fallback of an app's chain
#[utoipa::path(delete, path = "/api/v1/orgs/{org}/apps/{app}/sticky", tag = "sticky",
    params(OrgParam, AppParam), responses((status = 204)))]
pub(crate) async fn reset_app(
    State(app): State<App>,
    path: TargetPath,
    actor: Actor,
) -> Result<StatusCode, KeeperError> {
    reset(&app, path, &actor).await
}
