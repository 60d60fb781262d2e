//! The entry of an acquire: the fast path with its retries, and the hand-over to the slow path.

use std::sync::Arc;

use weir_table::{Added, Backend, Written};

use super::bucket_cache::CachedBucket;
use super::next_step::{Next, next_step};
use super::refusal::{CachedRefusal, Payer, granted_statuses, limit_statuses};
use super::request::{CheckedRequest, restricted_to};
use super::take::{Take, Wcu};
use super::{Acquire, Acquired, Granted, Refused};
use crate::bounds::TRIES_MAX;
use crate::bucket::{Bucket, ShardTake};
use crate::config::OnUnavailable;
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::ids::zae;
use crate::item::BucketId;
use crate::lease::{EntityTake, Grant};
use crate::limiter::Namespace;
use crate::retry::pause;

/// The result of one attempt on the fast path.
#[derive(Debug)]
pub(super) enum Attempt {
    /// The request is granted or refused.
    Done(Acquired),
    /// Try again.
    Retry,
    /// Try again without metering the write.
    RetryUnmetered,
    /// Continue on the slow path.
    SlowPath,
}

/// The result of one conditional update.
#[derive(Debug)]
pub(super) enum TakeResult {
    /// The amounts were taken; the shard afterwards.
    Taken(Arc<Bucket>),
    /// The condition failed; the shard, if it exists.
    Refused(Option<Bucket>),
    /// A transaction was in progress on the item.
    Conflict,
}

/// Checks that zae-limiter could use the bucket that this request creates.
fn check_zae(request: &Acquire) -> Result<()> {
    zae::resource(&request.resource)?;
    request.limits.iter().flatten().try_for_each(|limit| zae::limit(&limit.name))
}

impl<B: Backend> Namespace<B> {
    /// Takes tokens from the entity's bucket and, if it cascades, from its parent's: from both or from neither.
    ///
    /// # Errors
    /// The request is invalid, no limits apply, or the store fails and `on_unavailable` is `block`.
    pub async fn acquire(&self, acquire: &Acquire) -> Result<Acquired> {
        if self.limiter.settings().is_shared() {
            check_zae(acquire)?;
        }
        let request = CheckedRequest::new(&self.id, acquire, self.limiter.now_ms())?;
        if acquire.dry_run {
            return Box::pin(self.dry_run(&request)).await;
        }
        match self.take(&request).await {
            Err(error) if error.is_unavailable() => self.without_store(&request, error),
            result => result,
        }
    }

    /// Takes with a prepared take where possible. The rarer branches are boxed, which keeps this future small.
    async fn take(&self, request: &CheckedRequest<'_>) -> Result<Acquired> {
        let Some(cached) = self.limiter.inner.bucket_cache.get(&request.id) else {
            return Box::pin(self.acquire_slow(request)).await;
        };
        let (image, version) = cached.latest_and_version();
        // A grant that is stored needs a transaction. Its request may be a repeated one, which the bucket must not refuse.
        if request.stores_grant() || !request.may_take_from(&image) {
            return Box::pin(self.acquire_slow(request)).await;
        }
        if let Some(refused) = self.cached_refusal(request, &cached) {
            return Ok(refused);
        }
        let take = Take { version: Some(version), ..self.child_take(request, &image, Wcu::None) };
        if !self.is_preparable(request, &image) || take.new_expiry().is_some() {
            return Box::pin(self.take_with_retries(request)).await;
        }
        let take = take.in_one_shape();
        match self.take_prepared(&cached, &take).await {
            Ok(Added::Done(bucket)) => Ok(self.granted(request, [(&request.id, &bucket)])),
            Ok(Added::Refused(found)) => {
                let found = found.as_ref().map(|item| take.decode(item));
                Box::pin(self.after_refused_prepared(request, &take, found)).await
            }
            Err(Error::Store(weir_table::Error::Conflict)) => {
                Box::pin(self.take_with_retries(request)).await
            }
            Err(error) => {
                // The store may have applied the take all the same.
                self.limiter.inner.bucket_cache.changed(&request.id);
                Err(error)
            }
        }
    }

    /// Continues after a prepared take was refused by the shard `found`.
    async fn after_refused_prepared(
        &self,
        request: &CheckedRequest<'_>,
        take: &Take<'_>,
        found: Option<Bucket>,
    ) -> Result<Acquired> {
        match self.after_refused_take(request, take, found).await? {
            Attempt::Done(acquired) => Ok(acquired),
            Attempt::SlowPath => self.acquire_slow(request).await,
            Attempt::Retry | Attempt::RetryUnmetered => self.take_with_retries(request).await,
        }
    }

    async fn take_with_retries(&self, request: &CheckedRequest<'_>) -> Result<Acquired> {
        let sharded = self.limiter.settings().sharded;
        let mut wcu = if sharded { Wcu::Charged } else { Wcu::None };
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            match self.try_fast(request, wcu).await? {
                Attempt::Done(acquired) => return Ok(acquired),
                Attempt::Retry => {}
                Attempt::RetryUnmetered => wcu = Wcu::Unmetered,
                Attempt::SlowPath => return Box::pin(self.acquire_slow(request)).await,
            }
        }
        Err(Error::Contended)
    }

    /// One attempt without a read. What needs a transaction reads first: that costs no more than to read afterwards.
    async fn try_fast(&self, request: &CheckedRequest<'_>, wcu: Wcu) -> Result<Attempt> {
        let Some(cached) = self.limiter.inner.bucket_cache.get(&request.id) else {
            return Ok(Attempt::SlowPath);
        };
        let latest = cached.latest();
        let needs_read =
            request.stores_grant() || self.limiter.reads_all_shards(latest.shard_count);
        if needs_read || !request.may_take_from(&latest) {
            return Ok(Attempt::SlowPath);
        }
        if let Some(refused) = self.cached_refusal(request, &cached) {
            return Ok(Attempt::Done(refused));
        }
        let shard = pick_shard(latest.shard_count);
        let Some(image) = cached.shard(shard) else {
            return Ok(Attempt::SlowPath);
        };
        match &image.parent {
            Some(_) if image.cascade && wcu == Wcu::None => return Ok(Attempt::SlowPath),
            Some(parent) if image.cascade => {
                return Box::pin(self.take_in_parallel(request, &image, parent, wcu)).await;
            }
            _ => {}
        }
        if !self.child_take(request, &image, wcu).refills() {
            return self.take_from_child(request, &image, wcu).await;
        }
        // Who waited for a refill takes from the bucket as it is afterwards, together with others who waited.
        let refilling = cached.refilling.lock().await;
        let Some(image) = cached.shard(shard) else {
            return Ok(Attempt::SlowPath);
        };
        if !self.child_take(request, &image, wcu).refills() {
            drop(refilling);
        }
        self.take_from_child(request, &image, wcu).await
    }

    /// Takes from the entity's own bucket.
    async fn take_from_child(
        &self,
        request: &CheckedRequest<'_>,
        image: &Bucket,
        wcu: Wcu,
    ) -> Result<Attempt> {
        let take = self.versioned(self.child_take(request, image, wcu));
        match self.try_take(&take).await? {
            TakeResult::Conflict => Ok(Attempt::Retry),
            TakeResult::Taken(bucket) => {
                let granted = self.granted(request, [(&request.id, &bucket)]);
                Ok(Attempt::Done(granted))
            }
            TakeResult::Refused(found) => {
                Box::pin(self.after_refused_take(request, &take, found)).await
            }
        }
    }

    /// The take from the entity's own bucket.
    pub(super) fn child_take<'t>(
        &self,
        request: &'t CheckedRequest<'_>,
        image: &'t Bucket,
        wcu: Wcu,
    ) -> Take<'t> {
        let take = Take::new(&request.id, image, &request.amounts, wcu, request.now_ms);
        Take {
            lease_ttl_ms: request.acquire.lease_ttl_ms,
            same_cascade: true,
            ..take.in_table(self.limiter.settings().is_shared())
        }
    }

    /// The take with the version that its bucket has now.
    pub(super) fn versioned<'t>(&self, take: Take<'t>) -> Take<'t> {
        Take { version: self.limiter.inner.bucket_cache.version(take.id), ..take }
    }

    pub(super) async fn try_take(&self, take: &Take<'_>) -> Result<TakeResult> {
        let cache = &self.limiter.inner.bucket_cache;
        match self.limiter.store().write(take.write(self.limiter.table())).await {
            Ok(Written::Applied(item)) => {
                let bucket = Arc::new(take.decode(&item.unwrap_or_default()));
                cache.observe(take.id, Arc::clone(&bucket));
                Ok(TakeResult::Taken(bucket))
            }
            Ok(Written::Refused(item)) => {
                Ok(TakeResult::Refused(item.as_ref().map(|item| take.decode(item))))
            }
            Err(weir_table::Error::Conflict) => Ok(TakeResult::Conflict),
            Err(error) => {
                // The store may have applied the take all the same.
                cache.changed(take.id);
                Err(error.into())
            }
        }
    }

    /// Continues after a take was refused by the shard `found`.
    pub(super) async fn after_refused_take(
        &self,
        request: &CheckedRequest<'_>,
        take: &Take<'_>,
        found: Option<Bucket>,
    ) -> Result<Attempt> {
        let splits = self.plan_context(request.now_ms).splits;
        let next = next_step(found.as_ref(), take, splits, request.now_ms);
        let found = found.filter(|found| found.refilled_ms != 0);
        let version = found.and_then(|found| self.observe_found(take, found));
        Ok(match next {
            Next::SlowPath => Attempt::SlowPath,
            Next::Retry => Attempt::Retry,
            Next::RetryUnmetered => Attempt::RetryUnmetered,
            Next::Split(count) => {
                let BucketId { entity, resource, .. } = take.id;
                self.double_shards(entity, resource, count).await?;
                Attempt::Retry
            }
            Next::Refuse(whole) => {
                let payers = vec![Payer { id: take.id.clone(), whole, version }];
                Attempt::Done(Acquired::Refused(self.refused_by(request, payers)))
            }
        })
    }

    /// Remembers the shard that refused a take. Returns the version of the cached bucket, if it has not changed since the
    /// take was sent.
    pub(super) fn observe_found(&self, take: &Take<'_>, found: Bucket) -> Option<u64> {
        self.limiter.inner.bucket_cache.observe_since(take.id, take.version, [found])
    }

    /// The refusal by these buckets, which this process remembers. They are refilled to now, the entity's own first.
    pub(super) fn refused_by(&self, request: &CheckedRequest<'_>, payers: Vec<Payer>) -> Refused {
        let mut limits = Vec::new();
        for (number, Payer { id, whole, .. }) in payers.iter().enumerate() {
            let amounts =
                restricted_to(&request.amounts, |name| number == 0 || whole.meter(name).is_some());
            limits.extend(limit_statuses(&id.entity, whole, &amounts, request.now_ms));
        }
        let mut payers = payers;
        if faults::is(Fault::ChildRefusal) {
            payers.truncate(1);
        }
        if payers.iter().all(|payer| payer.version.is_some()) {
            let names = request.amounts.iter().map(|(name, _)| name.clone()).collect();
            let refusal = CachedRefusal::new(names, payers, request.now_ms);
            self.limiter.inner.bucket_cache.remember_refusal(&request.id, refusal);
        }
        Refused::new(limits)
    }

    /// Refuses a repeated request, if the last refusal still applies.
    fn cached_refusal(
        &self,
        request: &CheckedRequest<'_>,
        cached: &CachedBucket,
    ) -> Option<Acquired> {
        let version = |id: &BucketId| {
            if *id == request.id {
                return Some(cached.version());
            }
            self.limiter.inner.bucket_cache.version(id)
        };
        let limits = cached.refusal()?.response(&request.amounts, request.now_ms, version)?;
        Some(Acquired::Refused(Refused::new(limits)))
    }

    /// The grant of a request that took from these shards.
    pub(super) fn granted<const N: usize>(
        &self,
        request: &CheckedRequest<'_>,
        from: [(&BucketId, &Bucket); N],
    ) -> Acquired {
        let mut limits = Vec::with_capacity(request.amounts.len() * N);
        let mut takes = Vec::with_capacity(N);
        for (id, bucket) in from {
            let has = |name: &_| bucket.meter(name).is_some();
            let amounts = request.amounts.iter().filter(|(name, _)| has(name)).cloned().collect();
            takes.push(EntityTake {
                entity: id.entity.clone(),
                shards: vec![ShardTake { shard: bucket.shard, amounts }],
            });
            limits.extend(granted_statuses(&id.entity, bucket, &request.amounts, request.now_ms));
        }
        Acquired::Granted(Granted { grant: self.grant(request, takes), limits })
    }

    pub(super) fn grant(&self, request: &CheckedRequest<'_>, takes: Vec<EntityTake>) -> Grant {
        Grant {
            id: self.limiter.inner.lease_ids.next(),
            ns: self.id.clone(),
            resource: request.id.resource.clone(),
            takes,
            taken_ms: request.now_ms,
            expires_ms: request.now_ms.saturating_add(request.acquire.lease_ttl_ms),
            on_expiry: request.acquire.on_expiry,
            degraded: false,
        }
    }

    /// Grants or fails without the store, as the cached `on_unavailable` says.
    fn without_store(&self, request: &CheckedRequest<'_>, error: Error) -> Result<Acquired> {
        let policy = self.on_unavailable_cached(&request.id.entity, &request.id.resource);
        if policy == OnUnavailable::Block {
            return Err(error);
        }
        let grant = Grant { degraded: true, ..self.grant(request, Vec::new()) };
        Ok(Acquired::Granted(Granted { grant, limits: Vec::new() }))
    }
}

/// Picks the shard to take from, at random.
pub(super) fn pick_shard(count: u32) -> u32 {
    if count <= 1 { 0 } else { fastrand::u32(..count) }
}
