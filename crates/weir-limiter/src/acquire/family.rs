//! Child and parent pay both, or neither.
//!
//! On the embedded store that is one transaction. On DynamoDB a transaction costs twice, so both are asked in parallel, and
//! who has paid alone is given back. A process that dies in between leaves the two apart by what it had in flight,
//! always on the side of having taken.

use weir_table::{Backend, Get, Transacted, Transaction, Verdict};

use super::ask::{Ask, within};
use super::fast::{Take, Wcu};
use super::judge::{Next, judge};
use super::known::Facts;
use super::refusal;
use super::slow::{Taken, Who};
use super::take::{Step, Tried, pick};
use super::{Acquired, Granted};
use crate::bounds::TRIES_MAX;
use crate::bucket::Bucket;
use crate::error::Result;
use crate::ids::{EntityId, LimitName};
use crate::item::{self, BucketId};
use crate::keys;
use crate::lease::{Grant, OnExpiry};
use crate::limiter::Namespace;
use crate::retry::pause;
use crate::writes::{self, Cover};

/// What a parent is asked for, from what is remembered of it.
struct Share {
    id: BucketId,
    facts: Option<std::sync::Arc<Facts>>,
    amounts: Vec<(LimitName, i64)>,
    /// Limits it is believed not to have.
    lacks: Vec<LimitName>,
}

impl<B: Backend> Namespace<B> {
    fn share_of(&self, ask: &Ask<'_>, parent: &EntityId) -> Share {
        let id = BucketId { entity: parent.clone(), ..ask.id.clone() };
        let facts = self.limiter.inner.known.get(&id);
        let has = |name: &LimitName| facts.as_ref().is_none_or(|facts| facts.limits.contains(name));
        let amounts = within(&ask.amounts, has);
        let lacks = ask.amounts.iter().map(|(name, _)| name).filter(|name| !has(name)).cloned();
        let lacks = lacks.collect();
        Share { amounts, lacks, facts, id }
    }

    fn take_share<'t>(&self, ask: &Ask<'_>, share: &'t Share, shard: u32, wcu: Wcu) -> Take<'t> {
        Take {
            id: &share.id,
            shard,
            amounts: &share.amounts,
            wcu,
            facts: share.facts.as_deref(),
            same_family: false,
            lacks: &share.lacks,
            shared: self.limiter.settings().is_shared(),
            now_ms: ask.now_ms,
        }
    }

    /// Takes from child and parent, and writes the lease where it is to be, in one transaction.
    pub(super) async fn take_together(
        &self,
        ask: &Ask<'_>,
        facts: &Facts,
        parent: Option<&EntityId>,
        wcu: Wcu,
    ) -> Result<Step> {
        let share = parent.map(|parent| self.share_of(ask, parent));
        if share.as_ref().is_some_and(|share| share.amounts.is_empty()) {
            return Ok(Step::Slow);
        }
        let table = self.limiter.table();
        let mut takes = vec![self.take_of(ask, &ask.id, pick(Some(facts)), Some(facts), wcu)];
        if let Some(share) = &share {
            takes.push(self.take_share(ask, share, pick(share.facts.as_deref()), wcu));
        }
        let mut writes: Vec<_> = takes.iter().map(|take| take.write(table.clone())).collect();
        let from = takes.iter().map(|take| (take.id, take.shard, take.amounts.as_slice()));
        let grant = self.grant(ask, entity_takes(from));
        if grant.on_expiry == OnExpiry::Rollback {
            writes.push(self.held_write(&grant));
        }
        match self.limiter.store().transact(Transaction::new(writes)).await {
            Err(weir_table::Error::Conflict) => Ok(Step::Again),
            Err(error) => Err(error.into()),
            Ok(Transacted::Applied) => {
                let limits = self.read_back(ask, &takes).await?;
                Ok(Step::Done(Acquired::Granted(Granted { grant, limits })))
            }
            Ok(Transacted::Refused(verdicts)) => self.follow_together(ask, &takes, verdicts).await,
        }
    }

    /// How the limits are after a transaction, which does not tell.
    async fn read_back(
        &self,
        ask: &Ask<'_>,
        takes: &[Take<'_>],
    ) -> Result<Vec<super::LimitStatus>> {
        let get = |take: &Take<'_>| {
            let key = keys::bucket(&take.id.ns, &take.id.entity, &take.id.resource, take.shard);
            Get::new(self.limiter.table(), key)
        };
        let gets: Vec<Get> = takes.iter().map(get).collect();
        let mut limits = Vec::new();
        // It is taken already: not knowing how much is left must not fail it.
        let items = self.limiter.store().batch_get(&gets).await.unwrap_or_default();
        for (take, item) in takes.iter().zip(items) {
            let Some(item) = item else { continue };
            let bucket = item::decode(&item);
            self.limiter.inner.known.saw(take.id, take.facts, &bucket);
            let now = bucket.refilled(ask.now_ms);
            limits.extend(refusal::statuses(&take.id.entity, &now, take.amounts));
        }
        Ok(refusal::granted(limits))
    }

    /// What follows a transaction that was refused. A refusal goes the slow way too: a verdict shows only the buckets that
    /// failed, and an answer names all limits.
    async fn follow_together(
        &self,
        ask: &Ask<'_>,
        takes: &[Take<'_>],
        verdicts: Vec<Verdict>,
    ) -> Result<Step> {
        let mut next = Step::Slow;
        for (take, verdict) in takes.iter().zip(verdicts) {
            let Verdict::Failed(item) = verdict else { continue };
            match self.follow(ask, take, item.as_ref().map(item::decode)).await? {
                Step::Slow | Step::Done(_) => return Ok(Step::Slow),
                step => next = step,
            }
        }
        Ok(next)
    }

    /// Takes from child and parent at the same time.
    pub(super) async fn take_in_parallel(
        &self,
        ask: &Ask<'_>,
        facts: &Facts,
        parent: &EntityId,
        wcu: Wcu,
    ) -> Result<Step> {
        let share = self.share_of(ask, parent);
        if share.amounts.is_empty() {
            return Ok(Step::Slow);
        }
        let of_child = self.take_of(ask, &ask.id, pick(Some(facts)), Some(facts), wcu);
        let of_parent = self.take_share(ask, &share, pick(share.facts.as_deref()), wcu);
        let (child, parent) = tokio::join!(self.try_take(&of_child), self.try_take(&of_parent));
        match child {
            Ok(Tried::Taken(child)) => {
                self.limiter.inner.known.saw(&ask.id, Some(facts), &child);
                self.child_has_paid(ask, &of_child, &child, &of_parent, parent).await
            }
            not => {
                let mut of_both = Vec::new();
                match parent {
                    Ok(Tried::Taken(bucket)) => {
                        of_both = self.as_before(ask, &of_parent, &bucket);
                        self.limiter.inner.known.saw(&share.id, share.facts.as_deref(), &bucket);
                        self.give_back(&of_parent, bucket).await;
                    }
                    Ok(Tried::Not(Some(bucket))) => {
                        let now = bucket.refilled(ask.now_ms);
                        of_both = refusal::statuses(&share.id.entity, &now, &share.amounts);
                    }
                    _ => {}
                }
                let step = match not? {
                    Tried::Not(found) => self.follow(ask, &of_child, found).await?,
                    Tried::Busy | Tried::Taken(_) => Step::Again,
                };
                Ok(match step {
                    Step::Done(Acquired::Refused(mut refused)) => {
                        refused.limits.append(&mut of_both);
                        Step::Done(Acquired::Refused(refusal::refused(refused.limits)))
                    }
                    step => step,
                })
            }
        }
    }

    /// The child paid before it was known that it has a parent: now the parent.
    pub(super) async fn then_parent(
        &self,
        ask: &Ask<'_>,
        shard: u32,
        child: &Bucket,
        parent: &EntityId,
        wcu: Wcu,
    ) -> Result<Step> {
        let share = self.share_of(ask, parent);
        let of_child = self.take_of(ask, &ask.id, shard, None, wcu);
        let of_parent = self.take_share(ask, &share, pick(share.facts.as_deref()), wcu);
        let tried = if share.amounts.is_empty() {
            Ok(Tried::Not(None))
        } else {
            self.try_take(&of_parent).await
        };
        self.child_has_paid(ask, &of_child, child, &of_parent, tried).await
    }

    /// The child has paid. If the parent does not, the child gets it back.
    async fn child_has_paid(
        &self,
        ask: &Ask<'_>,
        of_child: &Take<'_>,
        child: &Bucket,
        of_parent: &Take<'_>,
        parent: Result<Tried>,
    ) -> Result<Step> {
        let found = match parent {
            Ok(Tried::Taken(bucket)) => {
                self.limiter.inner.known.saw(of_parent.id, of_parent.facts, &bucket);
                let from = [
                    (of_child.id, of_child.shard, child.clone()),
                    (of_parent.id, of_parent.shard, bucket),
                ];
                return Ok(Step::Done(self.granted(ask, from)));
            }
            Ok(Tried::Not(found)) => found,
            Ok(Tried::Busy) => None,
            Err(error) => {
                self.give_back(of_child, child.clone()).await;
                return Err(error);
            }
        };
        let splits = self.house(ask.now_ms).splits;
        let (amounts, lacks) = (of_parent.amounts, of_parent.lacks);
        let next = judge(found.as_ref(), None, amounts, lacks, of_parent.wcu, splits, ask.now_ms);
        if let Next::Refuse(now) = next {
            self.give_back(of_child, child.clone()).await;
            if let Some(found) = &found {
                self.limiter.inner.known.saw(of_parent.id, of_parent.facts, found);
            }
            let mut limits = self.as_before(ask, of_child, child);
            limits.extend(refusal::statuses(&of_parent.id.entity, &now, amounts));
            let memory = refusal::Refusal::new(now, amounts, ask.now_ms);
            self.limiter.inner.known.refused(of_parent.id, memory);
            return Ok(Step::Done(Acquired::Refused(refusal::refused(limits))));
        }
        self.parent_only(ask, of_child, child, &of_parent.id.entity).await
    }

    /// The parent alone goes the slow path.
    async fn parent_only(
        &self,
        ask: &Ask<'_>,
        of_child: &Take<'_>,
        child: &Bucket,
        parent: &EntityId,
    ) -> Result<Step> {
        let from = [(of_child.id, of_child.shard, of_child.amounts.as_slice())];
        let grant = self.grant(ask, entity_takes(from.into_iter()));
        match self.slow(ask, Who::Parent(parent), &grant).await {
            Ok(Taken::Done(takes, of_parent)) => {
                let mut grant: Grant = grant;
                grant.takes.extend(takes);
                let now = child.refilled(ask.now_ms);
                let mut limits = refusal::statuses(&of_child.id.entity, &now, of_child.amounts);
                limits.extend(of_parent);
                let limits = refusal::granted(limits);
                Ok(Step::Done(Acquired::Granted(Granted { grant, limits })))
            }
            Ok(Taken::Refused(of_parent)) => {
                self.give_back(of_child, child.clone()).await;
                let mut limits = self.as_before(ask, of_child, child);
                limits.extend(of_parent);
                Ok(Step::Done(Acquired::Refused(refusal::refused(limits))))
            }
            Err(error) => {
                self.give_back(of_child, child.clone()).await;
                Err(error)
            }
        }
    }

    /// How the child's limits are without what was taken and given back.
    fn as_before(&self, ask: &Ask<'_>, take: &Take<'_>, child: &Bucket) -> Vec<super::LimitStatus> {
        let mut before = child.refilled(ask.now_ms);
        for (name, amount) in take.amounts {
            before.take(name, -amount);
        }
        refusal::statuses(&take.id.entity, &before, take.amounts)
    }

    /// Gives back what was taken from a shard that was `after` it. As good as it can: what cannot be given back stays taken.
    ///
    /// In a transaction, though it is one write, because a transaction's token keeps it from happening twice when
    /// its answer is lost.
    async fn give_back(&self, take: &Take<'_>, after: Bucket) {
        let mut found = after;
        for tried in 0..TRIES_MAX {
            pause(tried).await;
            let mut new = found.clone();
            for (name, amount) in take.amounts {
                new.take(name, -amount);
            }
            let write =
                writes::change(self.limiter.table(), take.id, &found, &new, Cover::Unneeded);
            let token = format!("{:032x}", fastrand::u128(..));
            match self.limiter.store().transact(Transaction::new([write]).token(token)).await {
                Ok(Transacted::Applied) => {
                    let BucketId { ns, entity, resource } = take.id;
                    self.limiter.inner.known.given_back(ns, entity, resource);
                    return;
                }
                Ok(Transacted::Refused(verdicts)) => match verdicts.into_iter().next() {
                    Some(Verdict::Failed(Some(item))) => found = item::decode(&item),
                    _ => return,
                },
                Err(weir_table::Error::Conflict) => {}
                Err(error) => {
                    tracing::warn!(entity.id = %take.id.entity, %error, "what a parent refused could not be given back to its child");
                    return;
                }
            }
        }
        tracing::warn!(entity.id = %take.id.entity, "too many write the bucket: what its parent refused stays taken");
    }
}

fn entity_takes<'t>(
    from: impl Iterator<Item = (&'t BucketId, u32, &'t [(LimitName, i64)])>,
) -> Vec<crate::lease::EntityTake> {
    from.map(|(id, shard, amounts)| crate::lease::EntityTake {
        entity: id.entity.clone(),
        shards: vec![crate::bucket::ShardTake {
            shard,
            amounts: amounts.iter().cloned().collect(),
        }],
    })
    .collect()
}
