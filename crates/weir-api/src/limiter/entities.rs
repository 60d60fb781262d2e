//! Entities, the users, keys or projects that are limited: `…/entities/…`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::schema::{EntityId, metadata};

/// A new or replaced entity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PutEntityRequest {
    /// Display name of the entity; the id by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 256)]
    pub name: Option<String>,
    /// Parent of the entity; a parent has no parent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EntityId>)]
    pub parent: Option<String>,
    /// Whether every acquire also takes from the parent's bucket.
    #[serde(default)]
    #[schema(default = false)]
    pub cascade: bool,
    /// Labels of the entity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(schema_with = metadata)]
    pub metadata: BTreeMap<String, String>,
}

/// An entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntityResponse {
    /// Id of the entity.
    pub id: String,
    /// Display name of the entity.
    pub name: String,
    /// Parent of the entity.
    pub parent: Option<String>,
    /// Whether every acquire also takes from the parent's bucket.
    pub cascade: bool,
    /// Labels of the entity.
    pub metadata: BTreeMap<String, String>,
    /// Time at which the entity was created.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time at which the entity was last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Number of times the entity was written.
    pub version: u64,
}

/// The new parent of an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetParentRequest {
    /// New parent of the entity; `null` removes it.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(value_type = Option<EntityId>, required)]
    pub parent: Option<String>,
}

/// Which entities to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EntitiesParams {
    /// Text that the ids of listed entities begin with.
    #[param(value_type = EntityId, inline, required = false)]
    pub prefix: Option<String>,
}
