//! The buckets that a process remembers: enough to take from one without reading it first, and its last refusal.
//!
//! An entry is a guess. Whatever can be wrong in it (cascade, shards, limits) is a condition of the write, or shows in the
//! item that the write returns.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use weir_table::Key;

use super::prepared::PreparedTake;
use super::refusal::CachedRefusal;
use super::take::TakeShape;
use crate::bounds::{CACHED_BUCKETS_MAX, EXPIRY_FILLS, PREPARED_TAKES_MAX};
use crate::bucket::{Bucket, MILLI, expiry_after};
use crate::ids::{EntityId, LimitName, NamespaceId, Resource};
use crate::item::BucketId;

/// A bucket as this process last observed it, without its balances.
#[derive(Debug)]
pub(crate) struct CachedBucket {
    /// Whether the parent pays too.
    pub(crate) cascade: bool,
    /// The parent entity.
    pub(crate) parent: Option<EntityId>,
    /// Number of shards.
    pub(crate) shard_count: u32,
    /// Names of the limits, without the write limit.
    pub(crate) limits: Vec<LimitName>,
    /// How long the bucket lives unused; none if it never expires.
    pub(crate) lifetime_ms: Option<i64>,
    /// When the bucket expires, in seconds since 1970.
    pub(crate) expires: Option<i64>,
    /// When `refusal` stops to apply; read without the lock.
    refusing_until_ms: AtomicI64,
    refusal: Mutex<Option<Arc<CachedRefusal>>>,
    /// The prepared take that was last used on this bucket.
    pub(super) prepared_take: Mutex<Option<Arc<PreparedTake>>>,
    /// The key of the first shard.
    pub(super) key: OnceLock<Key>,
}

impl CachedBucket {
    fn new(bucket: &Bucket) -> CachedBucket {
        let limits = bucket.meters.iter().map(|meter| &meter.name);
        CachedBucket {
            cascade: bucket.cascade,
            parent: bucket.parent.clone(),
            shard_count: bucket.shard_count,
            limits: limits.filter(|name| !name.is_wcu()).cloned().collect(),
            lifetime_ms: bucket.expires.map(|_| lifetime_ms(bucket)),
            expires: bucket.expires,
            refusing_until_ms: AtomicI64::new(i64::MIN),
            refusal: Mutex::new(None),
            prepared_take: Mutex::new(None),
            key: OnceLock::new(),
        }
    }

    fn matches(&self, bucket: &Bucket) -> bool {
        let names = bucket.meters.iter().map(|meter| &meter.name).filter(|name| !name.is_wcu());
        self.cascade == bucket.cascade
            && self.parent == bucket.parent
            && self.shard_count == bucket.shard_count
            && self.expires == bucket.expires
            && self.limits.iter().eq(names)
    }

    /// The expiry that a use at `now_ms` gives the shard, if it differs from the one it has.
    pub(crate) fn new_expiry(&self, shard: u32, now_ms: i64) -> Option<i64> {
        let lifetime_ms = self.lifetime_ms?;
        if shard == 0 && self.shard_count > 1 {
            return None;
        }
        let expires = expiry_after(lifetime_ms, now_ms);
        (self.shard_count > 1 || self.expires != Some(expires)).then_some(expires)
    }

    /// The last refusal, while it applies.
    pub(crate) fn refusal(&self, now_ms: i64) -> Option<Arc<CachedRefusal>> {
        if self.refusing_until_ms.load(Ordering::Acquire) <= now_ms {
            return None;
        }
        self.refusal.lock().clone()
    }

    fn set_refusal(&self, refusal: Option<CachedRefusal>) {
        let until = refusal.as_ref().map_or(i64::MIN, CachedRefusal::until_ms);
        let mut last = self.refusal.lock();
        self.refusing_until_ms.store(until, Ordering::Release);
        *last = refusal.map(Arc::new);
    }
}

/// How long a bucket lives unused.
fn lifetime_ms(bucket: &Bucket) -> i64 {
    let meters = bucket.meters.iter().filter(|meter| !meter.name.is_wcu());
    let slowest_ms = meters.map(|meter| meter.rate.fill_ms()).max().unwrap_or(MILLI);
    slowest_ms.saturating_mul(EXPIRY_FILLS)
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

    /// Remembers a shard that was read or written. `cached` is the present entry, which stays if nothing changed.
    pub(crate) fn observe(&self, id: &BucketId, cached: Option<&CachedBucket>, bucket: &Bucket) {
        if cached.is_some_and(|cached| cached.matches(bucket)) {
            return;
        }
        self.buckets.insert(id.clone(), Arc::new(CachedBucket::new(bucket)));
    }

    /// Remembers a refusal, so that repeats are refused without the store.
    pub(crate) fn remember_refusal(&self, id: &BucketId, refusal: CachedRefusal) {
        if let Some(cached) = self.buckets.get(id) {
            cached.set_refusal(Some(refusal));
        }
    }

    /// Drops the refusal of a bucket whose tokens were refunded.
    pub(crate) fn clear_refusal(&self, id: &BucketId) {
        if let Some(cached) = self.buckets.get(id) {
            cached.set_refusal(None);
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
