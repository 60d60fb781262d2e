//! `…/limits/plan`: what changes of limits would do.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::limits::{OnUnavailable, RateLimit};
use super::schema::{EntityId, ResourceNameOrAll};

/// Changes of levels to plan, each on its own. Nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanLimitsRequest {
    /// Levels with their new limits.
    #[schema(min_items = 1, max_items = 100)]
    pub levels: Vec<PlannedLevel>,
    /// Whether to count the entities whose limits would change, which reads the live buckets. Without it, `entities` of a change
    /// is 0 and `is_complete` is false.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub count: bool,
}

fn yes() -> bool {
    true
}

/// A level with its new limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedLevel {
    /// Kind of the level.
    pub level: LevelKind,
    /// Resource of a resource's or an entity's level; for an entity `_default_`, the default, stands for all resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ResourceNameOrAll>)]
    pub resource: Option<String>,
    /// Entity of an entity's level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EntityId>)]
    pub entity: Option<String>,
    /// New limits of the level; `null` to delete the level.
    #[schema(max_items = 16)]
    pub limits: Option<Vec<RateLimit>>,
    /// Decision of an acquire while the store is unreachable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable>,
}

/// The kind of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LevelKind {
    /// All entities and resources.
    System,
    /// All entities on a resource.
    Resource,
    /// An entity on a resource, or on all.
    Entity,
}

/// Effect of the changes on each level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanLimitsResponse {
    /// Changes in the order of the request.
    pub changes: Vec<PlannedChange>,
}

/// Effect of a change on a level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedChange {
    /// Kind of the level.
    pub level: LevelKind,
    /// Resource of the level, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Entity of the level, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// Action on the level.
    pub action: PlannedAction,
    /// Present limits of the level; `null` when it has none.
    pub before: Option<LevelLimits>,
    /// Limits of the level after the change; `null` when it would be deleted.
    pub after: Option<LevelLimits>,
    /// Number of entities with a live bucket whose limits would change.
    pub entities: u64,
    /// Whether all live buckets were looked at; if not, there are at least as many entities.
    pub is_complete: bool,
}

/// An action on a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlannedAction {
    /// The level would be created.
    Add,
    /// The level would be replaced.
    Change,
    /// The level would be deleted.
    Remove,
    /// The level would stay as it is.
    None,
}

/// The limits of a level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LevelLimits {
    /// Limits of the level, sorted by name.
    pub limits: Vec<RateLimit>,
    /// Decision of an acquire while the store is unreachable; `null` when the level inherits it.
    pub on_unavailable: Option<OnUnavailable>,
}
