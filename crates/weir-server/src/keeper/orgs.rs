//! Orgs: set up, looked at, listed.

use crate::keeper::error::KeeperError;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use weir_keeper::ids::Scope;

use super::configured::{Configured, PutAnswer, page, put_answer};
use super::place::{Asker, Org, keeper};
use super::rates::allowances;
use super::shapes::{NewOrg, OrgAt};
use crate::keeper::error::Reply;
use weir_framework::app::App;
use weir_framework::extract::{Body, Query};
use weir_framework::page::{Page, PageLimit as _, PageParams};

/// Sets an org up, or sets it to something else
///
/// A new time zone or quota scope holds from the next midnight of the old zone on.
#[utoipa::path(put, path = "/api/v1/orgs/{org}", tag = "orgs", params(OrgAt),
    request_body = NewOrg, responses(
        (status = 200, description = "It was changed", body = PutAnswer),
        (status = 201, description = "It was created; its secret can be had once", body = PutAnswer)))]
pub(crate) async fn put(
    State(app): State<App>,
    Org(org): Org,
    asker: Asker,
    Body(new): Body<NewOrg>,
) -> Result<Response, KeeperError> {
    allowances(&app)?.write(&app, &asker).await?;
    let put = keeper(&app)?.put_org(&org, &new.into(), asker.name()).await?;
    Ok(put_answer(&put, &Scope::Org(org)))
}

/// Tells what holds for an org
#[utoipa::path(get, path = "/api/v1/orgs/{org}", tag = "orgs", params(OrgAt),
    responses((status = 200, body = Configured)))]
pub(crate) async fn get(State(app): State<App>, Org(org): Org) -> Reply<Configured> {
    Ok(Json((&keeper(&app)?.org(&org).await?).into()))
}

/// Lists orgs
#[utoipa::path(get, path = "/api/v1/orgs", tag = "orgs", params(PageParams),
    responses((status = 200, body = Page<Configured>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Query(part): Query<PageParams>,
) -> Reply<Page<Configured>> {
    Ok(page(&keeper(&app)?.list_orgs(part.checked_limit()?, part.cursor).await?))
}
