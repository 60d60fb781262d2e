//! The buckets that a process remembers: the shards as last observed, and the last refusal.
//!
//! An entry is a guess. Whatever a take relies on in it is a condition of the write, and a refused write returns the item.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use weir_table::Key;

use super::prepared::PreparedTake;
use super::refusal::CachedRefusal;
use super::take::TakeShape;
use crate::bounds::{CACHED_BUCKETS_MAX, PREPARED_TAKES_MAX};
use crate::bucket::Bucket;
use crate::ids::{EntityId, NamespaceId, Resource};
use crate::item::BucketId;

/// Where the versions of the next cached bucket begin. One that is dropped and cached again has no version twice.
static FIRST_VERSION: AtomicU64 = AtomicU64::new(0);
/// Changes of a cached bucket until the versions of the next one begin.
const VERSIONS_MAX: u64 = 1 << 32;

/// A bucket as this process last observed it.
#[derive(Debug)]
pub(crate) struct CachedBucket {
    observed: Mutex<Observed>,
    refusal: Mutex<Option<Arc<CachedRefusal>>>,
    /// Held by who refills the bucket, so that others of this process wait for the refill instead of failing because of it.
    pub(super) refilling: tokio::sync::Mutex<()>,
    /// The prepared takes that were last used on this bucket, without and with a refill.
    pub(super) prepared_takes: Mutex<[Option<Arc<PreparedTake>>; 2]>,
    /// The key of the first shard.
    pub(super) key: OnceLock<Key>,
}

#[derive(Debug)]
struct Observed {
    /// The shard that was observed last.
    latest: Arc<Bucket>,
    /// The shards by number, as far as they were observed with the same count.
    shards: Vec<Option<Arc<Bucket>>>,
    /// Counts the changes that this process made or observed.
    version: u64,
}

impl Observed {
    fn set(&mut self, bucket: Arc<Bucket>) {
        if bucket.shard_count != self.latest.shard_count {
            self.shards.clear();
        }
        let shard = bucket.shard as usize;
        if self.shards.len() <= shard {
            self.shards.resize(shard + 1, None);
        }
        if let Some(known) = self.shards.get_mut(shard) {
            *known = Some(Arc::clone(&bucket));
        }
        self.latest = bucket;
        self.version += 1;
    }
}

impl CachedBucket {
    fn new(bucket: Arc<Bucket>) -> CachedBucket {
        let latest = Arc::clone(&bucket);
        let version = FIRST_VERSION.fetch_add(VERSIONS_MAX, Ordering::Relaxed);
        let mut observed = Observed { latest, shards: Vec::new(), version };
        observed.set(bucket);
        CachedBucket {
            observed: Mutex::new(observed),
            refusal: Mutex::new(None),
            refilling: tokio::sync::Mutex::default(),
            prepared_takes: Mutex::default(),
            key: OnceLock::new(),
        }
    }

    /// Remembers a shard that was read or written.
    pub(crate) fn observe(&self, bucket: Arc<Bucket>) {
        self.observed.lock().set(bucket);
    }

    /// The shard that was observed last.
    pub(crate) fn latest(&self) -> Arc<Bucket> {
        Arc::clone(&self.observed.lock().latest)
    }

    /// The shard that was observed last, and the version of the bucket.
    pub(super) fn latest_and_version(&self) -> (Arc<Bucket>, u64) {
        let observed = self.observed.lock();
        (Arc::clone(&observed.latest), observed.version)
    }

    /// A shard as it was last observed.
    pub(crate) fn shard(&self, shard: u32) -> Option<Arc<Bucket>> {
        self.observed.lock().shards.get(shard as usize)?.clone()
    }

    /// Changes whenever this process changes the bucket or observes a change.
    pub(crate) fn version(&self) -> u64 {
        self.observed.lock().version
    }

    /// The last refusal.
    pub(crate) fn refusal(&self) -> Option<Arc<CachedRefusal>> {
        self.refusal.lock().clone()
    }
}

/// The buckets that a process remembers, and the takes it has prepared.
pub(crate) struct BucketCache {
    buckets: Cache<BucketId, Arc<CachedBucket>>,
    /// Prepared takes by shape; buckets share them.
    pub(super) prepared_takes: Cache<TakeShape, Arc<PreparedTake>>,
}

impl BucketCache {
    pub(crate) fn new() -> BucketCache {
        BucketCache {
            buckets: Cache::new(CACHED_BUCKETS_MAX),
            prepared_takes: Cache::new(PREPARED_TAKES_MAX),
        }
    }

    pub(crate) fn get(&self, id: &BucketId) -> Option<Arc<CachedBucket>> {
        self.buckets.get(id)
    }

    /// The version of a bucket, if it is remembered.
    pub(super) fn version(&self, id: &BucketId) -> Option<u64> {
        Some(self.get(id)?.version())
    }

    /// Remembers shards that the store returned to a request which began when the bucket had the version `since`. Returns the
    /// new version, if this process knows of no change in between.
    pub(super) fn observe_since(
        &self,
        id: &BucketId,
        since: Option<u64>,
        shards: impl IntoIterator<Item = Bucket>,
    ) -> Option<u64> {
        let is_newest = since.is_some() && self.version(id) == since;
        shards.into_iter().for_each(|shard| self.observe(id, shard));
        self.version(id).filter(|_| is_newest)
    }

    /// Remembers a shard that was read or written.
    pub(crate) fn observe(&self, id: &BucketId, bucket: impl Into<Arc<Bucket>>) {
        match self.buckets.get(id) {
            Some(cached) => cached.observe(bucket.into()),
            None => {
                let cached = CachedBucket::new(bucket.into());
                self.buckets.insert(id.clone(), Arc::new(cached));
            }
        }
    }

    /// Notes that this process may have changed a bucket, so that no remembered refusal of it applies any more.
    pub(crate) fn changed(&self, id: &BucketId) {
        if let Some(cached) = self.buckets.get(id) {
            cached.observed.lock().version += 1;
        }
    }

    /// Remembers a refusal, so that repeats are refused without the store.
    pub(crate) fn remember_refusal(&self, id: &BucketId, refusal: CachedRefusal) {
        if let Some(cached) = self.buckets.get(id) {
            *cached.refusal.lock() = Some(Arc::new(refusal));
        }
    }

    /// Drops a bucket, or all buckets of an entity.
    pub(crate) fn invalidate(
        &self,
        ns: &NamespaceId,
        entity: &EntityId,
        resource: Option<&Resource>,
    ) {
        match resource {
            Some(resource) => {
                let (ns, entity) = (ns.clone(), entity.clone());
                self.buckets.remove(&BucketId { ns, entity, resource: resource.clone() });
            }
            None => self.buckets.retain(|id, _| id.ns != *ns || id.entity != *entity),
        }
    }

    /// Drops all buckets of a namespace, on one resource or on all.
    pub(crate) fn invalidate_all(&self, ns: &NamespaceId, resource: Option<&Resource>) {
        self.buckets.retain(|id, _| id.ns != *ns || resource.is_some_and(|r| id.resource != *r));
    }
}
