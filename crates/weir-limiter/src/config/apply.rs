//! Brings live buckets to the limits that apply to them.
//!
//! Each shard is changed on its own: its balance stays, up to its new share, so no step mints, and a hot bucket with many
//! shards need not stand still as a whole. A bucket to which no limits apply any more is marked, so that requests get the
//! error that they would get without it.

use std::collections::{BTreeSet, HashMap};

use weir_table::{Backend, Consistency, Query};

use super::cache::StoredLevel;
use super::level::LevelRef;
use super::resolve::resolve_levels;
use super::{Level, Resolved};
use crate::bounds::{APPLY_PAGE, ENTITY_BUCKETS_MAX, LEASE_TTL_MAX_MS, TRIES_MAX};
use crate::bucket::{Bucket, Origin};
use crate::buckets::decode_bucket;
use crate::error::{Error, Result};
use crate::ids::{EntityId, Resource};
use crate::item::BucketId;
use crate::keys;
use crate::limiter::Namespace;
use crate::retry;
use crate::table::{GSI2, GSI4};
use crate::writes::{self, Cover};

/// The shard with the resolved limits, if it differs. `meters_writes` says whether shards meter their writes.
fn with_resolved_limits(
    old: &Bucket,
    resolved: &Resolved,
    meters_writes: bool,
    now_ms: i64,
) -> Option<Bucket> {
    let limits = &resolved.limits;
    // The first of several shards stores their number, so it never expires.
    let stays = !resolved.expires() || (old.shard == 0 && old.shard_count > 1);
    let has_limits = old.has_limits(limits);
    if has_limits && old.expires.is_none() == stays && old.origin == Origin::Config {
        return None;
    }
    let mut new = if has_limits { old.clone() } else { old.refilled(now_ms).with_limits(limits) };
    if meters_writes {
        new = new.with_wcu();
    }
    new.keep_alive(stays, leases_ms(old), now_ms);
    new.origin = Origin::Config;
    Some(new)
}

/// The shard of a bucket to which no limits of the config apply any more, if it had some: nobody may take from it, and it
/// remembers its balances until they are full.
fn without_limits(old: &Bucket, now_ms: i64) -> Option<Bucket> {
    let mut new = Bucket { origin: Origin::Nowhere, ..old.clone() };
    new.keep_alive(old.shard == 0 && old.shard_count > 1, leases_ms(old), now_ms);
    (old.origin == Origin::Config).then_some(new)
}

/// How long leases may last for which no expiry was set, because the shard had none.
fn leases_ms(shard: &Bucket) -> i64 {
    if shard.expires.is_none() { LEASE_TTL_MAX_MS } else { 0 }
}

impl<B: Backend> Namespace<B> {
    /// Brings the live buckets of an entity's level up to date. The buckets of other levels are left to the propagation job;
    /// they are dropped from the cache.
    pub(super) async fn apply_level(&self, level: &Level) -> Result<()> {
        let cache = &self.limiter.inner.bucket_cache;
        let (entity, resource) = match level {
            Level::Entity(entity, resource) => (entity, resource.as_ref()),
            Level::Resource(resource) => {
                cache.invalidate_all(&self.id, Some(resource));
                return Ok(());
            }
            Level::System => {
                cache.invalidate_all(&self.id, None);
                return Ok(());
            }
        };
        cache.invalidate(&self.id, entity, resource);
        let resources = match resource {
            Some(resource) => vec![resource.clone()],
            None => self.bucket_resources(entity, ENTITY_BUCKETS_MAX).await?,
        };
        for resource in resources {
            self.apply_limits(entity, &resource).await?;
        }
        Ok(())
    }

    /// Brings a bucket to the limits that apply to it. Returns how many shards changed.
    ///
    /// Repeats until nothing changes, so that of two concurrent config changes the last one wins.
    pub(crate) async fn apply_limits(&self, entity: &EntityId, resource: &Resource) -> Result<u64> {
        let id = self.bucket_id(entity, resource);
        let mut changed = 0;
        for _ in 0..TRIES_MAX {
            let resolved = match self.resolve_from_store(entity, resource, None).await {
                Ok(resolved) => Some(resolved),
                Err(Error::NoLimits { .. }) => None,
                Err(error) => return Err(error),
            };
            let mut updated = 0;
            for shard in self.limiter.read_bucket(&id).await? {
                updated += u64::from(self.apply_to_shard(&id, shard, resolved.as_ref()).await?);
            }
            if updated == 0 {
                return Ok(changed);
            }
            changed += updated;
        }
        Err(Error::Contended)
    }

    /// Brings one page of a resource's live buckets to the limits that apply to them. Returns how many shards changed, and the
    /// cursor of the next page.
    ///
    /// # Errors
    /// The cursor belongs to another list, or the store fails.
    pub async fn apply_limits_to_resource(
        &self,
        resource: &Resource,
        cursor: Option<String>,
    ) -> Result<(u64, Option<String>)> {
        let partition = keys::resource_partition(&self.id, resource);
        let query = Query::partition(self.limiter.table(), partition).index(GSI2);
        self.apply_page(query, cursor).await
    }

    /// Brings one page of the namespace's live buckets to the limits that apply to them. Returns how many shards changed, and
    /// the cursor of the next page.
    ///
    /// # Errors
    /// The cursor belongs to another list, or the store fails.
    pub async fn apply_limits_to_all(
        &self,
        cursor: Option<String>,
    ) -> Result<(u64, Option<String>)> {
        let query = Query::partition(self.limiter.table(), self.id.as_str()).index(GSI4);
        self.apply_page(query, cursor).await
    }

    /// Three reads for a page, and a write for each shard that is out of date.
    async fn apply_page(
        &self,
        query: Query,
        cursor: Option<String>,
    ) -> Result<(u64, Option<String>)> {
        let query = query.begins_with(keys::BUCKET_PREFIX);
        let page = self.limiter.store().page(query, APPLY_PAGE, cursor).await?;
        let pks = page.items.iter().filter_map(|item| item.s("PK"));
        let shards: Vec<(BucketId, u32)> = pks
            .filter_map(keys::parse_bucket)
            .map(|(ns, entity, resource, shard)| (BucketId { ns, entity, resource }, shard))
            .collect();
        let levels = self.levels_of(&shards).await?;
        let gets = shards.iter().map(|(id, shard)| self.get_shard(id, *shard)).collect();
        let mut changed = 0;
        for ((id, _), shard) in shards.iter().zip(self.read_shards(gets).await?) {
            let stored = LevelRef::lookup_order(&id.ns, &id.entity, &id.resource)
                .map(|level| levels.get(&level).cloned().flatten());
            if stored.iter().any(|level| matches!(level, Some(Err(_)))) {
                // Nobody can say which limits apply; the requests of its entity get the error.
                continue;
            }
            let resolved = resolve_levels(&stored, None);
            if let Some(shard) = shard {
                changed += u64::from(self.apply_to_shard(id, shard, resolved.as_ref()).await?);
            }
        }
        Ok((changed, page.cursor))
    }

    /// The config levels of some buckets, each read once, strongly consistent.
    async fn levels_of<'a>(
        &self,
        shards: &'a [(BucketId, u32)],
    ) -> Result<HashMap<LevelRef<'a>, StoredLevel>> {
        let lookup_order =
            |(id, _): &'a (BucketId, u32)| LevelRef::lookup_order(&id.ns, &id.entity, &id.resource);
        let levels: BTreeSet<LevelRef<'a>> = shards.iter().flat_map(lookup_order).collect();
        if levels.is_empty() {
            return Ok(HashMap::new());
        }
        let levels: Vec<&LevelRef<'a>> = levels.iter().collect();
        let stored = self.read_levels(&levels, Consistency::Strong, self.limiter.now_ms()).await?;
        Ok(levels.into_iter().copied().zip(stored).collect())
    }

    /// Brings a shard, as it was read, to the resolved limits. Returns whether it changed.
    async fn apply_to_shard(
        &self,
        id: &BucketId,
        shard: Bucket,
        resolved: Option<&Resolved>,
    ) -> Result<bool> {
        let meters_writes = self.limiter.settings().sharded;
        let number = shard.shard;
        let mut read = Some(shard);
        for attempt in 0..TRIES_MAX {
            if attempt > 0 {
                retry::pause(attempt).await;
                let get = self.get_shard(id, number);
                read = self.limiter.store().get(&get).await?.as_ref().and_then(decode_bucket);
            }
            let now_ms = self.limiter.now_ms();
            let Some(old) = read.take().filter(|shard| !shard.is_expired(now_ms)) else {
                return Ok(false);
            };
            if let Err(error) = old.clone().known(id) {
                tracing::warn!(%error, "a bucket keeps its limits");
                return Ok(false);
            }
            let old = self.limiter.whole_shard(id, old).await?;
            let new = match resolved {
                Some(resolved) => with_resolved_limits(&old, resolved, meters_writes, now_ms),
                None => without_limits(&old, now_ms),
            };
            let Some(new) = new else { return Ok(false) };
            // A lower capacity cuts off only tokens that are still available: it never causes a debt.
            let write = writes::change(self.limiter.table(), id, &old, &new, Cover::Required);
            // A level may have been deleted, which a nearly full disk accepts; this is the rest of it.
            if self.limiter.try_write(write.essential()).await? {
                self.invalidate_bucket(&id.entity, &id.resource);
                return Ok(true);
            }
        }
        Err(Error::Contended)
    }

    /// Drops a bucket from the cache.
    pub(crate) fn invalidate_bucket(&self, entity: &EntityId, resource: &Resource) {
        self.limiter.inner.bucket_cache.invalidate(&self.id, entity, Some(resource));
    }
}
