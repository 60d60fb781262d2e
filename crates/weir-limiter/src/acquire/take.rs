//! The way of a request through the fast path, and to the slow one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use weir_table::{Added, Backend, Item, Written};

use super::ask::Ask;
use super::fast::{Take, Wcu};
use super::judge::{Next, judge};
use super::known::Facts;
use super::refusal::{self, Refusal};
use super::{Acquire, Acquired, Granted};
use crate::bounds::TRIES_MAX;
use crate::bucket::{Bucket, ShardTake};
use crate::config::OnUnavailable;
use crate::error::{Error, Result};
use crate::ids::{EntityId, zae};
use crate::item::BucketId;
use crate::lease::{EntityTake, Grant, OnExpiry};
use crate::limiter::Namespace;
use crate::retry::pause;

/// What a try of the fast path came to.
#[derive(Debug)]
pub(super) enum Step {
    /// An answer.
    Done(Acquired),
    /// Try again.
    Again,
    /// Try again without counting the write.
    Uncounted,
    /// Go the slow path.
    Slow,
}

/// What a write of the fast path came to.
#[derive(Debug)]
pub(super) enum Tried {
    /// Taken; the shard then.
    Taken(Bucket),
    /// Not taken; the shard, if there is one.
    Not(Option<Bucket>),
    /// A transaction was at the item.
    Busy,
}

/// Whether a bucket that this makes can be used by zae-limiter too.
fn fits_zae(request: &Acquire) -> Result<()> {
    zae::resource(&request.resource)?;
    request.limits.iter().flatten().try_for_each(|limit| zae::limit(&limit.name))
}

impl<B: Backend> Namespace<B> {
    /// Takes tokens from the entity's bucket and, if it cascades, from its parent's: from both or from neither.
    ///
    /// # Errors
    /// The request is wrong, nobody has limits for it, or the store fails and `on_unavailable` is `block`.
    pub async fn acquire(&self, request: &Acquire) -> Result<Acquired> {
        if self.limiter.settings().is_shared() {
            fits_zae(request)?;
        }
        let ask = Ask::new(&self.id, request, self.limiter.now_ms())?;
        if request.dry_run {
            return Box::pin(self.look(&ask)).await;
        }
        match self.take(&ask).await {
            Err(error) if error.is_unavailable() => self.without_store(&ask, error),
            answer => answer,
        }
    }

    /// What most requests do not do is in boxes: their own futures stay small, and are moved a few times.
    async fn take(&self, ask: &Ask<'_>) -> Result<Acquired> {
        let known = self.limiter.inner.known.get(&ask.id);
        let usual = known.as_deref().filter(|facts| self.is_usual(ask, facts));
        let Some(facts) = usual else { return Box::pin(self.take_in_turn(ask)).await };
        if let Some(refused) = self.refused_again(ask, facts) {
            return Ok(refused);
        }
        let taking = self.taking(ask, facts).await?;
        match self.take_prepared(ask, facts, &taking).await {
            Ok(Added::Done(bucket)) => {
                self.limiter.inner.known.saw(&ask.id, Some(facts), &bucket);
                Ok(self.granted(ask, [(&ask.id, bucket.shard, bucket)]))
            }
            Ok(Added::Refused(found)) => Box::pin(self.take_on(ask, facts, found)).await,
            Err(weir_table::Error::Conflict) => Box::pin(self.take_in_turn(ask)).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Goes on when what was prepared has not taken, because the bucket was found like this.
    async fn take_on(&self, ask: &Ask<'_>, facts: &Facts, found: Option<Item>) -> Result<Acquired> {
        let take = self.take_of(ask, &ask.id, pick(Some(facts)), Some(facts), Wcu::None);
        let found = found.as_ref().map(|item| take.read(item));
        match self.follow(ask, &take, found).await? {
            Step::Done(answer) => Ok(answer),
            Step::Slow => self.take_slowly(ask).await,
            Step::Again | Step::Uncounted => self.take_in_turn(ask).await,
        }
    }

    /// Tries one way after the other, as often as may be.
    async fn take_in_turn(&self, ask: &Ask<'_>) -> Result<Acquired> {
        let sharded = self.limiter.settings().sharded;
        let holds = ask.request.on_expiry == OnExpiry::Rollback;
        let mut wcu = if sharded { Wcu::Charged } else { Wcu::None };
        for tried in 0..TRIES_MAX {
            pause(tried).await;
            let known = self.limiter.inner.known.get(&ask.id);
            let step = match known.as_deref() {
                Some(facts) => {
                    if let Some(refused) = self.refused_again(ask, facts) {
                        return Ok(refused);
                    }
                    match &facts.parent {
                        Some(parent) if facts.cascade && sharded && !holds => {
                            Box::pin(self.take_in_parallel(ask, facts, parent, wcu)).await?
                        }
                        Some(parent) if facts.cascade => {
                            Box::pin(self.take_together(ask, facts, Some(parent), wcu)).await?
                        }
                        _ if holds => Box::pin(self.take_together(ask, facts, None, wcu)).await?,
                        _ => self.take_alone(ask, Some(facts), wcu).await?,
                    }
                }
                // Without facts, an image tells who else pays: too late for one transaction.
                None if sharded && !holds => self.take_alone(ask, None, wcu).await?,
                None => Step::Slow,
            };
            match step {
                Step::Done(answer) => return Ok(answer),
                Step::Again => {}
                Step::Uncounted => wcu = Wcu::Uncounted,
                Step::Slow => return Box::pin(self.take_slowly(ask)).await,
            }
        }
        Err(Error::Contended)
    }

    /// Takes from one bucket.
    async fn take_alone(&self, ask: &Ask<'_>, facts: Option<&Facts>, wcu: Wcu) -> Result<Step> {
        let shard = pick(facts);
        let take = self.take_of(ask, &ask.id, shard, facts, wcu);
        match self.try_take(&take).await? {
            Tried::Busy => Ok(Step::Again),
            Tried::Taken(bucket) => {
                self.limiter.inner.known.saw(&ask.id, facts, &bucket);
                match &bucket.parent {
                    Some(parent) if bucket.cascade && facts.is_none() => {
                        Box::pin(self.then_parent(ask, shard, &bucket, parent, wcu)).await
                    }
                    _ => Ok(Step::Done(self.granted(ask, [(&ask.id, shard, bucket)]))),
                }
            }
            Tried::Not(found) => Box::pin(self.follow(ask, &take, found)).await,
        }
    }

    pub(super) fn take_of<'t>(
        &self,
        ask: &'t Ask<'_>,
        id: &'t BucketId,
        shard: u32,
        facts: Option<&'t Facts>,
        wcu: Wcu,
    ) -> Take<'t> {
        Take {
            id,
            shard,
            amounts: &ask.amounts,
            wcu,
            facts,
            same_family: facts.is_some(),
            lacks: &[],
            shared: self.limiter.settings().is_shared(),
            now_ms: ask.now_ms,
        }
    }

    pub(super) async fn try_take(&self, take: &Take<'_>) -> Result<Tried> {
        match self.limiter.store().write(take.write(self.limiter.table())).await {
            Ok(Written::Applied(item)) => Ok(Tried::Taken(take.read(&item.unwrap_or_default()))),
            Ok(Written::Refused(item)) => Ok(Tried::Not(item.as_ref().map(|item| take.read(item)))),
            Err(weir_table::Error::Conflict) => Ok(Tried::Busy),
            Err(error) => Err(error.into()),
        }
    }

    /// What follows a take of the entity's own bucket that was refused.
    pub(super) async fn follow(
        &self,
        ask: &Ask<'_>,
        take: &Take<'_>,
        found: Option<Bucket>,
    ) -> Result<Step> {
        let splits = self.house(ask.now_ms).splits;
        let family = take.facts.filter(|_| take.same_family);
        let next =
            judge(found.as_ref(), family, take.amounts, take.lacks, take.wcu, splits, ask.now_ms);
        if let Some(found) = found.filter(|found| found.refilled_ms != 0) {
            self.limiter.inner.known.saw(take.id, take.facts, &found);
        }
        Ok(match next {
            Next::Slow => Step::Slow,
            Next::Again => Step::Again,
            Next::Uncounted => Step::Uncounted,
            Next::Double(count) => {
                self.double_shards(&take.id.entity, &take.id.resource, count).await?;
                Step::Again
            }
            Next::Refuse(now) => {
                let limits = refusal::statuses(&take.id.entity, &now, take.amounts);
                self.limiter
                    .inner
                    .known
                    .refused(take.id, Refusal::new(now, take.amounts, ask.now_ms));
                Step::Done(Acquired::Refused(refusal::refused(limits)))
            }
        })
    }

    /// The refusal of a repeat, if the last one still holds for the entity or its parent.
    fn refused_again(&self, ask: &Ask<'_>, facts: &Facts) -> Option<Acquired> {
        let again = |entity: &EntityId, facts: &Facts| {
            let refusal = facts.refusal(ask.now_ms)?;
            let limits = || refusal::statuses(entity, &refusal.bucket(ask.now_ms), &ask.amounts);
            refusal.refuses(&ask.amounts, ask.now_ms).then(limits)
        };
        let limits = again(&ask.id.entity, facts).or_else(|| {
            let parent = facts.parent.as_ref().filter(|_| facts.cascade)?;
            let id = BucketId { entity: parent.clone(), ..ask.id.clone() };
            again(parent, &*self.limiter.inner.known.get(&id)?)
        })?;
        Some(Acquired::Refused(refusal::refused(limits)))
    }

    /// The answer to a request that took from these shards.
    pub(super) fn granted<const N: usize>(
        &self,
        ask: &Ask<'_>,
        from: [(&BucketId, u32, Bucket); N],
    ) -> Acquired {
        let mut limits = Vec::with_capacity(ask.amounts.len() * N);
        let mut takes = Vec::with_capacity(N);
        for (id, shard, mut bucket) in from {
            let has = |name: &_| bucket.meter(name).is_some();
            let amounts = ask.amounts.iter().filter(|(name, _)| has(name)).cloned().collect();
            takes.push(EntityTake {
                entity: id.entity.clone(),
                shards: vec![ShardTake { shard, amounts }],
            });
            bucket.refill(ask.now_ms);
            limits.extend(refusal::statuses(&id.entity, &bucket, &ask.amounts));
        }
        let limits = refusal::granted(limits);
        Acquired::Granted(Granted { grant: self.grant(ask, takes), limits })
    }

    pub(super) fn grant(&self, ask: &Ask<'_>, takes: Vec<EntityTake>) -> Grant {
        Grant {
            id: self.limiter.inner.lease_ids.next(),
            ns: self.id.clone(),
            resource: ask.id.resource.clone(),
            takes,
            taken_ms: ask.now_ms,
            expires_ms: ask.now_ms.saturating_add(ask.request.lease_ttl_ms),
            on_expiry: ask.request.on_expiry,
            degraded: false,
        }
    }

    /// The store cannot be reached: what is known of the config says whether that stops anybody.
    fn without_store(&self, ask: &Ask<'_>, error: Error) -> Result<Acquired> {
        let policy = self.on_unavailable_cached(&ask.id.entity, &ask.id.resource);
        if policy == OnUnavailable::Block {
            return Err(error);
        }
        let grant = Grant { degraded: true, ..self.grant(ask, Vec::new()) };
        Ok(Acquired::Granted(Granted { grant, limits: Vec::new() }))
    }
}

/// The shard to take from.
pub(super) fn pick(facts: Option<&Facts>) -> u32 {
    match facts.map_or(1, |facts| facts.shard_count) {
        0 | 1 => 0,
        count => fastrand::u32(..count),
    }
}

/// Makes ids of leases: random where the process begins, then counted, so that none costs a call of the system. They
/// need not be secret, because leases are signed.
#[derive(Debug)]
pub(crate) struct LeaseIds {
    start: [u8; 10],
    next: std::sync::atomic::AtomicU64,
}

impl LeaseIds {
    pub(crate) fn new() -> LeaseIds {
        use ring::rand::SecureRandom as _;
        let mut start = [0; 10];
        if ring::rand::SystemRandom::new().fill(&mut start).is_err() {
            start.fill_with(|| fastrand::u8(..));
        }
        LeaseIds { start, next: std::sync::atomic::AtomicU64::new(0) }
    }

    fn next(&self) -> String {
        let count = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_be_bytes();
        let mut bytes = [0; 16];
        // Six bytes count as far as a process can live.
        let parts = self.start.iter().chain(count.iter().skip(2));
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = *part);
        URL_SAFE_NO_PAD.encode(bytes)
    }
}
