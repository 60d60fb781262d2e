//! Apps of an org: set up, looked at, listed.

use crate::keeper::error::KeeperError;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use weir_keeper::ids::Scope;

use super::configured::{Configured, PutAnswer, page, put_answer};
use super::place::{Asker, Org, OrgApp, keeper};
use super::rates::allowances;
use super::shapes::{AppAt, NewApp, OrgAt};
use crate::keeper::error::Reply;
use weir_framework::app::App;
use weir_framework::extract::{Body, Query};
use weir_framework::page::{Page, PageLimit as _, PageParams};

/// Sets an app up, or sets it to something else
#[utoipa::path(put, path = "/api/v1/orgs/{org}/apps/{app}", tag = "apps", params(OrgAt, AppAt),
    request_body = NewApp, responses(
        (status = 200, description = "It was changed", body = PutAnswer),
        (status = 201, description = "It was created; its secret can be had once", body = PutAnswer)))]
pub(crate) async fn put(
    State(app): State<App>,
    OrgApp(org, id): OrgApp,
    asker: Asker,
    Body(new): Body<NewApp>,
) -> Result<Response, KeeperError> {
    allowances(&app)?.write(&app, &asker).await?;
    let put = keeper(&app)?.put_app(&org, &id, &new.into(), asker.name()).await?;
    Ok(put_answer(&put, &Scope::App(org, id)))
}

/// Tells what holds for an app
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps/{app}", tag = "apps", params(OrgAt, AppAt),
    responses((status = 200, body = Configured)))]
pub(crate) async fn get(State(app): State<App>, OrgApp(org, id): OrgApp) -> Reply<Configured> {
    Ok(Json((&keeper(&app)?.app(&org, &id).await?).into()))
}

/// Lists the apps of an org
#[utoipa::path(get, path = "/api/v1/orgs/{org}/apps", tag = "apps", params(OrgAt, PageParams),
    responses((status = 200, body = Page<Configured>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Org(org): Org,
    Query(part): Query<PageParams>,
) -> Reply<Page<Configured>> {
    Ok(page(&keeper(&app)?.list_apps(&org, part.checked_limit()?, part.cursor).await?))
}
