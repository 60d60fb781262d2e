//! Limits of the three kinds of level: the system, a resource, an entity.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use weir_api::limiter::{LimitsResponse, SetLimitsRequest, SetSystemLimitsRequest};
use weir_limiter::Namespace;
use weir_limiter::config::{Level, LevelConfig};
use weir_table::AnyBackend;

use super::convert::{level_config, limits_response, system_config};
use super::path::{EntityPath, NamespacePath, ResourceOrAllPath, ResourcePath};
use crate::limiter::error::{LimiterError, Reply};
use weir_framework::actor::Actor;
use weir_framework::extract::Body;
use weir_framework::prelude::Created;
use weir_framework::{ApiError, Code};

async fn set(
    ns: &Namespace<AnyBackend>,
    level: &Level,
    config: LevelConfig,
    actor: &str,
) -> Result<Response, LimiterError> {
    let limits = limits_response(ns.set_limits(level, config, actor).await?);
    Ok(match limits.version {
        1 => Created(limits).into_response(),
        _ => Json(limits).into_response(),
    })
}

async fn read(ns: &Namespace<AnyBackend>, level: &Level) -> Reply<LimitsResponse> {
    let config = ns.limits(level).await?.ok_or_else(|| not_configured(level))?;
    Ok(Json(limits_response(config)))
}

async fn remove(
    ns: &Namespace<AnyBackend>,
    level: &Level,
    actor: &str,
) -> Result<StatusCode, LimiterError> {
    if ns.delete_limits(level, actor).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(not_configured(level).into())
    }
}

fn not_configured(level: &Level) -> ApiError {
    let level = match level {
        Level::System => "the system".to_owned(),
        Level::Resource(resource) => format!("resource {resource:?}"),
        Level::Entity(entity, None) => format!("entity {entity:?} on all resources"),
        Level::Entity(entity, Some(resource)) => {
            format!("entity {entity:?} on resource {resource:?}")
        }
    };
    ApiError::new(Code::NOT_FOUND, format!("no limits are configured for {level}"))
}

/// Sets the limits of the system
///
/// The limits apply to every entity and resource that has no other limits. They replace all earlier limits of the system.
#[utoipa::path(put, path = "/v1/namespaces/{ns}/limits/system", tag = "limits",
    params(NamespacePath), request_body = SetSystemLimitsRequest, responses(
        (status = 200, description = "The limits were replaced", body = LimitsResponse),
        (status = 201, description = "The limits were created", body = LimitsResponse)))]
pub(crate) async fn put_system(
    NamespacePath(ns): NamespacePath,
    actor: Actor,
    Body(request): Body<SetSystemLimitsRequest>,
) -> Result<Response, LimiterError> {
    set(&ns, &Level::System, system_config(request)?, actor.name()).await
}

/// Returns the limits of the system
#[utoipa::path(get, path = "/v1/namespaces/{ns}/limits/system", tag = "limits",
    params(NamespacePath), responses((status = 200, body = LimitsResponse)))]
pub(crate) async fn get_system(NamespacePath(ns): NamespacePath) -> Reply<LimitsResponse> {
    read(&ns, &Level::System).await
}

/// Removes the limits of the system
#[utoipa::path(delete, path = "/v1/namespaces/{ns}/limits/system", tag = "limits",
    params(NamespacePath), responses((status = 204)))]
pub(crate) async fn remove_system(
    NamespacePath(ns): NamespacePath,
    actor: Actor,
) -> Result<StatusCode, LimiterError> {
    remove(&ns, &Level::System, actor.name()).await
}

/// Sets the limits of a resource
///
/// The limits apply to every entity that has no limits of its own. They replace all earlier limits of the resource.
#[utoipa::path(put, path = "/v1/namespaces/{ns}/limits/resources/{r}", tag = "limits",
    params(NamespacePath, ResourcePath), request_body = SetLimitsRequest, responses(
        (status = 200, description = "The limits were replaced", body = LimitsResponse),
        (status = 201, description = "The limits were created", body = LimitsResponse)))]
pub(crate) async fn put_resource(
    NamespacePath(ns): NamespacePath,
    ResourcePath(resource): ResourcePath,
    actor: Actor,
    Body(request): Body<SetLimitsRequest>,
) -> Result<Response, LimiterError> {
    set(&ns, &Level::Resource(resource), level_config(request)?, actor.name()).await
}

/// Returns the limits of a resource
#[utoipa::path(get, path = "/v1/namespaces/{ns}/limits/resources/{r}", tag = "limits",
    params(NamespacePath, ResourcePath), responses((status = 200, body = LimitsResponse)))]
pub(crate) async fn get_resource(
    NamespacePath(ns): NamespacePath,
    ResourcePath(resource): ResourcePath,
) -> Reply<LimitsResponse> {
    read(&ns, &Level::Resource(resource)).await
}

/// Removes the limits of a resource
#[utoipa::path(delete, path = "/v1/namespaces/{ns}/limits/resources/{r}", tag = "limits",
    params(NamespacePath, ResourcePath), responses((status = 204)))]
pub(crate) async fn remove_resource(
    NamespacePath(ns): NamespacePath,
    ResourcePath(resource): ResourcePath,
    actor: Actor,
) -> Result<StatusCode, LimiterError> {
    remove(&ns, &Level::Resource(resource), actor.name()).await
}

/// Sets the limits of an entity
///
/// The limits apply on one resource or, as `_default_`, on all resources on which the entity has no other limits. They replace
/// all earlier limits of the entity there.
#[utoipa::path(put, path = "/v1/namespaces/{ns}/limits/entities/{id}/{r}", tag = "limits",
    params(NamespacePath, EntityPath, ResourceOrAllPath), request_body = SetLimitsRequest, responses(
        (status = 200, description = "The limits were replaced", body = LimitsResponse),
        (status = 201, description = "The limits were created", body = LimitsResponse)))]
pub(crate) async fn put_entity(
    NamespacePath(ns): NamespacePath,
    EntityPath(entity): EntityPath,
    ResourceOrAllPath(resource): ResourceOrAllPath,
    actor: Actor,
    Body(request): Body<SetLimitsRequest>,
) -> Result<Response, LimiterError> {
    set(&ns, &Level::Entity(entity, resource), level_config(request)?, actor.name()).await
}

/// Returns the limits of an entity
#[utoipa::path(get, path = "/v1/namespaces/{ns}/limits/entities/{id}/{r}", tag = "limits",
    params(NamespacePath, EntityPath, ResourceOrAllPath), responses((status = 200, body = LimitsResponse)))]
pub(crate) async fn get_entity(
    NamespacePath(ns): NamespacePath,
    EntityPath(entity): EntityPath,
    ResourceOrAllPath(resource): ResourceOrAllPath,
) -> Reply<LimitsResponse> {
    read(&ns, &Level::Entity(entity, resource)).await
}

/// Removes the limits of an entity
#[utoipa::path(delete, path = "/v1/namespaces/{ns}/limits/entities/{id}/{r}", tag = "limits",
    params(NamespacePath, EntityPath, ResourceOrAllPath), responses((status = 204)))]
pub(crate) async fn remove_entity(
    NamespacePath(ns): NamespacePath,
    EntityPath(entity): EntityPath,
    ResourceOrAllPath(resource): ResourceOrAllPath,
    actor: Actor,
) -> Result<StatusCode, LimiterError> {
    remove(&ns, &Level::Entity(entity, resource), actor.name()).await
}
