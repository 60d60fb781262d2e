//! Routes of apps.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use weir_api::keeper::{
    AppConfig, AppParam, ConfigResponse, DeletedParams, EffectiveConfig, OrgParam,
};
use weir_keeper::ids::Scope;

use super::convert;
use super::error::{KeeperError, Reply};
use super::orgs::{config_page, deleted, put_response};
use super::path::{AppPath, OrgPath, keeper};
use super::rates::allowances;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::{Body, QueryParts};
use weir_framework::page::{Page, PageLimit as _, PageParams};

/// Creates or changes an app
#[utoipa::path(put, path = "/api/v1/orgs/{org}/apps/{app}", tag = "apps", params(OrgParam, AppParam),
    request_body = AppConfig, responses(
        (status = 200, description = "The app was changed.", body = ConfigResponse),
        (status = 201, description = "The app was created. The response has a one-time link to its secret.", body = ConfigResponse)))]
pub(crate) async fn put(
    State(app): State<App>,
    AppPath(org, id): AppPath,
    actor: Actor,
    Body(config): Body<AppConfig>,
) -> Result<Response, KeeperError> {
    allowances(&app)?.write(&app, &actor).await?;
    let put = keeper(&app)?.put_app(&org, &id, &convert::put_app(config), actor.name()).await?;
    Ok(put_response(&app, &put, &Scope::App(org, id)))
}

/// Returns the configuration in force for an app
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}", tag = "apps", params(OrgParam, AppParam),
    responses((status = 200, body = EffectiveConfig)))]
pub(crate) async fn get(
    State(app): State<App>,
    AppPath(org, id): AppPath,
) -> Reply<EffectiveConfig> {
    Ok(Json(convert::effective_config(&keeper(&app)?.get_app(&org, &id).await?)))
}

/// Lists the apps of an org
///
/// A page can be short or empty although more pages follow, because it skips deleted apps.
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps", tag = "apps", params(OrgParam, PageParams, DeletedParams),
    responses((status = 200, body = Page<EffectiveConfig>)))]
pub(crate) async fn list(
    State(app): State<App>,
    OrgPath(org): OrgPath,
    QueryParts((page, shown)): QueryParts<(PageParams, DeletedParams)>,
) -> Reply<Page<EffectiveConfig>> {
    Ok(config_page(
        keeper(&app)?.list_apps(&org, page.checked_limit()?, page.cursor, deleted(&shown)).await?,
    ))
}
