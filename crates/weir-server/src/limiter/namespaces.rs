//! Namespaces, the tenants of the limiter.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use weir_api::limiter::NamespaceResponse;

use super::convert::namespace_response;
use super::path::{NamespaceNamePath, limiter};
use crate::allowance;
use crate::limiter::error::{LimiterError, Reply};
use weir_framework::ApiError;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::extract::Query;
use weir_framework::page::{Page, PageLimit as _, PageParams, page_response};
use weir_framework::prelude::Created;

/// Creates a namespace
///
/// A namespace that exists and is active stays as it is.
#[utoipa::path(put, path = "/v1/namespaces/{ns}", tag = "namespaces",
    params(NamespaceNamePath), responses(
        (status = 200, description = "The namespace existed", body = NamespaceResponse),
        (status = 201, description = "The namespace was created", body = NamespaceResponse)))]
pub(crate) async fn put(
    State(app): State<App>,
    NamespaceNamePath(name): NamespaceNamePath,
    actor: Actor,
) -> Result<Response, LimiterError> {
    let (record, is_new) = limiter(&app)?.create_namespace(&name, actor.name()).await?;
    let namespace = namespace_response(record);
    Ok(if is_new { Created(namespace).into_response() } else { Json(namespace).into_response() })
}

/// Returns a namespace
#[utoipa::path(get, path = "/v1/namespaces/{ns}", tag = "namespaces",
    params(NamespaceNamePath), responses((status = 200, body = NamespaceResponse)))]
pub(crate) async fn get(
    State(app): State<App>,
    NamespaceNamePath(name): NamespaceNamePath,
) -> Reply<NamespaceResponse> {
    Ok(Json(namespace_response(limiter(&app)?.namespace_record(&name).await?)))
}

/// Lists namespaces in every state
#[utoipa::path(get, path = "/v1/namespaces", tag = "namespaces",
    params(PageParams), responses((status = 200, body = Page<NamespaceResponse>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Query(page): Query<PageParams>,
) -> Reply<Page<NamespaceResponse>> {
    let found = limiter(&app)?.namespaces(page.checked_limit()?, page.cursor).await?;
    Ok(page_response(found, namespace_response))
}

/// Deletes a namespace
///
/// The namespace is out of use at once. Its data remains until it is purged; until then it can be recovered. The
/// namespaces `default`, and `weir-api` with the API's own limits, cannot be deleted.
#[utoipa::path(delete, path = "/v1/namespaces/{ns}", tag = "namespaces",
    params(NamespaceNamePath), responses((status = 200, body = NamespaceResponse)))]
pub(crate) async fn remove(
    State(app): State<App>,
    NamespaceNamePath(name): NamespaceNamePath,
    actor: Actor,
) -> Reply<NamespaceResponse> {
    if name.as_str() == allowance::NAMESPACE {
        let problem = "the namespace \"weir-api\" has the API's own limits and cannot be deleted";
        return Err(ApiError::invalid("ns", problem).into());
    }
    Ok(Json(namespace_response(limiter(&app)?.delete_namespace(&name, actor.name()).await?)))
}

/// Recovers a deleted namespace
#[utoipa::path(post, path = "/v1/namespaces/{ns}/recover", tag = "namespaces",
    params(NamespaceNamePath), responses((status = 200, body = NamespaceResponse)))]
pub(crate) async fn recover(
    State(app): State<App>,
    NamespaceNamePath(name): NamespaceNamePath,
    actor: Actor,
) -> Reply<NamespaceResponse> {
    Ok(Json(namespace_response(limiter(&app)?.recover_namespace(&name, actor.name()).await?)))
}

/// Purges a deleted namespace
///
/// A background job removes all data of the namespace. It cannot be recovered then.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/purge", tag = "namespaces",
    params(NamespaceNamePath), responses((status = 200, body = NamespaceResponse)))]
pub(crate) async fn purge(
    State(app): State<App>,
    NamespaceNamePath(name): NamespaceNamePath,
    actor: Actor,
) -> Reply<NamespaceResponse> {
    Ok(Json(namespace_response(limiter(&app)?.purge_namespace(&name, actor.name()).await?)))
}
