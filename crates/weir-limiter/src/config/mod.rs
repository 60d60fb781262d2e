//! The config: four levels of limits. The first level that has any limits applies, as a whole.
//!
//! Entity on a resource → entity on all resources → resource → system → the caller's own limits. `on_unavailable` is
//! inherited separately over the same levels.
//!
//! `resolve` finds what applies, `cache` remembers levels, `set` writes them with their `registry`, and `apply` brings live
//! buckets to changed limits.

mod apply;
mod cache;
mod check;
mod item;
mod level;
mod plan;
mod registry;
mod resolve;
mod set;

use weir_table::{Backend, Get};

pub use cache::CacheStatistics;
pub(crate) use cache::ConfigCache;
pub use plan::PlannedChange;

use crate::bucket::{Limit, Origin};
use crate::error::Result;
use crate::ids::{EntityId, Resource};
use crate::limiter::Namespace;
use level::LevelRef;

/// One level of the config.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Level {
    /// For all entities and resources.
    System,
    /// For all entities on a resource.
    Resource(Resource),
    /// For an entity, on one resource or on all (`_default_`).
    Entity(EntityId, Option<Resource>),
}

/// The decision of an acquire while the store is unreachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnUnavailable {
    /// Grants the request, with a lease marked `degraded`.
    Allow,
    /// Fails the request.
    Block,
}

impl OnUnavailable {
    fn as_str(self) -> &'static str {
        match self {
            OnUnavailable::Allow => "allow",
            OnUnavailable::Block => "block",
        }
    }
}

/// The config of one level.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LevelConfig {
    /// The limits, sorted by name. May be empty if the level sets something else.
    pub limits: Vec<Limit>,
    /// The decision of an acquire while the store is unreachable.
    pub on_unavailable: Option<OnUnavailable>,
    /// System level only: retained for zae-limiter.
    pub auto_update: Option<bool>,
    /// System level only: refuse to work with any other schema version.
    pub strict_version: Option<bool>,
    /// How often the level was written. Ignored when it is set.
    pub version: u64,
}

/// The level that a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The entity's limits on the resource.
    Entity,
    /// The entity's limits on all resources.
    EntityDefault,
    /// The limits of the resource.
    Resource,
    /// The limits of the system.
    System,
    /// The limits that the caller sent along.
    Caller,
    /// No level sets it: the built-in default.
    BuiltIn,
}

/// The config that applies to an entity on a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The limits.
    pub limits: Vec<Limit>,
    /// The level that the limits come from.
    pub limits_from: Source,
    /// The decision of an acquire while the store is unreachable.
    pub on_unavailable: OnUnavailable,
    /// The level that `on_unavailable` comes from.
    pub on_unavailable_from: Source,
}

impl Resolved {
    /// Whether unused buckets with these limits expire. Those with an entity's own limits do not.
    #[must_use]
    pub fn expires(&self) -> bool {
        !matches!(self.limits_from, Source::Entity | Source::EntityDefault)
    }

    /// Where the limits of a bucket come from that has these.
    pub(crate) fn origin(&self) -> Origin {
        if self.limits_from == Source::Caller { Origin::Caller } else { Origin::Config }
    }
}

impl<B: Backend> Namespace<B> {
    /// What to do when the store cannot be reached, from the levels as last read, however old; `Block` if none was.
    #[must_use]
    pub fn on_unavailable_cached(&self, entity: &EntityId, resource: &Resource) -> OnUnavailable {
        let cache = &self.limiter.inner.configs;
        LevelRef::lookup_order(&self.id, entity, resource)
            .into_iter()
            .find_map(|level| cache.last_read(level)?.ok()?.on_unavailable)
            .unwrap_or(OnUnavailable::Block)
    }

    /// Replaces a level. Registries, version and audit event change in the same transaction; the live buckets of an entity
    /// change at once. Returns the level as stored.
    ///
    /// # Errors
    /// The config is invalid, or the store fails.
    pub async fn set_limits(
        &self,
        level: &Level,
        config: LevelConfig,
        actor: &str,
    ) -> Result<LevelConfig> {
        let change = self.change_level(level, Some(&config), actor).await?;
        self.apply_level(level).await?;
        Ok(change.after.unwrap_or_default())
    }

    /// Reads a level from the store.
    ///
    /// # Errors
    /// The level has an attribute that this version does not know, or the store fails.
    pub async fn limits(&self, level: &Level) -> Result<Option<LevelConfig>> {
        let at = LevelRef::of(&self.id, level);
        let item = self.limiter.store().get(&Get::new(self.limiter.table(), at.key())).await?;
        item.as_ref().map(item::decode).transpose().map_err(|unknown| unknown.of(at))
    }

    /// Deletes a level. Returns whether it existed.
    ///
    /// # Errors
    /// The store fails.
    pub async fn delete_limits(&self, level: &Level, actor: &str) -> Result<bool> {
        let change = self.change_level(level, None, actor).await?;
        self.apply_level(level).await?;
        Ok(change.before.is_some())
    }

    /// Drops cached levels: those of an entity, those of a resource (entities' levels on it included), the four of an entity
    /// on a resource, or all.
    pub fn invalidate(&self, entity: Option<&EntityId>, resource: Option<&Resource>) {
        let cache = &self.limiter.inner.configs;
        if let (Some(entity), Some(resource)) = (entity, resource) {
            let levels = LevelRef::lookup_order(&self.id, entity, resource);
            return levels.into_iter().for_each(|level| cache.invalidate(level));
        }
        cache.invalidate_all(|level| {
            level.ns == self.id
                && (entity.is_none() || level.entity.as_ref() == entity)
                && (resource.is_none() || level.resource.as_ref() == resource)
        });
    }
}

/// Decodes a level.
///
/// # Errors
/// Names an attribute that this version does not know.
pub(crate) fn decode_level(item: &weir_table::Item) -> std::result::Result<LevelConfig, String> {
    item::decode(item).map_err(|unknown| unknown.0.to_string())
}
