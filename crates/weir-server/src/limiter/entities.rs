//! Entities: the users, keys or projects that are limited.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use weir_api::limiter::{EntitiesParams, EntityResponse, PutEntityRequest, SetParentRequest};

use super::convert::{self, entity_response};
use super::path::{EntityPath, NamespacePath};
use crate::limiter::error::{LimiterError, Reply};
use weir_framework::actor::Actor;
use weir_framework::extract::{Body, Query, QueryParts};
use weir_framework::page::{Page, PageLimit as _, PageParams, page_response};
use weir_framework::prelude::Created;

/// Creates or replaces an entity
#[utoipa::path(put, path = "/v1/namespaces/{ns}/entities/{id}", tag = "entities",
    params(NamespacePath, EntityPath), request_body = PutEntityRequest, responses(
        (status = 200, description = "The entity was replaced", body = EntityResponse),
        (status = 201, description = "The entity was created", body = EntityResponse)))]
pub(crate) async fn put(
    NamespacePath(ns): NamespacePath,
    EntityPath(id): EntityPath,
    actor: Actor,
    Body(request): Body<PutEntityRequest>,
) -> Result<Response, LimiterError> {
    let new = convert::new_entity(&id, request)?;
    let (entity, is_new) = ns.put_entity(&id, new, actor.name()).await?;
    let entity = entity_response(entity);
    Ok(if is_new { Created(entity).into_response() } else { Json(entity).into_response() })
}

/// Returns an entity
#[utoipa::path(get, path = "/v1/namespaces/{ns}/entities/{id}", tag = "entities",
    params(NamespacePath, EntityPath), responses((status = 200, body = EntityResponse)))]
pub(crate) async fn get(
    NamespacePath(ns): NamespacePath,
    EntityPath(id): EntityPath,
) -> Reply<EntityResponse> {
    Ok(Json(entity_response(ns.entity(&id).await?)))
}

/// Deletes an entity
///
/// The limits and buckets of the entity are removed; its usage and audit log remain. An entity with children cannot be deleted.
#[utoipa::path(delete, path = "/v1/namespaces/{ns}/entities/{id}", tag = "entities",
    params(NamespacePath, EntityPath), responses((status = 204)))]
pub(crate) async fn remove(
    NamespacePath(ns): NamespacePath,
    EntityPath(id): EntityPath,
    actor: Actor,
) -> Result<StatusCode, LimiterError> {
    ns.delete_entity(&id, actor.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists entities
#[utoipa::path(get, path = "/v1/namespaces/{ns}/entities", tag = "entities",
    params(NamespacePath, EntitiesParams, PageParams),
    responses((status = 200, body = Page<EntityResponse>)))]
pub(crate) async fn list(
    NamespacePath(ns): NamespacePath,
    QueryParts((wanted, page)): QueryParts<(EntitiesParams, PageParams)>,
) -> Reply<Page<EntityResponse>> {
    let (limit, cursor) = (page.checked_limit()?, page.cursor);
    let found = match &wanted.prefix {
        Some(prefix) => {
            let prefix = convert::entity_id("prefix", prefix)?;
            ns.entities_beginning_with(&prefix, limit, cursor).await?
        }
        None => ns.entities(limit, cursor).await?,
    };
    Ok(page_response(found, entity_response))
}

/// Lists the children of an entity
#[utoipa::path(get, path = "/v1/namespaces/{ns}/entities/{id}/children", tag = "entities",
    params(NamespacePath, EntityPath, PageParams),
    responses((status = 200, body = Page<EntityResponse>)))]
pub(crate) async fn children(
    NamespacePath(ns): NamespacePath,
    EntityPath(id): EntityPath,
    Query(params): Query<PageParams>,
) -> Reply<Page<EntityResponse>> {
    let found = ns.children(&id, params.checked_limit()?, params.cursor).await?;
    Ok(page_response(found, entity_response))
}

/// Sets or removes the parent of an entity
#[utoipa::path(put, path = "/v1/namespaces/{ns}/entities/{id}/parent", tag = "entities",
    params(NamespacePath, EntityPath), request_body = SetParentRequest,
    responses((status = 200, body = EntityResponse)))]
pub(crate) async fn set_parent(
    NamespacePath(ns): NamespacePath,
    EntityPath(id): EntityPath,
    actor: Actor,
    Body(request): Body<SetParentRequest>,
) -> Reply<EntityResponse> {
    let parent = convert::parent(request.parent.as_deref())?;
    Ok(Json(entity_response(ns.set_parent(&id, parent.as_ref(), actor.name()).await?)))
}
