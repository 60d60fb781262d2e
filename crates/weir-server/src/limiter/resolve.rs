//! The limits in force, and the entities and resources that have limits.

use axum::Json;
use weir_api::limiter::{
    ConfiguredEntitiesParams, ConfiguredResourcesParams, EffectiveLimitsParams,
    EffectiveLimitsResponse, LimitsLevel,
};

use super::convert;
use super::path::NamespacePath;
use crate::limiter::error::Reply;
use weir_framework::extract::{Query, QueryParts};
use weir_framework::page::{Page, PageLimit as _, PageParams, page_response};

/// Returns the limits in force for an entity on a resource
#[utoipa::path(get, path = "/v1/namespaces/{ns}/limits/resolve", tag = "limits",
    params(NamespacePath, EffectiveLimitsParams),
    responses((status = 200, body = EffectiveLimitsResponse)))]
pub(crate) async fn resolve(
    NamespacePath(ns): NamespacePath,
    Query(params): Query<EffectiveLimitsParams>,
) -> Reply<EffectiveLimitsResponse> {
    let entity = convert::entity_id("entity", &params.entity)?;
    let resource = convert::resource(&params.resource)?;
    Ok(Json(convert::effective_limits(ns.resolve(&entity, &resource, None).await?)))
}

/// Lists the resources that have limits
#[utoipa::path(get, path = "/v1/namespaces/{ns}/resources", tag = "limits",
    params(NamespacePath, ConfiguredResourcesParams),
    responses((status = 200, body = Page<String>)))]
pub(crate) async fn resources(
    NamespacePath(ns): NamespacePath,
    Query(params): Query<ConfiguredResourcesParams>,
) -> Reply<Page<String>> {
    let resources = match params.level {
        LimitsLevel::Resource => ns.resources().await?,
        LimitsLevel::Entity => ns.resources_of_entities().await?,
    };
    let items = resources.iter().map(ToString::to_string).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// Lists the entities that have their own limits on a resource
#[utoipa::path(get, path = "/v1/namespaces/{ns}/limits/entities", tag = "limits",
    params(NamespacePath, ConfiguredEntitiesParams, PageParams),
    responses((status = 200, body = Page<String>)))]
pub(crate) async fn entities(
    NamespacePath(ns): NamespacePath,
    QueryParts((page, params)): QueryParts<(PageParams, ConfiguredEntitiesParams)>,
) -> Reply<Page<String>> {
    let resource = params.resource.as_deref().map(convert::resource_or_all).transpose()?.flatten();
    let limit = page.checked_limit()?;
    let entities = ns.entities_with_limits(resource.as_ref(), limit, page.cursor).await?;
    Ok(page_response(entities, |entity| entity.to_string()))
}
