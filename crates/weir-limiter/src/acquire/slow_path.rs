//! The slow path: read config and buckets, refill, take, write the differences.
//!
//! That is one write for one bucket, and a transaction when the parent pays too, when several shards pay, or when the grant
//! is stored. If another process was faster, the write's condition fails and everything is read again.

use std::sync::Arc;

use weir_table::{Backend, Item, Write};

use super::bucket_cache::CachedBucket;
use super::bucket_plan::{BucketPlan, Decision, PlanContext, ShardState};
use super::refusal::{self, Payer, granted_statuses, limit_statuses};
use super::request::{CheckedRequest, check_capacity, restricted_to};
use super::{Acquired, Granted, LimitStatus, Refused};
use crate::bounds::{SHARDS_MAX, TRIES_MAX};
use crate::bucket::Origin;
use crate::error::{Error, Result};
use crate::ids::EntityId;
use crate::item::BucketId;
use crate::lease::{EntityTake, Grant};
use crate::limiter::Namespace;
use crate::retry::pause;
use crate::writes::{self, Cover};

/// The entities whose buckets the slow path takes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payers<'a> {
    /// The entity and, if it cascades, its parent.
    ChildAndParent,
    /// The parent only: the child has paid.
    ParentOnly(&'a EntityId),
}

/// The result of the slow path, with the status of every limit.
#[derive(Debug)]
pub(super) enum SlowOutcome {
    /// The amounts were taken: the grant with all its takes. An idempotency key may have taken them before.
    Taken(Grant, Vec<LimitStatus>),
    /// A bucket had too little. Nothing was taken.
    Refused(Vec<LimitStatus>),
}

impl<B: Backend> Namespace<B> {
    /// Takes from the entity and its parent, and stores the grant if the request says so.
    pub(super) async fn acquire_slow(&self, request: &CheckedRequest<'_>) -> Result<Acquired> {
        let grant = self.grant(request, Vec::new());
        match self.take_slow(request, Payers::ChildAndParent, &grant).await? {
            SlowOutcome::Taken(grant, limits) => Ok(Acquired::Granted(Granted { grant, limits })),
            SlowOutcome::Refused(limits) => Ok(Acquired::Refused(Refused::new(limits))),
        }
    }

    /// Adds the takes to `grant`, which may have takes already.
    pub(super) async fn take_slow(
        &self,
        request: &CheckedRequest<'_>,
        payers: Payers<'_>,
        grant: &Grant,
    ) -> Result<SlowOutcome> {
        let contended = self.contended_bucket(request, payers);
        let _turn = match &contended {
            Some(bucket) => Some(bucket.refilling.lock().await),
            None => None,
        };
        let mut reload_config = false;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let plans = self.bucket_plans(request, payers, reload_config).await;
            // Read after the buckets: if they show the takes of this key, then so does its record.
            if let Some(recorded) = self.recorded_grant(request).await? {
                let limits = self.statuses(&plans.unwrap_or_default(), request.now_ms);
                return Ok(SlowOutcome::Taken(recorded, refusal::granted(limits)));
            }
            let plans = match plans {
                Err(Error::Store(weir_table::Error::Conflict)) => continue,
                plans => plans?,
            };
            if plans.is_empty() {
                // A parent that has none of the limits has nothing to pay.
                return Ok(SlowOutcome::Taken(grant.clone(), Vec::new()));
            }
            let context = self.plan_context(request.now_ms);
            let table = self.limiter.table();
            let decisions: Vec<Decision> =
                plans.iter().map(|plan| plan.decide(context, &table)).collect();
            if decisions.iter().any(|decision| matches!(decision, Decision::ReloadConfig)) {
                reload_config = true;
                continue;
            }
            if decisions.iter().any(|decision| matches!(decision, Decision::Refuse(_))) {
                self.refill_jumped(&plans, request.now_ms).await?;
                return Ok(SlowOutcome::Refused(self.refuse(request, payers, &plans, &decisions)));
            }
            if self.split_hot_buckets(&plans, &decisions).await? {
                continue;
            }
            let mut grant = grant.clone();
            grant.takes.extend(entity_takes(&plans, &decisions));
            if self.write_takes(request, &decisions, &grant).await? {
                let limits = self.taken(&plans, decisions, request.now_ms);
                return Ok(SlowOutcome::Taken(grant, limits));
            }
        }
        Err(Error::Contended)
    }

    /// The bucket that most requests like this one write: the parent's, if there is one. None, if it is not remembered, or
    /// if the store is remote: then requests that wait for each other would add up their round trips.
    fn contended_bucket(
        &self,
        request: &CheckedRequest<'_>,
        payers: Payers<'_>,
    ) -> Option<Arc<CachedBucket>> {
        if self.limiter.settings().sharded {
            return None;
        }
        let cache = &self.limiter.inner.bucket_cache;
        let child = cache.get(&request.id)?;
        let latest = child.latest();
        let parent = match payers {
            Payers::ParentOnly(parent) => Some(parent),
            Payers::ChildAndParent => latest.parent.as_ref().filter(|_| latest.cascade),
        };
        let parent = parent.map(|entity| BucketId { entity: entity.clone(), ..request.id.clone() });
        parent.and_then(|id| cache.get(&id)).or(Some(child))
    }

    /// Refills shards whose clock has jumped, although nobody takes from them. A last refill in the future is set back, and
    /// time that was granted before is granted again in small steps, of which each request makes one.
    async fn refill_jumped(&self, plans: &[BucketPlan], now_ms: i64) -> Result<()> {
        for plan in plans {
            let live = plan.shards.iter().filter_map(ShardState::live);
            for old in live.filter(|shard| shard.has_jumped(now_ms)) {
                let (table, new) = (self.limiter.table(), old.refilled(now_ms));
                if new == *old {
                    continue;
                }
                let write = writes::change(table, &plan.id, old, &new, Cover::NotRequired);
                // A refused write means that somebody else did it.
                self.limiter.try_write(write).await?;
            }
        }
        Ok(())
    }

    /// Splits the buckets that need it. Returns whether there were any.
    async fn split_hot_buckets(
        &self,
        plans: &[BucketPlan],
        decisions: &[Decision],
    ) -> Result<bool> {
        let mut any = false;
        for (plan, decision) in plans.iter().zip(decisions) {
            if let Decision::Split(count) = decision {
                self.double_shards(&plan.id.entity, &plan.id.resource, *count).await?;
                any = true;
            }
        }
        Ok(any)
    }

    pub(super) fn plan_context(&self, now_ms: i64) -> PlanContext {
        let settings = self.limiter.settings();
        PlanContext {
            meters_writes: settings.sharded,
            splits: settings.sharded && !settings.is_shared(),
            shared: settings.is_shared(),
            now_ms,
        }
    }

    /// Reads the buckets that pay, and checks that their limits can ever grant the request.
    pub(super) async fn bucket_plans(
        &self,
        request: &CheckedRequest<'_>,
        payers: Payers<'_>,
        reload_config: bool,
    ) -> Result<Vec<BucketPlan>> {
        let mut plans = Vec::with_capacity(2);
        let parent = match payers {
            Payers::ParentOnly(parent) => Some(parent.clone()),
            Payers::ChildAndParent => {
                let mut plan = self.bucket_plan(request, request.id.clone(), reload_config).await?;
                check_capacity(&plan.resolved, &request.amounts, None)?;
                plan.amounts.clone_from(&request.amounts);
                let parent = plan.parent.clone().filter(|_| plan.cascade);
                plans.push(plan);
                parent
            }
        };
        if let Some(parent) = parent {
            let id = BucketId { entity: parent, ..request.id.clone() };
            let mut plan = match self.bucket_plan(request, id, reload_config).await {
                // A parent without limits limits nothing.
                Err(Error::NoLimits { .. }) => return Ok(plans),
                plan => plan?,
            };
            let has = |name: &_| plan.resolved.limits.iter().any(|limit| limit.name == *name);
            plan.amounts = restricted_to(&request.amounts, has);
            check_capacity(&plan.resolved, &plan.amounts, Some(&plan.id.entity))?;
            if !plan.amounts.is_empty() {
                plans.push(plan);
            }
        }
        Ok(plans)
    }

    /// Reads all shards of a bucket and the limits that apply to it.
    async fn bucket_plan(
        &self,
        request: &CheckedRequest<'_>,
        id: BucketId,
        reload_config: bool,
    ) -> Result<BucketPlan> {
        let (entity, resource) = (&id.entity, &id.resource);
        // The caller's own limits are those of the requesting entity, never its parent's.
        let caller_limits = request.caller_limits().filter(|_| id.entity == request.id.entity);
        let cached = self.limiter.inner.bucket_cache.get(&id);
        let version = cached.as_ref().map(|cached| cached.version());
        let (mut resolved, is_read) = if reload_config {
            (self.resolve_from_store(entity, resource, caller_limits).await?, true)
        } else {
            // A bucket that this process has not seen is probably a new one.
            let is_new = cached.is_none();
            self.resolve_and_read(entity, resource, caller_limits, is_new).await?
        };
        let expected_count = cached.map_or(1, |cached| cached.latest().shard_count);
        let shards = self.read_shard_states(&id, expected_count, request.now_ms).await?;
        let live = shards.iter().find_map(ShardState::live);
        // The propagation of a changed config may have passed before this bucket gets limits, so that it must not get those that
        // this process remembers: nobody would correct them.
        let has_limits = live.is_some_and(|bucket| bucket.origin != Origin::Nowhere);
        let is_reloaded = !is_read && !has_limits;
        if is_reloaded {
            resolved = self.resolve_from_store(entity, resource, caller_limits).await?;
        }
        let (cascade, parent) = match live {
            Some(bucket) => (bucket.cascade, bucket.parent.clone()),
            None => self.cascade_of(entity).await?,
        };
        let preferred_shard = fastrand::u32(..u32::try_from(shards.len()).unwrap_or(1).max(1));
        Ok(BucketPlan {
            amounts: Vec::new(),
            version,
            lease_ttl_ms: request.acquire.lease_ttl_ms,
            resolved,
            is_fresh: reload_config || is_reloaded,
            cascade,
            parent,
            shards,
            preferred_shard,
            id,
        })
    }

    /// Reads all shards of a bucket. The first shard stores their number; `expected` saves a second read if it is right.
    pub(super) async fn read_shard_states(
        &self,
        id: &BucketId,
        expected: u32,
        now_ms: i64,
    ) -> Result<Vec<ShardState>> {
        let expected = expected.clamp(1, SHARDS_MAX);
        let mut shards = self.read_shard_range(id, 0, expected, now_ms).await?;
        let stored = shards.first().and_then(ShardState::bucket).map(|bucket| bucket.shard_count);
        // Without a first shard there is one bucket to create, whatever was expected.
        let count = stored.unwrap_or(1).clamp(1, SHARDS_MAX);
        if count > expected {
            shards.extend(self.read_shard_range(id, expected, count, now_ms).await?);
        }
        shards.truncate(count as usize);
        let is_missing = |state: &ShardState| matches!(state, ShardState::Missing);
        if self.limiter.settings().is_shared() && shards.iter().skip(1).all(is_missing) {
            // A first shard without siblings is the whole bucket, and the next write says so.
            shards.truncate(1);
        }
        Ok(shards)
    }

    /// Reads the shards from `from` up to before `to`.
    pub(super) async fn read_shard_range(
        &self,
        id: &BucketId,
        from: u32,
        to: u32,
        now_ms: i64,
    ) -> Result<Vec<ShardState>> {
        let gets: Vec<_> = (from..to).map(|shard| self.get_shard(id, shard)).collect();
        let items = self.limiter.store().batch_get(&gets).await?;
        let state = |item: &Option<Item>| ShardState::from_item(id, item.as_ref(), now_ms);
        items.iter().map(state).collect()
    }

    async fn write_takes(
        &self,
        request: &CheckedRequest<'_>,
        decisions: &[Decision],
        grant: &Grant,
    ) -> Result<bool> {
        let mut writes: Vec<Write> = Vec::new();
        for decision in decisions {
            if let Decision::Take { writes: of_bucket, .. } = decision {
                writes.extend(of_bucket.iter().cloned());
            }
        }
        writes.extend(self.grant_writes(request, grant));
        match (writes.pop(), writes.is_empty()) {
            (Some(only), true) => self.limiter.try_write(only).await,
            (last, _) => {
                writes.extend(last);
                self.limiter.try_transact(writes).await
            }
        }
    }

    fn taken(
        &self,
        plans: &[BucketPlan],
        decisions: Vec<Decision>,
        now_ms: i64,
    ) -> Vec<LimitStatus> {
        let mut limits = Vec::new();
        for (plan, decision) in plans.iter().zip(decisions) {
            if let Decision::Take { after, observed, .. } = decision {
                self.observe_shards(plan);
                self.limiter.inner.bucket_cache.observe(&plan.id, observed);
                limits.extend(granted_statuses(&plan.id.entity, &after, &plan.amounts, now_ms));
            }
        }
        limits
    }

    fn refuse(
        &self,
        request: &CheckedRequest<'_>,
        payers: Payers<'_>,
        plans: &[BucketPlan],
        decisions: &[Decision],
    ) -> Vec<LimitStatus> {
        let mut refusing = Vec::with_capacity(plans.len());
        for (plan, decision) in plans.iter().zip(decisions) {
            let whole = match decision {
                Decision::Refuse(whole) => whole.clone(),
                Decision::Take { after, .. } => {
                    // The other bucket refuses, so nothing is taken from this one.
                    let mut whole = after.clone();
                    for (name, amount) in &plan.amounts {
                        whole.take(name, -amount);
                    }
                    whole
                }
                Decision::ReloadConfig | Decision::Split(_) => continue,
            };
            let live = plan.shards.iter().filter_map(ShardState::live);
            let cache = &self.limiter.inner.bucket_cache;
            let version = cache.observe_since(&plan.id, plan.version, live.clone().cloned());
            // Limits that the stored bucket does not have yet count from later on.
            let is_stored = !plan.limits_differ()
                && live.clone().all(|shard| !shard.has_jumped(request.now_ms));
            let version = version.filter(|_| is_stored);
            refusing.push(Payer { id: plan.id.clone(), whole, version });
        }
        if payers == Payers::ChildAndParent {
            return self.refused_by(request, refusing).limits;
        }
        let statuses = refusing.iter().zip(plans).map(|(payer, plan)| {
            limit_statuses(&payer.id.entity, &payer.whole, &plan.amounts, request.now_ms)
        });
        statuses.flatten().collect()
    }

    /// Remembers the shards that were read.
    fn observe_shards(&self, plan: &BucketPlan) {
        for bucket in plan.shards.iter().filter_map(ShardState::live) {
            self.limiter.inner.bucket_cache.observe(&plan.id, bucket.clone());
        }
    }
}

fn entity_takes(plans: &[BucketPlan], decisions: &[Decision]) -> Vec<EntityTake> {
    let take = |(plan, decision): (&BucketPlan, &Decision)| match decision {
        Decision::Take { takes, .. } => {
            Some(EntityTake { entity: plan.id.entity.clone(), shards: takes.clone() })
        }
        _ => None,
    };
    plans.iter().zip(decisions).filter_map(take).collect()
}
