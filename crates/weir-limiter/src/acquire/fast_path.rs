//! The entry of an acquire: the fast path with its retries, and the hand-over to the slow path.

use weir_table::{Added, Backend, Item, Written};

use super::bucket_cache::CachedBucket;
use super::next_step::{Next, next_step};
use super::refusal::{self, CachedRefusal};
use super::request::CheckedRequest;
use super::take::{Take, Wcu};
use super::{Acquire, Acquired, Granted, Refused};
use crate::bounds::TRIES_MAX;
use crate::bucket::{Bucket, ShardTake};
use crate::config::OnUnavailable;
use crate::error::{Error, Result};
use crate::ids::{EntityId, zae};
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
    Taken(Bucket),
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
        let cached = self.limiter.inner.bucket_cache.get(&request.id);
        let preparable = cached.as_deref().filter(|cached| self.is_preparable(request, cached));
        let Some(cached) = preparable else {
            return Box::pin(self.take_with_retries(request)).await;
        };
        if let Some(refused) = self.cached_refusal(request, cached) {
            return Ok(refused);
        }
        let take = self.prepared_take(request, cached).await?;
        match self.take_prepared(request, cached, &take).await {
            Ok(Added::Done(bucket)) => {
                self.limiter.inner.bucket_cache.observe(&request.id, Some(cached), &bucket);
                Ok(self.granted(request, [(&request.id, bucket.shard, bucket)]))
            }
            Ok(Added::Refused(found)) => {
                Box::pin(self.after_refused_prepared(request, cached, found)).await
            }
            Err(weir_table::Error::Conflict) => Box::pin(self.take_with_retries(request)).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Continues after a prepared take was refused by the item `found`.
    async fn after_refused_prepared(
        &self,
        request: &CheckedRequest<'_>,
        cached: &CachedBucket,
        found: Option<Item>,
    ) -> Result<Acquired> {
        let take = self.child_take(request, pick_shard(Some(cached)), Some(cached), Wcu::None);
        let found = found.as_ref().map(|item| take.decode(item));
        match self.after_refused_take(request, &take, found).await? {
            Attempt::Done(acquired) => Ok(acquired),
            Attempt::SlowPath => self.acquire_slow(request).await,
            Attempt::Retry | Attempt::RetryUnmetered => self.take_with_retries(request).await,
        }
    }

    async fn take_with_retries(&self, request: &CheckedRequest<'_>) -> Result<Acquired> {
        let sharded = self.limiter.settings().sharded;
        let stores_grant = request.stores_grant();
        let mut wcu = if sharded { Wcu::Charged } else { Wcu::None };
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let cached = self.limiter.inner.bucket_cache.get(&request.id);
            let attempt = match cached.as_deref() {
                Some(cached) => {
                    if let Some(refused) = self.cached_refusal(request, cached) {
                        // The bucket may have refused because this very request took from it before.
                        if request.idempotency.is_some() {
                            return Box::pin(self.acquire_slow(request)).await;
                        }
                        return Ok(refused);
                    }
                    match &cached.parent {
                        Some(parent) if cached.cascade && sharded && !stores_grant => {
                            Box::pin(self.take_in_parallel(request, cached, parent, wcu)).await?
                        }
                        Some(parent) if cached.cascade => {
                            let parent = Some(parent);
                            Box::pin(self.take_in_transaction(request, cached, parent, wcu)).await?
                        }
                        _ if stores_grant => {
                            Box::pin(self.take_in_transaction(request, cached, None, wcu)).await?
                        }
                        _ => self.take_from_child(request, Some(cached), wcu).await?,
                    }
                }
                // The written item shows whether a parent pays too: that is too late for one transaction.
                None if sharded && !stores_grant => {
                    self.take_from_child(request, None, wcu).await?
                }
                None => Attempt::SlowPath,
            };
            match attempt {
                Attempt::Done(acquired) => return Ok(acquired),
                Attempt::Retry => {}
                Attempt::RetryUnmetered => wcu = Wcu::Unmetered,
                Attempt::SlowPath => return Box::pin(self.acquire_slow(request)).await,
            }
        }
        Err(Error::Contended)
    }

    /// Takes from the entity's own bucket, and then from the parent if the written item shows one.
    async fn take_from_child(
        &self,
        request: &CheckedRequest<'_>,
        cached: Option<&CachedBucket>,
        wcu: Wcu,
    ) -> Result<Attempt> {
        let shard = pick_shard(cached);
        let take = self.child_take(request, shard, cached, wcu);
        match self.try_take(&take).await? {
            TakeResult::Conflict => Ok(Attempt::Retry),
            TakeResult::Taken(bucket) => {
                self.limiter.inner.bucket_cache.observe(&request.id, cached, &bucket);
                match &bucket.parent {
                    Some(parent) if bucket.cascade && cached.is_none() => {
                        Box::pin(self.charge_parent_next(request, shard, &bucket, parent, wcu))
                            .await
                    }
                    _ => Ok(Attempt::Done(self.granted(request, [(&request.id, shard, bucket)]))),
                }
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
        shard: u32,
        cached: Option<&'t CachedBucket>,
        wcu: Wcu,
    ) -> Take<'t> {
        Take {
            id: &request.id,
            shard,
            amounts: &request.amounts,
            wcu,
            cached,
            same_cascade: cached.is_some(),
            absent_limits: &[],
            shared: self.limiter.settings().is_shared(),
            now_ms: request.now_ms,
        }
    }

    pub(super) async fn try_take(&self, take: &Take<'_>) -> Result<TakeResult> {
        match self.limiter.store().write(take.write(self.limiter.table())).await {
            Ok(Written::Applied(item)) => {
                Ok(TakeResult::Taken(take.decode(&item.unwrap_or_default())))
            }
            Ok(Written::Refused(item)) => {
                Ok(TakeResult::Refused(item.as_ref().map(|item| take.decode(item))))
            }
            Err(weir_table::Error::Conflict) => Ok(TakeResult::Conflict),
            Err(error) => Err(error.into()),
        }
    }

    /// Continues after a take was refused by the shard `found`.
    pub(super) async fn after_refused_take(
        &self,
        request: &CheckedRequest<'_>,
        take: &Take<'_>,
        found: Option<Bucket>,
    ) -> Result<Attempt> {
        let cache = &self.limiter.inner.bucket_cache;
        let splits = self.plan_context(request.now_ms).splits;
        let expected = take.cached.filter(|_| take.same_cascade);
        let (amounts, absent_limits) = (take.amounts, take.absent_limits);
        let next = next_step(
            found.as_ref(),
            expected,
            amounts,
            absent_limits,
            take.wcu,
            splits,
            request.now_ms,
        );
        if let Some(found) = found.filter(|found| found.refilled_ms != 0) {
            cache.observe(take.id, take.cached, &found);
        }
        Ok(match next {
            Next::SlowPath => Attempt::SlowPath,
            Next::Retry => Attempt::Retry,
            Next::RetryUnmetered => Attempt::RetryUnmetered,
            Next::Split(count) => {
                self.double_shards(&take.id.entity, &take.id.resource, count).await?;
                Attempt::Retry
            }
            Next::Refuse(now) => {
                let limits = refusal::limit_statuses(&take.id.entity, &now, amounts);
                let refusal = CachedRefusal::new(now, amounts, request.now_ms);
                cache.remember_refusal(take.id, refusal);
                Attempt::Done(Acquired::Refused(Refused::new(limits)))
            }
        })
    }

    /// Refuses a repeated request, if the last refusal of the entity or its parent still applies.
    fn cached_refusal(
        &self,
        request: &CheckedRequest<'_>,
        cached: &CachedBucket,
    ) -> Option<Acquired> {
        let CheckedRequest { amounts, now_ms, .. } = request;
        let refuses = |entity: &EntityId, cached: &CachedBucket| {
            let refusal = cached.refusal(*now_ms)?;
            let limits = || refusal::limit_statuses(entity, &refusal.bucket(*now_ms), amounts);
            refusal.refuses(amounts, *now_ms).then(limits)
        };
        let limits = refuses(&request.id.entity, cached).or_else(|| {
            let parent = cached.parent.as_ref().filter(|_| cached.cascade)?;
            let id = BucketId { entity: parent.clone(), ..request.id.clone() };
            refuses(parent, &*self.limiter.inner.bucket_cache.get(&id)?)
        })?;
        Some(Acquired::Refused(Refused::new(limits)))
    }

    /// The grant of a request that took from these shards.
    pub(super) fn granted<const N: usize>(
        &self,
        request: &CheckedRequest<'_>,
        from: [(&BucketId, u32, Bucket); N],
    ) -> Acquired {
        let mut limits = Vec::with_capacity(request.amounts.len() * N);
        let mut takes = Vec::with_capacity(N);
        for (id, shard, mut bucket) in from {
            let has = |name: &_| bucket.meter(name).is_some();
            let amounts = request.amounts.iter().filter(|(name, _)| has(name)).cloned().collect();
            takes.push(EntityTake {
                entity: id.entity.clone(),
                shards: vec![ShardTake { shard, amounts }],
            });
            bucket.refill(request.now_ms);
            limits.extend(refusal::limit_statuses(&id.entity, &bucket, &request.amounts));
        }
        let limits = refusal::granted(limits);
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
pub(super) fn pick_shard(cached: Option<&CachedBucket>) -> u32 {
    match cached.map_or(1, |cached| cached.shard_count) {
        0 | 1 => 0,
        count => fastrand::u32(..count),
    }
}
