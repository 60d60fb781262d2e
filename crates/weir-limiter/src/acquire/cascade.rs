//! Cascade on DynamoDB: child and parent both pay, or neither does.
//!
//! A transaction costs twice as much as two updates, so both updates run in parallel, and if only one succeeds it is
//! refunded. A process that dies in between leaves the amounts of its requests in flight taken from one of the two; it never
//! grants tokens that nobody paid for. On the embedded store the slow path takes from both in one transaction.

use std::sync::Arc;

use weir_table::Backend;

use super::fast_path::{Attempt, TakeResult, pick_shard};
use super::next_step::{Next, next_step};
use super::refund::before_take;
use super::refusal::{self, Payer, limit_statuses};
use super::request::{Amounts, CheckedRequest, restricted_to};
use super::slow_path::{Payers, SlowOutcome};
use super::take::{Take, Wcu};
use super::{Acquired, Granted, Refused};
use crate::bucket::{Bucket, Origin};
use crate::error::Result;
use crate::ids::{EntityId, LimitName};
use crate::item::BucketId;
use crate::limiter::Namespace;

/// The parent's part of a request, as far as its bucket is cached.
struct ParentCharge {
    id: BucketId,
    image: Arc<Bucket>,
    amounts: Amounts,
    /// Requested limits that the parent is believed not to have.
    absent_limits: Vec<LimitName>,
}

impl<B: Backend> Namespace<B> {
    /// The parent's part of a request. None, if the slow path has to find out.
    fn parent_charge(
        &self,
        request: &CheckedRequest<'_>,
        parent: &EntityId,
    ) -> Option<ParentCharge> {
        let id = BucketId { entity: parent.clone(), ..request.id.clone() };
        let cached = self.limiter.inner.bucket_cache.get(&id)?;
        let count = cached.latest().shard_count;
        if self.limiter.reads_all_shards(count) {
            return None;
        }
        let image = cached.shard(pick_shard(count))?;
        let has = |name: &LimitName| image.meter(name).is_some();
        let amounts = restricted_to(&request.amounts, has);
        let names = request.amounts.iter().map(|(name, _)| name);
        let absent_limits = names.filter(|name| !has(name)).cloned().collect();
        // A bucket whose limits came with the parent's own requests limits nobody else.
        let pays = !amounts.is_empty() && image.origin == Origin::Config;
        (pays && !image.has_jumped(request.now_ms)).then_some(ParentCharge {
            amounts,
            absent_limits,
            image,
            id,
        })
    }

    fn parent_take<'t>(
        &self,
        request: &CheckedRequest<'_>,
        charge: &'t ParentCharge,
        wcu: Wcu,
    ) -> Take<'t> {
        let take = Take::new(&charge.id, &charge.image, &charge.amounts, wcu, request.now_ms);
        Take {
            version: self.limiter.inner.bucket_cache.version(&charge.id),
            lease_ttl_ms: request.acquire.lease_ttl_ms,
            absent_limits: &charge.absent_limits,
            ..take.in_table(self.limiter.settings().is_shared())
        }
    }

    /// Takes from child and parent at the same time.
    pub(super) async fn take_in_parallel(
        &self,
        request: &CheckedRequest<'_>,
        image: &Bucket,
        parent: &EntityId,
        wcu: Wcu,
    ) -> Result<Attempt> {
        let Some(charge) = self.parent_charge(request, parent) else {
            return Ok(Attempt::SlowPath);
        };
        let child_take = self.versioned(self.child_take(request, image, wcu));
        let parent_take = self.parent_take(request, &charge, wcu);
        let (child, parent) = tokio::join!(self.try_take(&child_take), self.try_take(&parent_take));
        let child_result = match child {
            Ok(TakeResult::Taken(child)) => {
                return self
                    .after_child_paid(request, &child_take, &child, &parent_take, parent)
                    .await;
            }
            failed => failed,
        };
        let parent = self.undo_parent(request, &parent_take, parent).await;
        let found = match child_result? {
            TakeResult::Refused(found) => found,
            TakeResult::Conflict | TakeResult::Taken(_) => return Ok(Attempt::Retry),
        };
        let splits = self.plan_context(request.now_ms).splits;
        let (Next::Refuse(child), Some(parent)) =
            (next_step(found.as_ref(), &child_take, splits, request.now_ms), parent)
        else {
            // A response lists the limits of both: the slow path reads them.
            return Ok(match self.after_refused_take(request, &child_take, found).await? {
                Attempt::Done(_) => Attempt::SlowPath,
                attempt => attempt,
            });
        };
        let version = found.and_then(|found| self.observe_found(&child_take, found));
        let child = Payer { id: child_take.id.clone(), whole: child, version };
        Ok(Attempt::Done(Acquired::Refused(self.refused_by(request, vec![child, parent]))))
    }

    /// Refunds the parent, if it paid, because the child did not. Returns the parent, its bucket refilled to now, if one
    /// shard is all of it.
    async fn undo_parent(
        &self,
        request: &CheckedRequest<'_>,
        take: &Take<'_>,
        result: Result<TakeResult>,
    ) -> Option<Payer> {
        let (whole, version) = match result {
            Ok(TakeResult::Taken(bucket)) => {
                self.refund(take, Bucket::clone(&bucket)).await;
                (before_take(request, take, &bucket), None)
            }
            Ok(TakeResult::Refused(Some(found))) if found.refilled_ms != 0 => {
                let whole = found.refilled(request.now_ms);
                // Limits that were removed since limit nothing: the slow path finds out which apply.
                let is_outdated =
                    found.has_jumped(request.now_ms) || found.origin != take.image.origin;
                let version = self.observe_found(take, found);
                if is_outdated {
                    return None;
                }
                (whole, version)
            }
            _ => return None,
        };
        let id = take.id.clone();
        (whole.shard_count == 1).then_some(Payer { id, whole, version })
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
        let found = match parent {
            Ok(TakeResult::Taken(bucket)) => {
                let from = [(child_take.id, child), (parent_take.id, &*bucket)];
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
        let next = next_step(found.as_ref(), parent_take, splits, request.now_ms);
        if let Next::Refuse(parent) = next
            && child.shard_count == 1
        {
            self.refund(child_take, child.clone()).await;
            let whole = before_take(request, child_take, child);
            let child = Payer { id: child_take.id.clone(), whole, version: None };
            let parent = Payer { id: parent_take.id.clone(), whole: parent, version: None };
            let refused = self.refused_by(request, vec![child, parent]);
            return Ok(Attempt::Done(Acquired::Refused(refused)));
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
        let entity = &child_take.id.entity;
        let statuses =
            |bucket: &Bucket| limit_statuses(entity, bucket, child_take.amounts, request.now_ms);
        match self.take_slow(request, Payers::ParentOnly(parent), &grant).await {
            Ok(SlowOutcome::Taken(grant, parent_limits)) => {
                let mut limits = statuses(&child.refilled(request.now_ms));
                limits.extend(parent_limits);
                let limits = refusal::granted(limits);
                Ok(Attempt::Done(Acquired::Granted(Granted { grant, limits })))
            }
            Ok(SlowOutcome::Refused(parent_limits)) => {
                self.refund(child_take, child.clone()).await;
                let mut limits = statuses(&before_take(request, child_take, child));
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
