//! Routes of orgs.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use weir_api::keeper::{ConfigResponse, DeletedParams, EffectiveConfig, OrgConfig, OrgParam};
use weir_keeper::config;
use weir_keeper::deletion::Deleted;
use weir_keeper::ids::Scope;
use weir_keeper::{Listed, PutOutcome};

use super::convert;
use super::error::{KeeperError, Reply};
use super::path::{OrgPath, keeper};
use super::rates::allowances;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::{Body, QueryParts};
use weir_framework::page::{Page, PageLimit as _, PageParams, page_response};

/// Creates or changes an org
///
/// A change of the time zone or the quota scope takes effect at the next midnight of the time zone in force.
#[utoipa::path(put, path = "/api/v1/orgs/{org}", tag = "orgs", params(OrgParam),
    request_body = OrgConfig, responses(
        (status = 200, description = "The org was changed.", body = ConfigResponse),
        (status = 201, description = "The org was created. The response has a one-time link to its secret.", body = ConfigResponse)))]
pub(crate) async fn put(
    State(app): State<App>,
    OrgPath(org): OrgPath,
    actor: Actor,
    Body(config): Body<OrgConfig>,
) -> Result<Response, KeeperError> {
    allowances(&app)?.write(&app, &actor).await?;
    let put = keeper(&app)?.put_org(&org, &convert::put_org(config), actor.name()).await?;
    Ok(put_response(&app, &put, &Scope::Org(org)))
}

/// Returns the configuration in force for an org
#[utoipa::path(get, path = "/api/v1/orgs/{org}", tag = "orgs", params(OrgParam),
    responses((status = 200, body = EffectiveConfig)))]
pub(crate) async fn get(State(app): State<App>, OrgPath(org): OrgPath) -> Reply<EffectiveConfig> {
    Ok(Json(convert::effective_config(&keeper(&app)?.get_org(&org).await?)))
}

/// Lists orgs
///
/// A page can be short or empty although more pages follow, because it skips deleted orgs.
#[utoipa::path(get, path = "/api/v1/orgs", tag = "orgs", params(PageParams, DeletedParams),
    responses((status = 200, body = Page<EffectiveConfig>)))]
pub(crate) async fn list(
    State(app): State<App>,
    QueryParts((page, shown)): QueryParts<(PageParams, DeletedParams)>,
) -> Reply<Page<EffectiveConfig>> {
    Ok(config_page(
        keeper(&app)?.list_orgs(page.checked_limit()?, page.cursor, deleted(&shown)).await?,
    ))
}

/// The response to a change of an org or an app. It can have a one-time token, so no cache may store it.
pub(super) fn put_response(app: &App, put: &PutOutcome, scope: &Scope) -> Response {
    let status = if put.created { StatusCode::CREATED } else { StatusCode::OK };
    let body = Json(convert::config_response(put, scope, app.now_ms()));
    (status, [(header::CACHE_CONTROL, "no-store")], body).into_response()
}

/// Whether a list has deleted entries.
pub(super) fn deleted(params: &DeletedParams) -> Deleted {
    if params.deleted { Deleted::Included } else { Deleted::Hidden }
}

pub(super) fn config_page(found: Listed<config::EffectiveConfig>) -> Json<Page<EffectiveConfig>> {
    page_response(found, |config| convert::effective_config(&config))
}
