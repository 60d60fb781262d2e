//! Tenants.

use crate::limiter::error::LimiterError;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_limiter::namespaces::{self, Record};

use super::place::{By, NsName, limiter};
use super::shapes::{NsAt, time};
use crate::limiter::error::Reply;
use weir_framework::app::App;
use weir_framework::extract::Query;
use weir_framework::page::{Page, PageLimit as _, PageParams};
use weir_framework::prelude::Created;

/// A namespace.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// Its id, which the keys of its items begin with.
    pub id: String,
    /// Where it is in its life.
    #[schema(value_type = NamespaceState)]
    pub state: namespaces::State,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was deleted.
    #[schema(format = DateTime)]
    pub deleted_at: Option<String>,
}

/// Where a namespace is in its life.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum NamespaceState {
    /// It can be used.
    Active,
    /// It was deleted; its data is there and it can be recovered.
    Deleted,
    /// Its data is being removed.
    Purging,
}

impl From<Record> for Namespace {
    fn from(record: Record) -> Namespace {
        Namespace {
            name: record.name.to_string(),
            id: record.id.to_string(),
            state: record.state,
            created_at: time(record.created_ms),
            deleted_at: record.deleted_ms.map(time),
        }
    }
}

/// Makes a namespace
///
/// One that is there and in use stays as it is.
#[utoipa::path(put, path = "/v1/namespaces/{ns}", tag = "namespaces", params(NsAt), responses(
    (status = 200, description = "It was there", body = Namespace),
    (status = 201, description = "It was made", body = Namespace)))]
pub(crate) async fn put(
    State(app): State<App>,
    NsName(name): NsName,
    By(by): By,
) -> Result<Response, LimiterError> {
    let (record, is_new) = limiter(&app)?.create_namespace(&name, &by).await?;
    let made = Namespace::from(record);
    Ok(if is_new { Created(made).into_response() } else { Json(made).into_response() })
}

/// Tells about a namespace
#[utoipa::path(get, path = "/v1/namespaces/{ns}", tag = "namespaces",
    params(NsAt), responses((status = 200, body = Namespace)))]
pub(crate) async fn get(State(app): State<App>, NsName(name): NsName) -> Reply<Namespace> {
    Ok(Json(limiter(&app)?.namespace_record(&name).await?.into()))
}

/// Lists namespaces in every state
#[utoipa::path(get, path = "/v1/namespaces", tag = "namespaces",
    params(PageParams), responses((status = 200, body = Page<Namespace>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Query(part): Query<PageParams>,
) -> Reply<Page<Namespace>> {
    let (found, next_cursor) =
        limiter(&app)?.namespaces(part.checked_limit()?, part.cursor).await?;
    Ok(Json(Page { items: found.into_iter().map(Namespace::from).collect(), next_cursor }))
}

/// Takes a namespace out of use
///
/// Its data stays until it is purged, and it can be recovered until then. `default` stays.
#[utoipa::path(delete, path = "/v1/namespaces/{ns}", tag = "namespaces",
    params(NsAt), responses((status = 200, body = Namespace)))]
pub(crate) async fn remove(
    State(app): State<App>,
    NsName(name): NsName,
    By(by): By,
) -> Reply<Namespace> {
    Ok(Json(limiter(&app)?.delete_namespace(&name, &by).await?.into()))
}

/// Puts a deleted namespace back into use
#[utoipa::path(post, path = "/v1/namespaces/{ns}/recover", tag = "namespaces",
    params(NsAt), responses((status = 200, body = Namespace)))]
pub(crate) async fn recover(
    State(app): State<App>,
    NsName(name): NsName,
    By(by): By,
) -> Reply<Namespace> {
    Ok(Json(limiter(&app)?.recover_namespace(&name, &by).await?.into()))
}

/// Removes everything of a deleted namespace
///
/// A background job does it, bit by bit.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/purge", tag = "namespaces",
    params(NsAt), responses((status = 200, body = Namespace)))]
pub(crate) async fn purge(
    State(app): State<App>,
    NsName(name): NsName,
    By(by): By,
) -> Reply<Namespace> {
    Ok(Json(limiter(&app)?.purge_namespace(&name, &by).await?.into()))
}
