//! What a settle request does to a lease and its buckets: a pure decision, no store, no clock.
//!
//! Refunds go to the shards that paid, up to their capacity. More tokens come from the lease's first shard, or from several
//! if they must be available. A cascaded lease changes the parent's buckets alike. If a bucket was deleted meanwhile, only the
//! lease changes: the bucket starts full for the next request.

use std::collections::BTreeMap;

use super::record::{Amounts, Holding, Record};
use super::settle_request::{SettleKind, SettleRequest};
use super::{LeaseState, Settled};
use crate::acquire::{Refused, limit_statuses};
use crate::bounds::{LEASE_OPERATIONS_MAX, SHARDS_MAX};
use crate::bucket::{Bucket, MILLI, ShardTake, combine, gather};
use crate::error::{Error, Result};
use crate::ids::LimitName;
use crate::writes::Cover;

/// The shards that were read, by holding and shard number; none if the bucket is gone. One that has expired is full.
pub(super) type ShardImages = BTreeMap<(usize, u32), Option<Bucket>>;

/// The decision on a settle request.
#[derive(Debug)]
pub(super) enum Plan {
    /// Write this.
    Change(Change),
    /// Read these shards too, by holding and shard number.
    ReadShards(Vec<(usize, u32)>),
    /// Refuse: too little is available.
    Refuse(Refused),
}

/// The writes of a plan.
#[derive(Debug)]
pub(super) struct Change {
    /// The new lease, with the version that was read.
    pub(super) record: Record,
    /// The holding, and its shard before and after.
    pub(super) buckets: Vec<(usize, Bucket, Bucket)>,
    /// Whether the balances must cover what is taken.
    pub(super) cover: Cover,
}

/// The result of a request that was completed before. An error, if it is no longer possible.
pub(super) fn replay(
    record: &Record,
    request: &SettleRequest,
    now_ms: i64,
) -> Result<Option<Settled>> {
    if let Some((digest, result)) = record.recorded_result(request) {
        if digest == request.digest {
            return Ok(Some(result));
        }
        let problem =
            "the idempotency key was used for a different call on this lease; use a new key";
        return Err(Error::Conflict(problem.to_owned()));
    }
    if request.kind == SettleKind::End(record.state) {
        // A commit without totals keeps what the lease holds, whatever that is.
        if request.actual.is_empty() || request.actual == record.actual {
            return Ok(Some(record.settled()));
        }
        let problem = "the lease is already committed, with other actual tokens";
        return Err(Error::Conflict(problem.to_owned()));
    }
    let expiring = request.kind == SettleKind::End(LeaseState::Expired);
    if record.state == LeaseState::Expired || (now_ms >= record.expires_ms && !expiring) {
        let ttl_secs = record.expires_ms.saturating_sub(record.taken_ms) / MILLI;
        return Err(Error::LeaseExpired { ttl_secs });
    }
    if record.state != LeaseState::Open {
        if expiring {
            return Ok(Some(record.settled()));
        }
        let state = record.state.as_str().replace('_', " ");
        return Err(Error::Conflict(format!("the lease is already {state}")));
    }
    if !matches!(request.kind, SettleKind::End(_))
        && record.operations.len() >= LEASE_OPERATIONS_MAX
    {
        let problem = format!(
            "has been adjusted {LEASE_OPERATIONS_MAX} times, the most allowed; commit, release or roll it back"
        );
        return Err(Error::invalid("lease", problem));
    }
    Ok(None)
}

/// Plans a request on an open lease.
pub(super) fn plan(
    record: &Record,
    request: &SettleRequest,
    images: &ShardImages,
    now_ms: i64,
) -> Result<Plan> {
    let unread: Vec<_> = record.shards().filter(|shard| !images.contains_key(shard)).collect();
    if !unread.is_empty() && !request.keeps_tokens() {
        return Ok(Plan::ReadShards(unread));
    }
    let mut draft = Draft { record: record.clone(), changes: BTreeMap::new() };
    match request.kind {
        SettleKind::End(state) => {
            if state == LeaseState::Committed {
                draft.adjust_to(&request.actual, images)?;
            } else {
                draft.refund_all();
            }
            draft.record.state = state;
        }
        SettleKind::Adjust | SettleKind::Release => draft.adjust(&request.deltas, images)?,
        SettleKind::Consume => {
            if let Some(other) = draft.consume(&request.deltas, images, now_ms)? {
                return Ok(other);
            }
        }
    }
    if !matches!(request.kind, SettleKind::End(_)) {
        draft.record.record_operation(request);
    }
    Ok(Plan::Change(draft.finish(request.kind, images, now_ms)))
}

/// A plan in the making.
struct Draft {
    record: Record,
    /// Millitokens to take from a shard, or to refund to it where negative.
    changes: BTreeMap<(usize, u32), Amounts>,
}

impl Draft {
    fn take(&mut self, payer: usize, shard: u32, name: &LimitName, amount: i64) {
        if let Some(holding) = self.record.holdings.get_mut(payer) {
            holding.add(shard, name, amount);
            let change = self.changes.entry((payer, shard)).or_default();
            *change.entry(name.clone()).or_default() += amount;
        }
    }

    fn refund_all(&mut self) {
        let holdings = self.record.holdings.clone();
        for (payer, holding) in holdings.iter().enumerate() {
            for (shard, amounts) in &holding.shards {
                for (name, amount) in amounts.iter().filter(|(_, amount)| **amount != 0) {
                    self.take(payer, *shard, name, -amount);
                }
            }
        }
    }

    fn adjust(&mut self, deltas: &Amounts, images: &ShardImages) -> Result<()> {
        let holdings = self.record.holdings.clone();
        for (name, delta) in deltas {
            if let Some(child) = holdings.first().filter(|_| *delta < 0) {
                check_held(child, name, -delta)?;
            }
            for (payer, holding) in holdings.iter().enumerate() {
                if *delta < 0 {
                    self.refund(payer, holding, name, -delta);
                    continue;
                }
                let shard = match first_live(payer, holding, images) {
                    Some(bucket) => has_limit(payer, bucket, name)?.then_some(bucket.shard),
                    None => {
                        holding.shards.keys().next().copied().filter(|_| holding.pays(payer, name))
                    }
                };
                if let Some(shard) = shard {
                    self.take(payer, shard, name, *delta);
                }
            }
        }
        Ok(())
    }

    /// Adjusts the lease so that it holds these totals.
    fn adjust_to(&mut self, actual: &Amounts, images: &ShardImages) -> Result<()> {
        let Some(child) = self.record.holdings.first().cloned() else { return Ok(()) };
        let mut deltas = Amounts::new();
        for (name, total) in actual {
            let delta = total.saturating_sub(child.held(name));
            if delta != 0 {
                deltas.insert(name.clone(), delta);
            } else if let Some(bucket) = first_live(0, &child, images) {
                has_limit(0, bucket, name)?;
            }
        }
        self.record.actual.clone_from(actual);
        self.adjust(&deltas, images)
    }

    fn refund(&mut self, payer: usize, holding: &Holding, name: &LimitName, amount: i64) {
        let mut remaining = amount;
        for (shard, amounts) in &holding.shards {
            let part = amounts.get(name).copied().unwrap_or_default().min(remaining);
            if part > 0 {
                self.take(payer, *shard, name, -part);
                remaining -= part;
            }
        }
    }

    /// Takes if everything is available; otherwise returns what to do instead.
    fn consume(
        &mut self,
        deltas: &Amounts,
        images: &ShardImages,
        now_ms: i64,
    ) -> Result<Option<Plan>> {
        let holdings = self.record.holdings.clone();
        let (mut limits, mut is_short, mut unread_shards) = (Vec::new(), false, Vec::new());
        for (payer, holding) in holdings.iter().enumerate() {
            let shards = live(payer, images, now_ms);
            let Some(whole) = combine(&shards) else {
                if payer == 0 {
                    return Err(Error::not_found("bucket", holding.entity.as_str()));
                }
                continue;
            };
            let requested = part_of(payer, &whole, deltas)?;
            match source(payer, holding, &shards, &requested, images) {
                Source::Shards(takes) => takes.iter().for_each(|take| {
                    let amounts = take.amounts.iter();
                    amounts.for_each(|(name, part)| self.take(payer, take.shard, name, *part));
                }),
                Source::Unread(unread) => unread_shards.extend(unread),
                Source::Short => is_short = true,
            }
            limits.extend(limit_statuses(&holding.entity, &whole, &requested, now_ms));
        }
        if !unread_shards.is_empty() {
            return Ok(Some(Plan::ReadShards(unread_shards)));
        }
        Ok(is_short.then(|| Plan::Refuse(Refused::new(limits))))
    }

    fn finish(self, kind: SettleKind, images: &ShardImages, now_ms: i64) -> Change {
        let cover = if kind == SettleKind::Consume { Cover::Required } else { Cover::NotRequired };
        let changed = self.changes.iter().filter_map(|(shard, amounts)| {
            let old = images.get(shard)?.as_ref()?;
            let mut new = match cover {
                Cover::Required => old.refilled(now_ms),
                Cover::NotRequired => old.refilled_if_full(amounts.keys(), now_ms),
            };
            amounts.iter().for_each(|(name, amount)| new.take(name, *amount));
            // The bucket must live until a new debt is repaid. Leases were considered when they were granted.
            new.keep_alive(old.expires.is_none(), 0, now_ms);
            (*old != new).then(|| (shard.0, old.clone(), new))
        });
        Change { buckets: changed.collect(), cover, record: self.record }
    }
}

/// The first shard of a holding that exists.
fn first_live<'a>(payer: usize, holding: &Holding, images: &'a ShardImages) -> Option<&'a Bucket> {
    holding.shards.keys().find_map(|shard| images.get(&(payer, *shard))?.as_ref())
}

/// All shards of a holding that were read, refilled.
fn live(payer: usize, images: &ShardImages, now_ms: i64) -> Vec<Bucket> {
    let shards = images.range((payer, 0)..=(payer, u32::MAX));
    shards.filter_map(|(_, bucket)| Some(bucket.as_ref()?.refilled(now_ms))).collect()
}

/// The shards that pay for a request.
enum Source {
    Shards(Vec<ShardTake>),
    /// Shards that were not read yet may be able to pay.
    Unread(Vec<(usize, u32)>),
    /// All shards together have too little.
    Short,
}

/// A shard of the lease that covers everything, or else several shards that do together.
fn source(
    payer: usize,
    holding: &Holding,
    shards: &[Bucket],
    requested: &[(LimitName, i64)],
    images: &ShardImages,
) -> Source {
    let covers = |shard: &&Bucket| {
        let requested = requested.iter().map(|(name, delta)| (name, *delta));
        holding.shards.contains_key(&shard.shard) && shard.shortfalls(requested).is_empty()
    };
    if let Some(one) = shards.iter().find(covers) {
        return Source::Shards(vec![ShardTake { shard: one.shard, amounts: requested.to_vec() }]);
    }
    let count = shards.iter().map(|shard| shard.shard_count).max().unwrap_or(1).min(SHARDS_MAX);
    let all = (0..count).map(|shard| (payer, shard));
    let unread: Vec<_> = all.filter(|shard| !images.contains_key(shard)).collect();
    if !unread.is_empty() {
        return Source::Unread(unread);
    }
    gather(shards, requested).map_or(Source::Short, Source::Shards)
}

/// The part of `deltas` that a bucket pays.
fn part_of(payer: usize, whole: &Bucket, deltas: &Amounts) -> Result<Vec<(LimitName, i64)>> {
    let mut requested = Vec::with_capacity(deltas.len());
    for (name, delta) in deltas {
        if has_limit(payer, whole, name)? {
            check_capacity(whole, name, *delta)?;
            requested.push((name.clone(), *delta));
        }
    }
    Ok(requested)
}

/// Whether a bucket has a limit. The entity's own must; a parent pays only for limits that it has.
fn has_limit(payer: usize, bucket: &Bucket, name: &LimitName) -> Result<bool> {
    let has = bucket.meter(name).is_some();
    if has || payer > 0 {
        return Ok(has);
    }
    Err(Error::invalid(
        "limit",
        format!("unknown limit {name}: the lease's bucket does not have it"),
    ))
}

fn check_held(child: &Holding, name: &LimitName, amount: i64) -> Result<()> {
    let held = child.held(name);
    if amount <= held {
        return Ok(());
    }
    let (tokens, held) = (amount / MILLI, held / MILLI);
    Err(Error::invalid("limit", format!("cannot refund {tokens} {name}: the lease holds {held}")))
}

fn check_capacity(bucket: &Bucket, name: &LimitName, delta: i64) -> Result<()> {
    match bucket.meter(name).map(|meter| meter.rate.capacity) {
        Some(capacity) if delta > capacity => {
            let (tokens, capacity) = (delta / MILLI, capacity / MILLI);
            let problem = format!(
                "{tokens} {name} can never be granted: the capacity is {capacity}; request at most {capacity}"
            );
            Err(Error::invalid("consume", problem))
        }
        _ => Ok(()),
    }
}
