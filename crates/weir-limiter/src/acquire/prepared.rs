//! Prepared takes: on the embedded store nearly every request subtracts from a bucket that pays alone and keeps its expiry.
//! Such takes differ only in their numbers, so the store checks each shape once.

use std::sync::Arc;

use weir_table::{Add, Added, Backend, Prepared};

use super::bucket_cache::CachedBucket;
use super::request::CheckedRequest;
use super::take::{TakeNumbers, TakeShape};
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

impl PreparedTake {
    fn is_for(&self, request: &CheckedRequest<'_>, cached: &CachedBucket) -> bool {
        self.shape.is(request.amounts.iter().map(|(name, _)| name), Some(cached.cascade))
    }
}

impl<B: Backend> Namespace<B> {
    /// Whether a request only takes, from an embedded bucket that pays alone and keeps its expiry.
    pub(super) fn is_preparable(
        &self,
        request: &CheckedRequest<'_>,
        cached: &CachedBucket,
    ) -> bool {
        let settings = self.limiter.settings();
        let is_embedded = !settings.sharded && !settings.is_shared();
        let pays_alone = !cached.cascade || cached.parent.is_none();
        let keeps_expiry =
            cached.shard_count <= 1 && cached.new_expiry(SHARD, request.now_ms).is_none();
        is_embedded && pays_alone && keeps_expiry && !request.stores_grant()
    }

    /// The prepared take for a request; prepares it if nobody has.
    pub(super) async fn prepared_take(
        &self,
        request: &CheckedRequest<'_>,
        cached: &CachedBucket,
    ) -> Result<Arc<PreparedTake>> {
        let last = cached.prepared_take.lock().clone();
        match last.filter(|prepared| prepared.is_for(request, cached)) {
            Some(prepared) => Ok(prepared),
            None => Box::pin(self.prepare(request, cached)).await,
        }
    }

    async fn prepare(
        &self,
        request: &CheckedRequest<'_>,
        cached: &CachedBucket,
    ) -> Result<Arc<PreparedTake>> {
        let shape =
            TakeShape::new(request.amounts.iter().map(|(name, _)| name), Some(cached.cascade));
        let prepared_takes = &self.limiter.inner.bucket_cache.prepared_takes;
        let take = match prepared_takes.get(&shape) {
            Some(take) => take,
            None => {
                let addition = shape.addition(self.limiter.table());
                let prepared = self.limiter.store().prepare(addition).await?;
                let take = Arc::new(PreparedTake { shape: shape.clone(), prepared });
                prepared_takes.insert(shape, Arc::clone(&take));
                take
            }
        };
        *cached.prepared_take.lock() = Some(Arc::clone(&take));
        Ok(take)
    }

    /// Takes with a prepared take.
    pub(super) async fn take_prepared(
        &self,
        request: &CheckedRequest<'_>,
        cached: &CachedBucket,
        take: &PreparedTake,
    ) -> weir_table::Result<Added<Bucket>> {
        let amounts = request.amounts.iter().map(|(_, amount)| *amount);
        let numbers = TakeNumbers::new(amounts, request.now_ms);
        let id = &request.id;
        let make = || keys::bucket(&id.ns, &id.entity, &id.resource, SHARD);
        let key = cached.key.get_or_init(make);
        let add = Add { prepared: &take.prepared, key, add: &numbers.add, than: &numbers.compare };
        self.limiter.store().add(add, item::decode).await
    }
}
