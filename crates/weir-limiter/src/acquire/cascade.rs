//! Cascade: child and parent both pay, or neither does.
//!
//! On the embedded store that is one transaction. On DynamoDB a transaction costs twice as much, so both updates run in
//! parallel, and if only one succeeds it is refunded. A process that dies in between leaves the amounts of its requests in
//! flight taken from one of the two; it never grants tokens that nobody paid for.

use std::sync::Arc;

use weir_table::{Backend, Get, Transacted, Transaction, Verdict};

use super::bucket_cache::CachedBucket;
use super::fast_path::{Attempt, TakeResult, pick_shard};
use super::next_step::{Next, next_step};
use super::refund::statuses_before_take;
use super::refusal::{self, CachedRefusal};
use super::request::{Amounts, CheckedRequest, restricted_to};
use super::slow_path::{Payers, SlowOutcome};
use super::take::{Take, Wcu};
use super::{Acquired, Granted, LimitStatus, Refused};
use crate::bucket::Bucket;
use crate::error::Result;
use crate::ids::{EntityId, LimitName};
use crate::item::{self, BucketId};
use crate::limiter::Namespace;

/// The parent's part of a request, as far as its bucket is cached.
struct ParentCharge {
    id: BucketId,
    cached: Option<Arc<CachedBucket>>,
    amounts: Amounts,
    /// Requested limits that the parent is believed not to have.
    absent_limits: Vec<LimitName>,
}

impl<B: Backend> Namespace<B> {
    fn parent_charge(&self, request: &CheckedRequest<'_>, parent: &EntityId) -> ParentCharge {
        let id = BucketId { entity: parent.clone(), ..request.id.clone() };
        let cached = self.limiter.inner.bucket_cache.get(&id);
        let has =
            |name: &LimitName| cached.as_ref().is_none_or(|cached| cached.limits.contains(name));
        let amounts = restricted_to(&request.amounts, has);
        let names = request.amounts.iter().map(|(name, _)| name);
        let absent_limits = names.filter(|name| !has(name)).cloned().collect();
        ParentCharge { amounts, absent_limits, cached, id }
    }

    fn parent_take<'t>(
        &self,
        request: &CheckedRequest<'_>,
        charge: &'t ParentCharge,
        wcu: Wcu,
    ) -> Take<'t> {
        let cached = charge.cached.as_deref();
        Take {
            id: &charge.id,
            shard: pick_shard(cached),
            amounts: &charge.amounts,
            wcu,
            cached,
            same_cascade: false,
            absent_limits: &charge.absent_limits,
            shared: self.limiter.settings().is_shared(),
            now_ms: request.now_ms,
        }
    }

    /// Takes from child and parent, and stores the grant if the request says so, in one transaction.
    pub(super) async fn take_in_transaction(
        &self,
        request: &CheckedRequest<'_>,
        cached: &CachedBucket,
        parent: Option<&EntityId>,
        wcu: Wcu,
    ) -> Result<Attempt> {
        let charge = parent.map(|parent| self.parent_charge(request, parent));
        if charge.as_ref().is_some_and(|charge| charge.amounts.is_empty()) {
            return Ok(Attempt::SlowPath);
        }
        let table = self.limiter.table();
        let mut takes = vec![self.child_take(request, pick_shard(Some(cached)), Some(cached), wcu)];
        if let Some(charge) = &charge {
            takes.push(self.parent_take(request, charge, wcu));
        }
        let mut writes: Vec<_> = takes.iter().map(|take| take.write(table.clone())).collect();
        let grant = self.grant(request, takes.iter().map(Take::entity_take).collect());
        writes.extend(self.grant_writes(request, &grant));
        match self.limiter.store().transact(Transaction::new(writes)).await {
            Err(weir_table::Error::Conflict) => Ok(Attempt::Retry),
            Err(error) => Err(error.into()),
            Ok(Transacted::Applied) => {
                let limits = self.read_statuses(request, &takes).await;
                Ok(Attempt::Done(Acquired::Granted(Granted { grant, limits })))
            }
            Ok(Transacted::Refused(verdicts)) => {
                self.after_refused_transaction(request, &takes, verdicts).await
            }
        }
    }

    /// Reads the limits after a transaction, which does not return them.
    async fn read_statuses(
        &self,
        request: &CheckedRequest<'_>,
        takes: &[Take<'_>],
    ) -> Vec<LimitStatus> {
        let gets: Vec<Get> = takes.iter().map(|take| self.get_shard(take.id, take.shard)).collect();
        let mut limits = Vec::new();
        // The tokens are taken: a failure to read what remains must not fail the request.
        let items = self.limiter.store().batch_get(&gets).await.unwrap_or_default();
        for (take, item) in takes.iter().zip(items) {
            let Some(item) = item else { continue };
            let bucket = item::decode(&item);
            self.limiter.inner.bucket_cache.observe(take.id, take.cached, &bucket);
            let now = bucket.refilled(request.now_ms);
            limits.extend(refusal::limit_statuses(&take.id.entity, &now, take.amounts));
        }
        refusal::granted(limits)
    }

    /// Continues after a refused transaction. Also a refusal takes the slow path: a verdict shows only the buckets that
    /// failed, and a response lists all limits.
    async fn after_refused_transaction(
        &self,
        request: &CheckedRequest<'_>,
        takes: &[Take<'_>],
        verdicts: Vec<Verdict>,
    ) -> Result<Attempt> {
        let mut next = Attempt::SlowPath;
        for (take, verdict) in takes.iter().zip(verdicts) {
            let Verdict::Failed(item) = verdict else { continue };
            let found = item.as_ref().map(item::decode);
            match self.after_refused_take(request, take, found).await? {
                Attempt::SlowPath | Attempt::Done(_) => return Ok(Attempt::SlowPath),
                attempt => next = attempt,
            }
        }
        Ok(next)
    }

    /// Takes from child and parent at the same time.
    pub(super) async fn take_in_parallel(
        &self,
        request: &CheckedRequest<'_>,
        cached: &CachedBucket,
        parent: &EntityId,
        wcu: Wcu,
    ) -> Result<Attempt> {
        let charge = self.parent_charge(request, parent);
        if charge.amounts.is_empty() {
            return Ok(Attempt::SlowPath);
        }
        let child_take = self.child_take(request, pick_shard(Some(cached)), Some(cached), wcu);
        let parent_take = self.parent_take(request, &charge, wcu);
        let (child, parent) = tokio::join!(self.try_take(&child_take), self.try_take(&parent_take));
        let child_result = match child {
            Ok(TakeResult::Taken(child)) => {
                self.limiter.inner.bucket_cache.observe(&request.id, Some(cached), &child);
                return self
                    .after_child_paid(request, &child_take, &child, &parent_take, parent)
                    .await;
            }
            failed => failed,
        };
        let mut parent_limits = self.undo_parent(request, &parent_take, parent).await;
        let attempt = match child_result? {
            TakeResult::Refused(found) => {
                self.after_refused_take(request, &child_take, found).await?
            }
            TakeResult::Conflict | TakeResult::Taken(_) => Attempt::Retry,
        };
        Ok(match attempt {
            Attempt::Done(Acquired::Refused(mut refused)) => {
                refused.limits.append(&mut parent_limits);
                Attempt::Done(Acquired::Refused(Refused::new(refused.limits)))
            }
            attempt => attempt,
        })
    }

    /// Refunds the parent, if it paid, because the child did not. Returns the status of the parent's limits.
    async fn undo_parent(
        &self,
        request: &CheckedRequest<'_>,
        take: &Take<'_>,
        result: Result<TakeResult>,
    ) -> Vec<LimitStatus> {
        match result {
            Ok(TakeResult::Taken(bucket)) => {
                let limits = statuses_before_take(request, take, &bucket);
                self.limiter.inner.bucket_cache.observe(take.id, take.cached, &bucket);
                self.refund(take, bucket).await;
                limits
            }
            Ok(TakeResult::Refused(Some(bucket))) => {
                let now = bucket.refilled(request.now_ms);
                refusal::limit_statuses(&take.id.entity, &now, take.amounts)
            }
            _ => Vec::new(),
        }
    }

    /// Charges the parent of a child that paid before its cascade was known.
    pub(super) async fn charge_parent_next(
        &self,
        request: &CheckedRequest<'_>,
        shard: u32,
        child: &Bucket,
        parent: &EntityId,
        wcu: Wcu,
    ) -> Result<Attempt> {
        let charge = self.parent_charge(request, parent);
        let child_take = self.child_take(request, shard, None, wcu);
        let parent_take = self.parent_take(request, &charge, wcu);
        let result = if charge.amounts.is_empty() {
            Ok(TakeResult::Refused(None))
        } else {
            self.try_take(&parent_take).await
        };
        self.after_child_paid(request, &child_take, child, &parent_take, result).await
    }

    /// Completes a request whose child has paid: refunds the child if the parent does not pay.
    async fn after_child_paid(
        &self,
        request: &CheckedRequest<'_>,
        child_take: &Take<'_>,
        child: &Bucket,
        parent_take: &Take<'_>,
        parent: Result<TakeResult>,
    ) -> Result<Attempt> {
        let cache = &self.limiter.inner.bucket_cache;
        let found = match parent {
            Ok(TakeResult::Taken(bucket)) => {
                cache.observe(parent_take.id, parent_take.cached, &bucket);
                let from = [
                    (child_take.id, child_take.shard, child.clone()),
                    (parent_take.id, parent_take.shard, bucket),
                ];
                return Ok(Attempt::Done(self.granted(request, from)));
            }
            Ok(TakeResult::Refused(found)) => found,
            Ok(TakeResult::Conflict) => None,
            Err(error) => {
                self.refund(child_take, child.clone()).await;
                return Err(error);
            }
        };
        let splits = self.plan_context(request.now_ms).splits;
        let Take { amounts, absent_limits, wcu, .. } = *parent_take;
        let next =
            next_step(found.as_ref(), None, amounts, absent_limits, wcu, splits, request.now_ms);
        if let Next::Refuse(now) = next {
            self.refund(child_take, child.clone()).await;
            if let Some(found) = &found {
                cache.observe(parent_take.id, parent_take.cached, found);
            }
            let mut limits = statuses_before_take(request, child_take, child);
            limits.extend(refusal::limit_statuses(&parent_take.id.entity, &now, amounts));
            let refusal = CachedRefusal::new(now, amounts, request.now_ms);
            cache.remember_refusal(parent_take.id, refusal);
            return Ok(Attempt::Done(Acquired::Refused(Refused::new(limits))));
        }
        self.charge_parent_slow(request, child_take, child, &parent_take.id.entity).await
    }

    /// Charges the parent alone on the slow path.
    async fn charge_parent_slow(
        &self,
        request: &CheckedRequest<'_>,
        child_take: &Take<'_>,
        child: &Bucket,
        parent: &EntityId,
    ) -> Result<Attempt> {
        let grant = self.grant(request, vec![child_take.entity_take()]);
        match self.take_slow(request, Payers::ParentOnly(parent), &grant).await {
            Ok(SlowOutcome::Taken(grant, parent_limits)) => {
                let now = child.refilled(request.now_ms);
                let entity = &child_take.id.entity;
                let mut limits = refusal::limit_statuses(entity, &now, child_take.amounts);
                limits.extend(parent_limits);
                let limits = refusal::granted(limits);
                Ok(Attempt::Done(Acquired::Granted(Granted { grant, limits })))
            }
            Ok(SlowOutcome::Refused(parent_limits)) => {
                self.refund(child_take, child.clone()).await;
                let mut limits = statuses_before_take(request, child_take, child);
                limits.extend(parent_limits);
                Ok(Attempt::Done(Acquired::Refused(Refused::new(limits))))
            }
            Err(error) => {
                self.refund(child_take, child.clone()).await;
                Err(error)
            }
        }
    }
}
