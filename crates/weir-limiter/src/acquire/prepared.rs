//! Prepared takes: on the embedded store nearly every request takes from a bucket that pays alone and keeps its expiry.
//! Such takes differ only in their numbers, so the store checks each shape once.

use std::sync::Arc;

use weir_table::{Add, Added, Backend, Item, Prepared};

use super::bucket_cache::CachedBucket;
use super::request::CheckedRequest;
use super::take::{Take, TakeShape};
use crate::bucket::Bucket;
use crate::error::Result;
use crate::item;
use crate::keys;
use crate::limiter::Namespace;

/// An embedded bucket has one shard.
const SHARD: u32 = 0;

/// A take that the store has prepared.
#[derive(Debug)]
pub(super) struct PreparedTake {
    shape: TakeShape,
    prepared: Arc<Prepared>,
}

impl<B: Backend> Namespace<B> {
    /// Whether a request only takes, from an embedded bucket that pays alone.
    pub(super) fn is_preparable(&self, request: &CheckedRequest<'_>, image: &Bucket) -> bool {
        let settings = self.limiter.settings();
        let is_embedded = !settings.sharded && !settings.is_shared();
        let pays_alone = !image.cascade || image.parent.is_none();
        is_embedded && pays_alone && !request.stores_grant() && image.shard_count <= 1
    }

    /// Takes with a prepared take, which it prepares if nobody has. Remembers the bucket.
    pub(super) async fn take_prepared(
        &self,
        cached: &CachedBucket,
        take: &Take<'_>,
    ) -> Result<Added<Arc<Bucket>>> {
        let last = cached.prepared_takes.lock().get(usize::from(take.refills())).cloned().flatten();
        let prepared = match last.filter(|prepared| prepared.shape.is_of(take)) {
            Some(prepared) => prepared,
            None => Box::pin(self.prepare(cached, take)).await?,
        };
        let numbers = take.numbers();
        let id = take.id;
        let make = || keys::bucket(&id.ns, &id.entity, &id.resource, SHARD);
        let key = cached.key.get_or_init(make);
        let prepared = &prepared.prepared;
        let add = Add { prepared, key, add: &numbers.add, than: &numbers.compare };
        // Remembered when it is taken, not when that is durable: otherwise all takes until then would expect the old balance.
        let remember = |item: &Item| {
            let bucket = Arc::new(item::decode(item));
            cached.observe(Arc::clone(&bucket));
            bucket
        };
        Ok(self.limiter.store().add(add, remember).await?)
    }

    async fn prepare(&self, cached: &CachedBucket, take: &Take<'_>) -> Result<Arc<PreparedTake>> {
        let shape = take.shape();
        let prepared_takes = &self.limiter.inner.bucket_cache.prepared_takes;
        let prepared = match prepared_takes.get(&shape) {
            Some(prepared) => prepared,
            None => {
                let addition = shape.addition(self.limiter.table());
                let prepared = self.limiter.store().prepare(addition).await?;
                let prepared = Arc::new(PreparedTake { shape: shape.clone(), prepared });
                prepared_takes.insert(shape, Arc::clone(&prepared));
                prepared
            }
        };
        if let Some(last) = cached.prepared_takes.lock().get_mut(usize::from(take.refills())) {
            *last = Some(Arc::clone(&prepared));
        }
        Ok(prepared)
    }
}
