//! What a process remembers of buckets: enough to take from one without reading it first, and the last refusal.
//!
//! Memory is a guess. What a guess could get wrong (the family, the shards, the limits) is in the condition of the
//! write or in the image it answers with.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use weir_table::Key;

use super::refusal::Refusal;
use super::taking::{Shape, Taking};
use crate::bounds::{KNOWN_BUCKETS_MAX, TAKINGS_MAX};
use crate::bucket::{Bucket, MILLI};
use crate::ids::{EntityId, LimitName, NamespaceId, Resource};
use crate::item::BucketId;

/// What is remembered of a bucket.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Whether the parent pays too.
    pub(crate) cascade: bool,
    /// The parent.
    pub(crate) parent: Option<EntityId>,
    /// How many shards there are.
    pub(crate) shard_count: u32,
    /// The limits it has.
    pub(crate) limits: Vec<LimitName>,
    /// How long it lives unused, if it can be forgotten.
    pub(crate) lifetime_ms: Option<i64>,
    /// When it can be forgotten, as last seen.
    pub(crate) expires: Option<i64>,
    /// Until when the refusal below says something.
    refusing_until_ms: AtomicI64,
    refusal: Mutex<Option<Arc<Refusal>>>,
    /// The last taking from the bucket that was prepared.
    pub(super) taking: Mutex<Option<Arc<Taking>>>,
    /// The key of its first shard.
    pub(super) key: OnceLock<Key>,
}

impl Facts {
    fn of(bucket: &Bucket) -> Facts {
        let limits = bucket.meters.iter().map(|meter| &meter.name);
        Facts {
            cascade: bucket.cascade,
            parent: bucket.parent.clone(),
            shard_count: bucket.shard_count,
            limits: limits.filter(|name| !name.is_wcu()).cloned().collect(),
            lifetime_ms: bucket.expires.map(|_| bucket.lifetime_ms()),
            expires: bucket.expires,
            refusing_until_ms: AtomicI64::new(i64::MIN),
            refusal: Mutex::new(None),
            taking: Mutex::new(None),
            key: OnceLock::new(),
        }
    }

    fn holds_for(&self, bucket: &Bucket) -> bool {
        let mut names = bucket.meters.iter().map(|meter| &meter.name).filter(|name| !name.is_wcu());
        let mut known = self.limits.iter();
        self.cascade == bucket.cascade
            && self.parent == bucket.parent
            && self.shard_count == bucket.shard_count
            && self.expires == bucket.expires
            && known.by_ref().all(|name| names.next() == Some(name))
            && names.next().is_none()
    }

    /// The expiry that a use at `now_ms` gives shard `shard`, where it is not the one last seen.
    pub(crate) fn new_expiry(&self, shard: u32, now_ms: i64) -> Option<i64> {
        let lifetime_ms = self.lifetime_ms?;
        if shard == 0 && self.shard_count > 1 {
            return None;
        }
        let expires = crate::bucket::expiry_after(lifetime_ms, now_ms);
        (self.shard_count > 1 || self.expires != Some(expires)).then_some(expires)
    }

    /// The last refusal, while it says something.
    pub(crate) fn refusal(&self, now_ms: i64) -> Option<Arc<Refusal>> {
        if self.refusing_until_ms.load(Ordering::Acquire) <= now_ms {
            return None;
        }
        self.refusal.lock().clone()
    }

    fn refused(&self, refusal: Option<Refusal>) {
        let until = refusal.as_ref().map_or(i64::MIN, Refusal::until_ms);
        let mut last = self.refusal.lock();
        self.refusing_until_ms.store(until, Ordering::Release);
        *last = refusal.map(Arc::new);
    }
}

/// What a process remembers of buckets.
pub struct Known {
    buckets: Cache<BucketId, Arc<Facts>>,
    /// Takings that have been prepared: buckets share them.
    pub(super) takings: Cache<Shape, Arc<Taking>>,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").field("buckets", &self.buckets.len()).finish()
    }
}

impl Default for Known {
    fn default() -> Known {
        Known { buckets: Cache::new(KNOWN_BUCKETS_MAX), takings: Cache::new(TAKINGS_MAX) }
    }
}

impl Known {
    /// Nothing remembered.
    #[must_use]
    pub fn new() -> Known {
        Known::default()
    }

    pub(crate) fn get(&self, id: &BucketId) -> Option<Arc<Facts>> {
        self.buckets.get(id)
    }

    /// A shard was seen like this.
    pub(crate) fn saw(&self, id: &BucketId, known: Option<&Facts>, bucket: &Bucket) {
        if known.is_some_and(|known| known.holds_for(bucket)) {
            return;
        }
        self.buckets.insert(id.clone(), Arc::new(Facts::of(bucket)));
    }

    /// A request was refused: the shards of the bucket were like this.
    pub(crate) fn refused(&self, id: &BucketId, refusal: Refusal) {
        if let Some(facts) = self.buckets.get(id) {
            facts.refused(Some(refusal));
        }
    }

    /// Forgets a bucket, or all buckets of an entity: it was changed by an operator.
    pub(crate) fn forget(&self, ns: &NamespaceId, entity: &EntityId, resource: Option<&Resource>) {
        match resource {
            Some(resource) => {
                let (ns, entity) = (ns.clone(), entity.clone());
                self.buckets.remove(&BucketId { ns, entity, resource: resource.clone() });
            }
            None => self.buckets.retain(|id, _| id.ns != *ns || id.entity != *entity),
        }
    }

    /// Forgets all buckets of a namespace, on one resource or on all: defaults were changed.
    pub(crate) fn forget_all(&self, ns: &NamespaceId, resource: Option<&Resource>) {
        self.buckets.retain(|id, _| id.ns != *ns || resource.is_some_and(|r| id.resource != *r));
    }

    /// Tokens came back: what was refused may be there now.
    pub(crate) fn given_back(&self, ns: &NamespaceId, entity: &EntityId, resource: &Resource) {
        let (ns, entity, resource) = (ns.clone(), entity.clone(), resource.clone());
        if let Some(facts) = self.buckets.get(&BucketId { ns, entity, resource }) {
            facts.refused(None);
        }
    }
}

impl Bucket {
    /// How long it lives unused.
    fn lifetime_ms(&self) -> i64 {
        let fills = self.meters.iter().filter(|meter| !meter.name.is_wcu());
        let slowest = fills.map(|meter| meter.rate.fill_ms()).max().unwrap_or(MILLI);
        slowest.saturating_mul(crate::bounds::EXPIRY_FILLS)
    }
}
