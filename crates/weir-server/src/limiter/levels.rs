//! Limits at a level: of the system, of a resource, of an entity.

use crate::limiter::error::LimiterError;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_limiter::Namespace;
use weir_limiter::config::{self, LevelConfig, OnUnavailable};
use weir_table::AnyBackend;

use super::place::{By, Ns, What, WhatOrAll, Who};
use super::shapes::{EntityAt, Limit, LimitShape, NsAt, ResourceAt, ResourceOrAllAt};
use crate::limiter::error::Reply;
use weir_framework::error::ApiError;
use weir_framework::extract::Body;
use weir_framework::prelude::Created;

/// What a resource's or an entity's level is to say.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLevel {
    /// The limits. There may be none when the level says something else.
    #[serde(default)]
    #[schema(value_type = Vec<LimitShape>, max_items = 16)]
    pub limits: Vec<Limit>,
    /// What to do when the store cannot be reached; inherited from the levels above when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Unavailable>)]
    pub on_unavailable: Option<OnUnavailable>,
}

/// What the system's level is to say.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSystemLevel {
    /// The limits. There may be none when the level says something else.
    #[serde(default)]
    #[schema(value_type = Vec<LimitShape>, max_items = 16)]
    pub limits: Vec<Limit>,
    /// What to do when the store cannot be reached; `block` when nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Unavailable>)]
    pub on_unavailable: Option<OnUnavailable>,
    /// Kept for zae-limiter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_update: Option<bool>,
    /// Refuse to work with a schema of another version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict_version: Option<bool>,
}

/// What to do when the store cannot be reached.
#[derive(Debug, ToSchema)]
#[schema(as = OnUnavailable, rename_all = "snake_case")]
pub enum Unavailable {
    /// Let it pass, with a lease marked `degraded`.
    Allow,
    /// Fail.
    Block,
}

/// What a level says.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Level {
    /// Its limits, by name.
    #[schema(value_type = Vec<LimitShape>)]
    pub limits: Vec<Limit>,
    /// What to do when the store cannot be reached.
    #[schema(value_type = Option<Unavailable>)]
    pub on_unavailable: Option<OnUnavailable>,
    /// System only: kept for zae-limiter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_update: Option<bool>,
    /// System only: refuse to work with a schema of another version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict_version: Option<bool>,
    /// How often it was written.
    pub version: u64,
}

impl From<LevelConfig> for Level {
    fn from(level: LevelConfig) -> Level {
        Level {
            limits: level.limits,
            on_unavailable: level.on_unavailable,
            auto_update: level.auto_update,
            strict_version: level.strict_version,
            version: level.version,
        }
    }
}

impl From<NewLevel> for LevelConfig {
    fn from(new: NewLevel) -> LevelConfig {
        let NewLevel { limits, on_unavailable } = new;
        LevelConfig { limits, on_unavailable, ..LevelConfig::default() }
    }
}

impl From<NewSystemLevel> for LevelConfig {
    fn from(new: NewSystemLevel) -> LevelConfig {
        LevelConfig {
            limits: new.limits,
            on_unavailable: new.on_unavailable,
            auto_update: new.auto_update,
            strict_version: new.strict_version,
            version: 0,
        }
    }
}

type Tenant = Namespace<AnyBackend>;

async fn set(
    ns: &Tenant,
    at: &config::Level,
    config: LevelConfig,
    by: &str,
) -> Result<Response, LimiterError> {
    let level = Level::from(ns.set_limits(at, config, by).await?);
    Ok(match level.version {
        1 => Created(level).into_response(),
        _ => Json(level).into_response(),
    })
}

async fn read(ns: &Tenant, at: &config::Level) -> Reply<Level> {
    let level = ns.limits(at).await?;
    Ok(level.map(|level| Json(level.into())).ok_or_else(|| nothing_set(at))?)
}

async fn remove(ns: &Tenant, at: &config::Level, by: &str) -> Result<StatusCode, LimiterError> {
    if ns.delete_limits(at, by).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(nothing_set(at).into())
    }
}

fn nothing_set(at: &config::Level) -> ApiError {
    let whose = match at {
        config::Level::System => "the system".to_owned(),
        config::Level::Resource(resource) => format!("resource {resource:?}"),
        config::Level::Entity(entity, None) => format!("entity {entity:?} on all resources"),
        config::Level::Entity(entity, Some(resource)) => {
            format!("entity {entity:?} on resource {resource:?}")
        }
    };
    ApiError::not_found(format!("config for {whose}"))
}

/// Sets the limits of the system
///
/// They hold for everybody and everything that has no others. What was set before is replaced whole.
#[utoipa::path(put, path = "/v1/namespaces/{ns}/limits/system", tag = "limits",
    params(NsAt), request_body = NewSystemLevel, responses(
        (status = 200, description = "They were replaced", body = Level),
        (status = 201, description = "There were none before", body = Level)))]
pub(crate) async fn put_system(
    Ns(ns): Ns,
    By(by): By,
    Body(new): Body<NewSystemLevel>,
) -> Result<Response, LimiterError> {
    set(&ns, &config::Level::System, new.into(), &by).await
}

/// Tells the limits of the system
#[utoipa::path(get, path = "/v1/namespaces/{ns}/limits/system", tag = "limits",
    params(NsAt), responses((status = 200, body = Level)))]
pub(crate) async fn get_system(Ns(ns): Ns) -> Reply<Level> {
    read(&ns, &config::Level::System).await
}

/// Removes the limits of the system
#[utoipa::path(delete, path = "/v1/namespaces/{ns}/limits/system", tag = "limits",
    params(NsAt), responses((status = 204)))]
pub(crate) async fn remove_system(Ns(ns): Ns, By(by): By) -> Result<StatusCode, LimiterError> {
    remove(&ns, &config::Level::System, &by).await
}

/// Sets the limits of a resource
///
/// They hold for every entity that has no limits of its own. What was set before is replaced whole.
#[utoipa::path(put, path = "/v1/namespaces/{ns}/limits/resources/{r}", tag = "limits",
    params(NsAt, ResourceAt), request_body = NewLevel, responses(
        (status = 200, description = "They were replaced", body = Level),
        (status = 201, description = "There were none before", body = Level)))]
pub(crate) async fn put_resource(
    Ns(ns): Ns,
    What(resource): What,
    By(by): By,
    Body(new): Body<NewLevel>,
) -> Result<Response, LimiterError> {
    set(&ns, &config::Level::Resource(resource), new.into(), &by).await
}

/// Tells the limits of a resource
#[utoipa::path(get, path = "/v1/namespaces/{ns}/limits/resources/{r}", tag = "limits",
    params(NsAt, ResourceAt), responses((status = 200, body = Level)))]
pub(crate) async fn get_resource(Ns(ns): Ns, What(resource): What) -> Reply<Level> {
    read(&ns, &config::Level::Resource(resource)).await
}

/// Removes the limits of a resource
#[utoipa::path(delete, path = "/v1/namespaces/{ns}/limits/resources/{r}", tag = "limits",
    params(NsAt, ResourceAt), responses((status = 204)))]
pub(crate) async fn remove_resource(
    Ns(ns): Ns,
    What(resource): What,
    By(by): By,
) -> Result<StatusCode, LimiterError> {
    remove(&ns, &config::Level::Resource(resource), &by).await
}

/// Sets the limits of an entity
///
/// On a resource, or (`_default_`) on all where it has no others. What was set before is replaced whole.
#[utoipa::path(put, path = "/v1/namespaces/{ns}/limits/entities/{id}/{r}", tag = "limits",
    params(NsAt, EntityAt, ResourceOrAllAt), request_body = NewLevel, responses(
        (status = 200, description = "They were replaced", body = Level),
        (status = 201, description = "There were none before", body = Level)))]
pub(crate) async fn put_entity(
    Ns(ns): Ns,
    Who(entity): Who,
    WhatOrAll(resource): WhatOrAll,
    By(by): By,
    Body(new): Body<NewLevel>,
) -> Result<Response, LimiterError> {
    set(&ns, &config::Level::Entity(entity, resource), new.into(), &by).await
}

/// Tells the limits of an entity
#[utoipa::path(get, path = "/v1/namespaces/{ns}/limits/entities/{id}/{r}", tag = "limits",
    params(NsAt, EntityAt, ResourceOrAllAt), responses((status = 200, body = Level)))]
pub(crate) async fn get_entity(
    Ns(ns): Ns,
    Who(entity): Who,
    WhatOrAll(resource): WhatOrAll,
) -> Reply<Level> {
    read(&ns, &config::Level::Entity(entity, resource)).await
}

/// Removes the limits of an entity
#[utoipa::path(delete, path = "/v1/namespaces/{ns}/limits/entities/{id}/{r}", tag = "limits",
    params(NsAt, EntityAt, ResourceOrAllAt), responses((status = 204)))]
pub(crate) async fn remove_entity(
    Ns(ns): Ns,
    Who(entity): Who,
    WhatOrAll(resource): WhatOrAll,
    By(by): By,
) -> Result<StatusCode, LimiterError> {
    remove(&ns, &config::Level::Entity(entity, resource), &by).await
}
