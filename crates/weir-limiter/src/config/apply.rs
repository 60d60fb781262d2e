//! Bringing live buckets to the limits that hold for them.
//!
//! Each shard is changed on its own: what it holds stays, at most up to its new share, so that no step mints, and a hot
//! bucket with many shards is not asked to stand still as a whole. A bucket that nothing resolves for any more keeps its
//! limits.

use std::collections::{BTreeSet, HashMap};

use weir_table::{Backend, Consistency, Query};

use super::cache::Said;
use super::level::LevelRef;
use super::resolve::choose;
use super::{Level, Resolved};
use crate::bounds::{APPLY_PAGE, TRIES_MAX};
use crate::bucket::{Bucket, expiry_seconds};
use crate::buckets::made;
use crate::error::{Error, Result};
use crate::ids::{EntityId, Resource};
use crate::item::BucketId;
use crate::keys;
use crate::limiter::Namespace;
use crate::retry;
use crate::table::{GSI2, GSI4};
use crate::writes::{self, Cover};

/// The shard as it is to be, if that is not how it is. `counted` says whether shards count their writes.
fn conformed(old: &Bucket, resolved: &Resolved, counted: bool, now_ms: i64) -> Option<Bucket> {
    let limits = &resolved.limits;
    // The first of several shards says how many there are, so it stays.
    let stays = !resolved.expires() || (old.shard == 0 && old.shard_count > 1);
    let has_limits = old.has_limits(limits);
    if has_limits && old.expires.is_none() == stays {
        return None;
    }
    let mut new = if has_limits { old.clone() } else { old.refilled(now_ms).with_limits(limits) };
    if counted {
        new = new.with_wcu();
    }
    new.expires = (!stays).then(|| expiry_seconds(limits, now_ms));
    Some(new)
}

impl<B: Backend> Namespace<B> {
    /// Brings the live buckets of an entity's level to what holds now. The buckets of other levels are left to the
    /// background job; what is remembered of them is forgotten.
    pub(super) async fn apply_level(&self, level: &Level) -> Result<()> {
        let known = &self.limiter.inner.known;
        let (entity, resource) = match level {
            Level::Entity(entity, resource) => (entity, resource.as_ref()),
            Level::Resource(resource) => {
                known.forget_all(&self.id, Some(resource));
                return Ok(());
            }
            Level::System => {
                known.forget_all(&self.id, None);
                return Ok(());
            }
        };
        known.forget(&self.id, entity, resource);
        let resources = match resource {
            Some(resource) => vec![resource.clone()],
            None => self.bucket_resources(entity).await?,
        };
        for resource in resources {
            self.apply_limits(entity, &resource).await?;
        }
        Ok(())
    }

    /// Brings a bucket to the limits that hold for it. Returns how many shards were changed.
    ///
    /// It looks again after each change until it finds nothing to do, so that of two who change the config at once
    /// the last one done leaves what holds.
    pub(crate) async fn apply_limits(&self, entity: &EntityId, resource: &Resource) -> Result<u64> {
        let id = self.bucket_id(entity, resource);
        let mut changed = 0;
        for _ in 0..TRIES_MAX {
            let resolved = match self.resolve_fresh(entity, resource, None).await {
                Ok(resolved) => resolved,
                Err(Error::NoLimits { .. }) => return Ok(changed),
                Err(error) => return Err(error),
            };
            let mut done = 0;
            for shard in self.read_bucket(&id).await? {
                done += u64::from(self.conform(&id, shard, &resolved).await?);
            }
            if done == 0 {
                return Ok(changed);
            }
            changed += done;
        }
        Err(Error::Contended)
    }

    /// Brings the live buckets of a resource to the limits that hold for them, a page of them. Returns how many shards were
    /// changed, and where to go on.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn apply_limits_to_resource(
        &self,
        resource: &Resource,
        cursor: Option<String>,
    ) -> Result<(u64, Option<String>)> {
        let partition = keys::resource_partition(&self.id, resource);
        let query = Query::partition(self.limiter.table(), partition).index(GSI2);
        self.apply_page(query, cursor).await
    }

    /// Brings all live buckets of the namespace to the limits that hold for them, a page of them. Returns how many shards
    /// were changed, and where to go on.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn apply_limits_to_all(
        &self,
        cursor: Option<String>,
    ) -> Result<(u64, Option<String>)> {
        let query = Query::partition(self.limiter.table(), self.id.as_str()).index(GSI4);
        self.apply_page(query, cursor).await
    }

    /// Three reads for a page, and a write for each shard that is not as it should be.
    async fn apply_page(
        &self,
        query: Query,
        cursor: Option<String>,
    ) -> Result<(u64, Option<String>)> {
        let query = query.begins_with(keys::BUCKET_PREFIX);
        let page = self.limiter.page(query, APPLY_PAGE, cursor).await?;
        let pks = page.items.iter().filter_map(|item| item.s("PK"));
        let shards: Vec<(BucketId, u32)> = pks
            .filter_map(keys::parse_bucket)
            .map(|(ns, entity, resource, shard)| (BucketId { ns, entity, resource }, shard))
            .collect();
        let levels = self.levels_of(&shards).await?;
        let gets = shards.iter().map(|(id, shard)| self.get_shard(id, *shard)).collect();
        let mut changed = 0;
        for ((id, _), shard) in shards.iter().zip(self.read_shards(gets).await?) {
            let said = LevelRef::asked(&id.ns, &id.entity, &id.resource)
                .map(|level| levels.get(&level).cloned().flatten());
            if let (Some(shard), Some(resolved)) = (shard, choose(&said, None)) {
                changed += u64::from(self.conform(id, shard, &resolved).await?);
            }
        }
        Ok((changed, page.cursor))
    }

    /// What the levels of some buckets say, each read once, strongly.
    async fn levels_of<'a>(
        &self,
        shards: &'a [(BucketId, u32)],
    ) -> Result<HashMap<LevelRef<'a>, Said>> {
        let asked =
            |(id, _): &'a (BucketId, u32)| LevelRef::asked(&id.ns, &id.entity, &id.resource);
        let levels: BTreeSet<LevelRef<'a>> = shards.iter().flat_map(asked).collect();
        if levels.is_empty() {
            return Ok(HashMap::new());
        }
        let levels: Vec<&LevelRef<'a>> = levels.iter().collect();
        let said = self.read_levels(&levels, Consistency::Strong, self.limiter.now_ms()).await?;
        Ok(levels.into_iter().copied().zip(said).collect())
    }

    /// Brings a shard, as it was read, to the limits that hold for it. Tells whether it had to be changed.
    async fn conform(&self, id: &BucketId, shard: Bucket, resolved: &Resolved) -> Result<bool> {
        let counted = self.limiter.settings().sharded;
        let number = shard.shard;
        let mut read = Some(shard);
        for attempt in 0..TRIES_MAX {
            if attempt > 0 {
                retry::pause(attempt).await;
                let get = self.get_shard(id, number);
                read = self.limiter.store().get(&get).await?.as_ref().and_then(made);
            }
            let now_ms = self.limiter.now_ms();
            let Some(old) = read.take().filter(|shard| !shard.is_expired(now_ms)) else {
                return Ok(false);
            };
            let Some(new) = conformed(&old, resolved, counted, now_ms) else { return Ok(false) };
            // What a lower capacity cuts off must still be there: nobody gets into debt by it.
            let write = writes::change(self.limiter.table(), id, &old, &new, Cover::Needed);
            if self.limiter.try_write(write).await? {
                self.forget_bucket(&id.entity, &id.resource);
                return Ok(true);
            }
        }
        Err(Error::Contended)
    }

    /// What this process remembers of a bucket no longer holds.
    pub(crate) fn forget_bucket(&self, entity: &EntityId, resource: &Resource) {
        self.limiter.inner.known.forget(&self.id, entity, Some(resource));
    }
}
