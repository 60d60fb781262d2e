//! Which limits hold, and who has some.

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_limiter::config::{self, OnUnavailable};

use super::levels::Unavailable;
use super::place::{Ns, resource_or_all};
use super::shapes::{
    EntityId, EntityText, Limit, LimitShape, NsAt, Resource, ResourceOrAllText, ResourceText,
};
use crate::limiter::error::Reply;
use weir_framework::extract::Query;
use weir_framework::page::{Page, PageLimit as _, PageParams};

/// Whose limits are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Of {
    /// The entity.
    #[param(value_type = EntityText, inline)]
    entity: EntityId,
    /// The resource.
    #[param(value_type = ResourceText, inline)]
    resource: Resource,
}

/// What holds for an entity on a resource, and which level says so.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Resolved {
    /// The limits.
    #[schema(value_type = Vec<LimitShape>)]
    pub limits: Vec<Limit>,
    /// The level they come from.
    #[schema(value_type = Source)]
    pub limits_from: config::Source,
    /// What to do when the store cannot be reached.
    #[schema(value_type = Unavailable)]
    pub on_unavailable: OnUnavailable,
    /// The level that says so.
    #[schema(value_type = Source)]
    pub on_unavailable_from: config::Source,
}

/// Which level a thing comes from.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum Source {
    /// The entity's limits for the resource.
    Entity,
    /// The entity's limits for all resources.
    EntityDefault,
    /// The resource.
    Resource,
    /// The system.
    System,
    /// What the caller brought along.
    Caller,
    /// Nobody said anything: the built-in default.
    BuiltIn,
}

/// Tells which limits hold
#[utoipa::path(get, path = "/v1/namespaces/{ns}/limits/resolve", tag = "limits",
    params(NsAt, Of), responses((status = 200, body = Resolved)))]
pub(crate) async fn resolve(Ns(ns): Ns, Query(of): Query<Of>) -> Reply<Resolved> {
    let resolved = ns.resolve(&of.entity, &of.resource, None).await?;
    Ok(Json(Resolved {
        limits: resolved.limits,
        limits_from: resolved.limits_from,
        on_unavailable: resolved.on_unavailable,
        on_unavailable_from: resolved.on_unavailable_from,
    }))
}

/// Which resources are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WithLimits {
    /// Whose limits on them count.
    #[serde(default)]
    #[param(inline, required = false)]
    level: Whose,
}

/// Whose limits are meant.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(default = "resource")]
pub(crate) enum Whose {
    /// Those of the resource, for everybody.
    #[default]
    Resource,
    /// Those of entities on the resource.
    Entity,
}

/// Lists the resources that have limits
#[utoipa::path(get, path = "/v1/namespaces/{ns}/resources", tag = "limits",
    params(NsAt, WithLimits), responses((status = 200, body = Page<String>)))]
pub(crate) async fn resources(Ns(ns): Ns, Query(with): Query<WithLimits>) -> Reply<Page<String>> {
    let resources = match with.level {
        Whose::Resource => ns.resources().await?,
        Whose::Entity => ns.resources_of_entities().await?,
    };
    let items = resources.iter().map(ToString::to_string).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// Which part of the entities with limits of their own is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OnResource {
    /// The resource, or `_default_` for limits on all resources, which is also meant when it is left out.
    #[param(value_type = ResourceOrAllText, inline, required = false)]
    resource: Option<String>,
    /// How many things at most.
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the part before, as it is; another text is refused.
    #[param(format = "cursor", min_length = 1)]
    cursor: Option<String>,
}

/// Lists the entities that have limits of their own
#[utoipa::path(get, path = "/v1/namespaces/{ns}/limits/entities", tag = "limits",
    params(NsAt, OnResource), responses((status = 200, body = Page<String>)))]
pub(crate) async fn entities(Ns(ns): Ns, Query(on): Query<OnResource>) -> Reply<Page<String>> {
    let resource = on.resource.as_deref().map(resource_or_all).transpose()?.flatten();
    let part = PageParams { limit: on.limit, cursor: on.cursor };
    let limit = part.checked_limit()?;
    let (found, next_cursor) =
        ns.entities_with_limits(resource.as_ref(), limit, part.cursor).await?;
    let items = found.iter().map(ToString::to_string).collect();
    Ok(Json(Page { items, next_cursor }))
}
