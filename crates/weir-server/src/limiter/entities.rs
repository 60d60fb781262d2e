//! Who is limited.

use crate::limiter::error::LimiterError;
use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_limiter::entities;

use super::place::{By, Ns, Who};
use super::shapes::{EntityAt, EntityId, EntityText, NsAt, time};
use crate::limiter::error::Reply;
use weir_framework::error::ApiError;
use weir_framework::extract::{Body, Query};
use weir_framework::page::{Page, PageLimit as _, PageParams};
use weir_framework::prelude::Created;

/// An entity as it is to be.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEntity {
    /// Its name, for people; the id when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 256)]
    pub name: Option<String>,
    /// Its parent, which has none itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EntityText>)]
    pub parent: Option<EntityId>,
    /// Whether every acquire also takes from the parent.
    #[serde(default)]
    #[schema(default = false)]
    pub cascade: bool,
    /// What else is to be known about it: up to 32 texts of up to 1024 characters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(schema_with = metadata)]
    pub metadata: BTreeMap<String, String>,
}

fn metadata() -> utoipa::openapi::schema::Schema {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    let text = |least, most| {
        let text = ObjectBuilder::new().schema_type(Type::String);
        text.min_length(Some(least)).max_length(Some(most))
    };
    ObjectBuilder::new()
        .property_names(Some(text(1, 64).build()))
        .additional_properties(Some(text(0, 1024)))
        .max_properties(Some(32))
        .into()
}

/// An entity.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Entity {
    /// Its id.
    #[schema(value_type = String)]
    pub id: EntityId,
    /// Its name, for people.
    pub name: String,
    /// Its parent.
    #[schema(value_type = Option<String>)]
    pub parent: Option<EntityId>,
    /// Whether every acquire also takes from the parent.
    pub cascade: bool,
    /// What else is known about it.
    pub metadata: BTreeMap<String, String>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// How often it was written.
    pub version: u64,
}

impl From<entities::Entity> for Entity {
    fn from(entity: entities::Entity) -> Entity {
        Entity {
            id: entity.id,
            name: entity.name,
            parent: entity.parent,
            cascade: entity.cascade,
            metadata: entity.metadata,
            created_at: time(entity.created_ms),
            updated_at: time(entity.updated_ms),
            version: entity.version,
        }
    }
}

fn page(found: (Vec<entities::Entity>, Option<String>)) -> Json<Page<Entity>> {
    let items = found.0.into_iter().map(Entity::from).collect();
    Json(Page { items, next_cursor: found.1 })
}

/// Makes or replaces an entity
#[utoipa::path(put, path = "/v1/namespaces/{ns}/entities/{id}", tag = "entities",
    params(NsAt, EntityAt), request_body = NewEntity, responses(
        (status = 200, description = "It was replaced", body = Entity),
        (status = 201, description = "It was made", body = Entity)))]
pub(crate) async fn put(
    Ns(ns): Ns,
    Who(id): Who,
    By(by): By,
    Body(new): Body<NewEntity>,
) -> Result<Response, LimiterError> {
    if new.name.as_ref().is_some_and(String::is_empty) {
        return Err(ApiError::invalid("name", "is empty; leave it out to use the id").into());
    }
    let new = entities::NewEntity {
        name: new.name.unwrap_or_else(|| id.to_string()),
        parent: new.parent,
        cascade: new.cascade,
        metadata: new.metadata,
    };
    let (entity, is_new) = ns.put_entity(&id, new, &by).await?;
    let entity = Entity::from(entity);
    Ok(if is_new { Created(entity).into_response() } else { Json(entity).into_response() })
}

/// Tells about an entity
#[utoipa::path(get, path = "/v1/namespaces/{ns}/entities/{id}", tag = "entities",
    params(NsAt, EntityAt), responses((status = 200, body = Entity)))]
pub(crate) async fn get(Ns(ns): Ns, Who(id): Who) -> Reply<Entity> {
    Ok(Json(ns.entity(&id).await?.into()))
}

/// Removes an entity
///
/// Its limits and buckets go with it; usage and audit stay. One that has children is refused.
#[utoipa::path(delete, path = "/v1/namespaces/{ns}/entities/{id}", tag = "entities",
    params(NsAt, EntityAt), responses((status = 204)))]
pub(crate) async fn remove(
    Ns(ns): Ns,
    Who(id): Who,
    By(by): By,
) -> Result<StatusCode, LimiterError> {
    ns.delete_entity(&id, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists entities
#[utoipa::path(get, path = "/v1/namespaces/{ns}/entities", tag = "entities",
    params(NsAt, PageParams), responses((status = 200, body = Page<Entity>)))]
pub(crate) async fn list(Ns(ns): Ns, Query(part): Query<PageParams>) -> Reply<Page<Entity>> {
    Ok(page(ns.entities(part.checked_limit()?, part.cursor).await?))
}

/// Lists the children of an entity
#[utoipa::path(get, path = "/v1/namespaces/{ns}/entities/{id}/children", tag = "entities",
    params(NsAt, EntityAt, PageParams), responses((status = 200, body = Page<Entity>)))]
pub(crate) async fn children(
    Ns(ns): Ns,
    Who(id): Who,
    Query(part): Query<PageParams>,
) -> Reply<Page<Entity>> {
    Ok(page(ns.children(&id, part.checked_limit()?, part.cursor).await?))
}

/// A parent to have, or none.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewParent {
    /// The parent, or `null` for none.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(value_type = Option<EntityText>, required)]
    pub parent: Option<EntityId>,
}

/// Gives an entity another parent, or none
#[utoipa::path(put, path = "/v1/namespaces/{ns}/entities/{id}/parent", tag = "entities",
    params(NsAt, EntityAt), request_body = NewParent, responses((status = 200, body = Entity)))]
pub(crate) async fn set_parent(
    Ns(ns): Ns,
    Who(id): Who,
    By(by): By,
    Body(new): Body<NewParent>,
) -> Reply<Entity> {
    Ok(Json(ns.set_parent(&id, new.parent.as_ref(), &by).await?.into()))
}
