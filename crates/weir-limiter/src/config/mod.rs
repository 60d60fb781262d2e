//! Whose limits hold: four levels, and the first that has any is used whole.
//!
//! entity on a resource → entity on all resources → resource → system → what the caller brought along.
//! `on_unavailable` is inherited separately down the same levels.

mod apply;
mod cache;
mod check;
mod item;
mod level;
mod registry;
mod resolve;
mod set;

use serde::{Deserialize, Serialize};
use weir_table::{Backend, Get};

pub use cache::{Cache, CacheStatistics};

use crate::bucket::Limit;
use crate::error::Result;
use crate::ids::{EntityId, Resource};
use crate::limiter::{Limiter, Namespace};
use level::LevelRef;

/// One level of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Level {
    /// For everybody and everything.
    System,
    /// For everybody on a resource.
    Resource(Resource),
    /// For an entity, on a resource or on all of them (`_default_`).
    Entity(EntityId, Option<Resource>),
}

/// What to do when the store cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnavailable {
    /// Let it pass, with a lease marked `degraded`.
    Allow,
    /// Fail.
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

/// What a level says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LevelConfig {
    /// Its limits, by name. May be empty when it says something else.
    pub limits: Vec<Limit>,
    /// What to do when the store cannot be reached.
    pub on_unavailable: Option<OnUnavailable>,
    /// System level only: kept for zae-limiter.
    pub auto_update: Option<bool>,
    /// System level only: refuse to work with a schema of another version.
    pub strict_version: Option<bool>,
    /// How often the level was written. Zero in what is to be written.
    pub version: u64,
}

/// Which level a thing came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// What holds for an entity on a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The limits.
    pub limits: Vec<Limit>,
    /// Where they come from.
    pub limits_from: Source,
    /// What to do when the store cannot be reached.
    pub on_unavailable: OnUnavailable,
    /// Where that comes from.
    pub on_unavailable_from: Source,
}

impl Resolved {
    /// Whether buckets of these limits can be forgotten when they are unused: those of an entity's own limits cannot.
    #[must_use]
    pub fn expires(&self) -> bool {
        !matches!(self.limits_from, Source::Entity | Source::EntityDefault)
    }
}

impl<B: Backend> Limiter<B> {
    /// How the memory of config levels did in this process.
    #[must_use]
    pub fn config_cache(&self) -> CacheStatistics {
        self.inner.configs.statistics(self.now_ms())
    }
}

impl<B: Backend> Namespace<B> {
    /// What holds for an entity on a resource: from the cache, or with one batch get of what is not in it
    /// (eventually consistent). `own` are the caller's own limits, which hold when no level has any.
    ///
    /// # Errors
    /// Nobody has limits for this (`Error::NoLimits`), or the store fails.
    pub async fn resolve(
        &self,
        entity: &EntityId,
        resource: &Resource,
        own: Option<&[Limit]>,
    ) -> Result<Resolved> {
        self.resolve_at(entity, resource, own, self.limiter.now_ms()).await
    }

    /// What of it is in the cache and not older than it may be, without asking the store. Nothing when one of the four levels is not.
    #[must_use]
    pub fn resolve_cached(
        &self,
        entity: &EntityId,
        resource: &Resource,
        own: Option<&[Limit]>,
    ) -> Option<Resolved> {
        self.resolve_remembered(entity, resource, own, self.limiter.now_ms())
    }

    /// What to do when the store cannot be reached, from what was last seen of the levels, however old; `Block` when
    /// nothing was.
    #[must_use]
    pub fn on_unavailable_cached(&self, entity: &EntityId, resource: &Resource) -> OnUnavailable {
        let cache = &self.limiter.inner.configs;
        LevelRef::asked(&self.id, entity, resource)
            .into_iter()
            .find_map(|level| cache.last_seen(level)?.on_unavailable)
            .unwrap_or(OnUnavailable::Block)
    }

    /// Sets a level, whole. Registries, version and audit change in the same transaction; live buckets of an entity
    /// level change at once. Returns what it is now.
    ///
    /// # Errors
    /// The limits are wrong, or the store fails.
    pub async fn set_limits(
        &self,
        level: &Level,
        config: LevelConfig,
        by: &str,
    ) -> Result<LevelConfig> {
        let change = self.change_level(level, Some(&config), by).await?;
        self.apply_level(level).await?;
        Ok(change.after.unwrap_or_default())
    }

    /// What a level says, if it says anything. Read from the store.
    ///
    /// # Errors
    /// The store fails.
    pub async fn limits(&self, level: &Level) -> Result<Option<LevelConfig>> {
        let key = LevelRef::of(&self.id, level).stored();
        let item = self.limiter.store().get(&Get::new(self.limiter.table(), key)).await?;
        Ok(item.as_ref().map(item::decode))
    }

    /// Removes a level. Tells whether there was one.
    ///
    /// # Errors
    /// The store fails.
    pub async fn delete_limits(&self, level: &Level, by: &str) -> Result<bool> {
        let change = self.change_level(level, None, by).await?;
        self.apply_level(level).await?;
        Ok(change.before.is_some())
    }

    /// Resources that have limits for everybody, sorted.
    ///
    /// # Errors
    /// The store fails.
    pub async fn resources(&self) -> Result<Vec<Resource>> {
        self.registered_resources().await
    }

    /// Resources on which entities have limits of their own, sorted. They need not have limits themselves.
    ///
    /// # Errors
    /// The store fails.
    pub async fn resources_of_entities(&self) -> Result<Vec<Resource>> {
        self.registered_entity_resources().await
    }

    /// Entities that have limits of their own on a resource (or on all: nothing), a page of them, and where to go on.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn entities_with_limits(
        &self,
        resource: Option<&Resource>,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<(Vec<EntityId>, Option<String>)> {
        self.registered_entities(resource, limit, cursor).await
    }

    /// Forgets what is remembered of the config: the levels of an entity, those of a resource (entities' on it included), all
    /// four that are asked for an entity on a resource, or everything.
    pub fn invalidate(&self, entity: Option<&EntityId>, resource: Option<&Resource>) {
        let cache = &self.limiter.inner.configs;
        if let (Some(entity), Some(resource)) = (entity, resource) {
            let levels = LevelRef::asked(&self.id, entity, resource);
            return levels.into_iter().for_each(|level| cache.forget(level));
        }
        cache.forget_all(|level| {
            level.ns == self.id
                && (entity.is_none() || level.entity.as_ref() == entity)
                && (resource.is_none() || level.resource.as_ref() == resource)
        });
    }
}
