//! What changed levels would do, before they are written: the levels before and after, and the entities whose limits would
//! change.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Consistency, Query};

use super::cache::StoredLevel;
use super::check::check;
use super::level::LevelRef;
use super::resolve::resolve_levels;
use super::{Level, LevelConfig};
use crate::bounds::{ENTITY_BUCKETS_MAX, PAGE_MAX, PLAN_BUCKETS_MAX};
use crate::error::Result;
use crate::ids::{EntityId, Resource};
use crate::item::BucketId;
use crate::keys;
use crate::limiter::Namespace;
use crate::table::{GSI2, GSI4};

/// The effect of a change on one level.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedChange {
    /// The level.
    pub level: Level,
    /// The present config of the level, if it has one.
    pub before: Option<LevelConfig>,
    /// The config of the level after the change; none if it would be deleted.
    pub after: Option<LevelConfig>,
    /// Entities with a live bucket whose limits would change.
    pub entities: u64,
    /// Whether all live buckets were looked at; else there are at least so many entities.
    pub is_complete: bool,
}

impl PlannedChange {
    /// Whether the change would make a difference.
    #[must_use]
    pub fn is_change(&self) -> bool {
        let without_version = |config: &Option<LevelConfig>| {
            config.clone().map(|level| LevelConfig { version: 0, ..level })
        };
        without_version(&self.before) != without_version(&self.after)
    }
}

impl<B: Backend> Namespace<B> {
    /// Plans changes of levels, each on its own; none deletes a level. Flags of the system that a config leaves out stay as
    /// they are. Entities are counted if `is_counted`; else a change has at least none.
    ///
    /// # Errors
    /// A config is invalid, a level cannot be read, or the store fails.
    pub async fn plan_limits(
        &self,
        changes: Vec<(Level, Option<LevelConfig>)>,
        is_counted: bool,
    ) -> Result<Vec<PlannedChange>> {
        let mut planned = Vec::with_capacity(changes.len());
        for (level, after) in changes {
            if let Some(config) = &after {
                check(&level, config, self.limiter.settings().is_shared())?;
            }
            let before = self.limits(&level).await?;
            let after = after.map(|after| merged(after, before.as_ref()));
            let change = PlannedChange { level, before, after, entities: 0, is_complete: true };
            planned.push(match (change.is_change(), is_counted) {
                (true, true) => self.count_entities(change).await?,
                (is_change, _) => PlannedChange { is_complete: !is_change, ..change },
            });
        }
        Ok(planned)
    }

    /// Counts the entities whose limits would change.
    async fn count_entities(&self, change: PlannedChange) -> Result<PlannedChange> {
        let mut entities = BTreeSet::new();
        let is_complete = match &change.level {
            Level::Entity(entity, resource) => {
                let resources = match resource {
                    Some(resource) => vec![resource.clone()],
                    None => self.bucket_resources(entity, ENTITY_BUCKETS_MAX).await?,
                };
                let has = |resource: &Resource| self.bucket_id(entity, resource);
                let ids: Vec<BucketId> = resources.iter().map(has).collect();
                let live = self.view_buckets(&ids, self.limiter.now_ms()).await?;
                let is_live = |id: &BucketId| live.iter().any(|view| view.resource == id.resource);
                let ids: Vec<BucketId> = ids.into_iter().filter(is_live).collect();
                self.add_changed(&change, &ids, &mut entities).await?;
                true
            }
            Level::Resource(resource) => {
                let partition = keys::resource_partition(&self.id, resource);
                let query = Query::partition(self.limiter.table(), partition).index(GSI2);
                self.add_all(&change, query, &mut entities).await?
            }
            Level::System => {
                let query = Query::partition(self.limiter.table(), self.id.as_str()).index(GSI4);
                self.add_all(&change, query, &mut entities).await?
            }
        };
        Ok(PlannedChange { entities: entities.len() as u64, is_complete, ..change })
    }

    /// Adds the entities of the buckets that an index lists. Returns whether it looked at all of them.
    async fn add_all(
        &self,
        change: &PlannedChange,
        query: Query,
        entities: &mut BTreeSet<EntityId>,
    ) -> Result<bool> {
        let query = query.begins_with(keys::BUCKET_PREFIX);
        let (mut cursor, mut seen) = (None, 0);
        while seen < PLAN_BUCKETS_MAX {
            let page = self.limiter.store().page(query.clone(), PAGE_MAX, cursor).await?;
            let pks = page.items.iter().filter_map(|item| item.s("PK"));
            let firsts = pks.filter_map(keys::parse_bucket).filter(|(.., shard)| *shard == 0);
            let ids: Vec<BucketId> =
                firsts.map(|(ns, entity, resource, _)| BucketId { ns, entity, resource }).collect();
            self.add_changed(change, &ids, entities).await?;
            seen += page.items.len();
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds the entities of those buckets whose limits would change.
    async fn add_changed(
        &self,
        change: &PlannedChange,
        ids: &[BucketId],
        entities: &mut BTreeSet<EntityId>,
    ) -> Result<()> {
        let levels: BTreeSet<LevelRef<'_>> = ids.iter().flat_map(lookup_order).collect();
        let levels: Vec<&LevelRef<'_>> = levels.iter().collect();
        let mut known: HashMap<LevelRef<'_>, StoredLevel> = HashMap::new();
        for batch in levels.chunks(BATCH_GET_MAX) {
            let now_ms = self.limiter.now_ms();
            let stored = self.read_levels(batch, Consistency::Eventual, now_ms).await?;
            known.extend(batch.iter().map(|level| **level).zip(stored));
        }
        let changed = LevelRef::of(&self.id, &change.level);
        let after: StoredLevel = change.after.clone().map(|after| Ok(Arc::new(after)));
        for id in ids {
            let order = lookup_order(id);
            let present = order.map(|level| known.get(&level).cloned().flatten());
            let future = order.map(|level| match level == changed {
                true => after.clone(),
                false => known.get(&level).cloned().flatten(),
            });
            let limits = |levels| resolve_levels(levels, None).map(|resolved| resolved.limits);
            if limits(&present) != limits(&future) {
                entities.insert(id.entity.clone());
            }
        }
        Ok(())
    }
}

/// The levels that apply to a bucket, in order of precedence.
fn lookup_order(id: &BucketId) -> [LevelRef<'_>; 4] {
    LevelRef::lookup_order(&id.ns, &id.entity, &id.resource)
}

/// The config to write: the flags of the system that it leaves out are as they are now.
fn merged(after: LevelConfig, before: Option<&LevelConfig>) -> LevelConfig {
    LevelConfig {
        strict_version: after.strict_version.or(before.and_then(|level| level.strict_version)),
        auto_update: after.auto_update.or(before.and_then(|level| level.auto_update)),
        ..after
    }
}
