//! What a settle does to a lease and its buckets: a plain decision, no store, no clock.
//!
//! What is given back goes to the shards it came from, at most up to their capacity; what is taken more comes from the
//! lease's first shard, or from several when it must be there. A cascaded lease changes the parent's buckets alike.
//! Where the bucket was forgotten meanwhile, what is given back is dropped, and so is a debt: it begins anew for whoever
//! asks next.

use std::collections::BTreeMap;

use super::call::{Call, Verb};
use super::record::{Amounts, Hold, Record};
use super::{LeaseState, Settled};
use crate::acquire::{Refused, refused, statuses};
use crate::bounds::{LEASE_OPERATIONS_MAX, SHARDS_MAX};
use crate::bucket::{Bucket, MILLI, ShardTake, gather, together};
use crate::error::{Error, Result};
use crate::ids::LimitName;
use crate::writes::Cover;

/// Shards that were read: of which hold, which shard, and the bucket unless it is gone.
pub(super) type Images = BTreeMap<(usize, u32), Option<Bucket>>;

/// What is to be done.
#[derive(Debug)]
pub(super) enum Plan {
    /// Write this.
    Change(Change),
    /// Look at these shards too: of which hold, which shard.
    Look(Vec<(usize, u32)>),
    /// It is not there.
    Refuse(Refused),
}

/// What to write.
#[derive(Debug)]
pub(super) struct Change {
    /// The lease as it shall be, with the version it was read with.
    pub(super) record: Record,
    /// Of which hold, the shard as it was read and as it shall be.
    pub(super) buckets: Vec<(usize, Bucket, Bucket)>,
    /// Whether what is taken must be there.
    pub(super) cover: Cover,
    /// Whether something is given back.
    pub(super) gives: bool,
}

/// The answer to a call that needs no change: it has been done before. An error, if it cannot be done any more.
pub(super) fn answered(record: &Record, call: &Call, now_ms: i64) -> Result<Option<Settled>> {
    if let Some((digest, answer)) = record.noted(call) {
        if digest == call.digest {
            return Ok(Some(answer));
        }
        let problem = "this key was used for another call on the same lease";
        return Err(Error::Conflict(problem.to_owned()));
    }
    if call.verb == Verb::End(record.state) {
        return Ok(Some(record.settled()));
    }
    let expiring = call.verb == Verb::End(LeaseState::Expired);
    if record.state == LeaseState::Expired || (now_ms >= record.expires_ms && !expiring) {
        let ttl_secs = record.expires_ms.saturating_sub(record.taken_ms) / MILLI;
        return Err(Error::LeaseExpired { ttl_secs });
    }
    if record.state != LeaseState::Open {
        if expiring {
            return Ok(Some(record.settled()));
        }
        let state = record.state.as_str().replace('_', " ");
        return Err(Error::Conflict(format!("the lease was {state} already")));
    }
    if !matches!(call.verb, Verb::End(_)) && record.operations.len() >= LEASE_OPERATIONS_MAX {
        let problem = format!(
            "has been changed {LEASE_OPERATIONS_MAX} times; commit, release or roll it back"
        );
        return Err(Error::invalid("lease", problem));
    }
    Ok(None)
}

/// What a call does to an open lease.
pub(super) fn plan(record: &Record, call: &Call, images: &Images, now_ms: i64) -> Result<Plan> {
    let unseen: Vec<_> = record.shards().filter(|shard| !images.contains_key(shard)).collect();
    if !unseen.is_empty() && !call.is_commit() {
        return Ok(Plan::Look(unseen));
    }
    let mut draft = Draft { record: record.clone(), changes: BTreeMap::new() };
    match call.verb {
        Verb::End(state) => {
            if state != LeaseState::Committed {
                draft.give_all();
            }
            draft.record.state = state;
        }
        Verb::Adjust | Verb::Release => draft.adjust(&call.wants, images)?,
        Verb::Consume => {
            if let Some(other) = draft.consume(&call.wants, images, now_ms)? {
                return Ok(other);
            }
        }
    }
    if !matches!(call.verb, Verb::End(_)) {
        draft.record.note(call);
    }
    Ok(Plan::Change(draft.finish(call.verb, images, now_ms)))
}

/// A change in the making.
struct Draft {
    record: Record,
    /// Millitokens to take from a shard, or to give back to it where negative.
    changes: BTreeMap<(usize, u32), Amounts>,
}

impl Draft {
    fn take(&mut self, place: usize, shard: u32, name: &LimitName, amount: i64) {
        if let Some(hold) = self.record.holds.get_mut(place) {
            hold.add(shard, name, amount);
            let change = self.changes.entry((place, shard)).or_default();
            *change.entry(name.clone()).or_default() += amount;
        }
    }

    fn give_all(&mut self) {
        let holds = self.record.holds.clone();
        for (place, hold) in holds.iter().enumerate() {
            for (shard, amounts) in &hold.shards {
                for (name, amount) in amounts.iter().filter(|(_, amount)| **amount != 0) {
                    self.take(place, *shard, name, -amount);
                }
            }
        }
    }

    fn adjust(&mut self, wants: &Amounts, images: &Images) -> Result<()> {
        let holds = self.record.holds.clone();
        for (name, want) in wants {
            if let Some(own) = holds.first().filter(|_| *want < 0) {
                check_held(own, name, -want)?;
            }
            for (place, hold) in holds.iter().enumerate() {
                if *want < 0 {
                    self.give(place, hold, name, -want);
                } else if let Some(bucket) = first_live(place, hold, images)
                    && has_limit(place, bucket, name)?
                {
                    self.take(place, bucket.shard, name, *want);
                }
            }
        }
        Ok(())
    }

    fn give(&mut self, place: usize, hold: &Hold, name: &LimitName, amount: i64) {
        let mut left = amount;
        for (shard, amounts) in &hold.shards {
            let part = amounts.get(name).copied().unwrap_or_default().min(left);
            if part > 0 {
                self.take(place, *shard, name, -part);
                left -= part;
            }
        }
    }

    /// Takes what is there; otherwise says what to do instead.
    fn consume(&mut self, wants: &Amounts, images: &Images, now_ms: i64) -> Result<Option<Plan>> {
        let holds = self.record.holds.clone();
        let (mut limits, mut short, mut look) = (Vec::new(), false, Vec::new());
        for (place, hold) in holds.iter().enumerate() {
            let shards = live(place, images, now_ms);
            let Some(whole) = together(&shards) else {
                if place == 0 {
                    return Err(Error::not_found("bucket", hold.entity.as_str()));
                }
                continue;
            };
            let asked = asked_of(place, &whole, wants)?;
            match source(place, hold, &shards, &asked, images) {
                Source::Shards(takes) => takes.iter().for_each(|take| {
                    let amounts = take.amounts.iter();
                    amounts.for_each(|(name, part)| self.take(place, take.shard, name, *part));
                }),
                Source::Unseen(unseen) => look.extend(unseen),
                Source::Short => short = true,
            }
            let asked: Vec<(LimitName, i64)> = asked.into_iter().collect();
            limits.extend(statuses(&hold.entity, &whole, &asked));
        }
        if !look.is_empty() {
            return Ok(Some(Plan::Look(look)));
        }
        Ok(short.then(|| Plan::Refuse(refused(limits))))
    }

    fn finish(self, verb: Verb, images: &Images, now_ms: i64) -> Change {
        let gives = self.changes.values().flat_map(Amounts::values).any(|amount| *amount < 0);
        let cover = if verb == Verb::Consume { Cover::Needed } else { Cover::Unneeded };
        let changed = self.changes.iter().filter_map(|(shard, amounts)| {
            let old = images.get(shard)?.as_ref()?;
            let mut new = match cover {
                Cover::Needed => old.refilled(now_ms),
                Cover::Unneeded => refilled_if_full(old, amounts, now_ms),
            };
            amounts.iter().for_each(|(name, amount)| new.take(name, *amount));
            (*old != new).then(|| (shard.0, old.clone(), new))
        });
        Change { buckets: changed.collect(), cover, gives, record: self.record }
    }
}

/// A debt made before a refill that fills the bucket would vanish in it. Otherwise the order does not matter, and a change that leaves
/// `rf` alone gets in nobody's way.
fn refilled_if_full(bucket: &Bucket, amounts: &Amounts, now_ms: i64) -> Bucket {
    let refilled = bucket.refilled(now_ms);
    let fills = amounts.iter().filter(|(_, amount)| **amount > 0).any(|(name, _)| {
        let meter = refilled.meter(name);
        meter.is_some_and(|meter| meter.level.tokens >= refilled.share(meter).capacity)
    });
    if fills { refilled } else { bucket.clone() }
}

/// The first shard of a hold that is there.
fn first_live<'a>(place: usize, hold: &Hold, images: &'a Images) -> Option<&'a Bucket> {
    hold.shards.keys().find_map(|shard| images.get(&(place, *shard))?.as_ref())
}

/// Every shard of a hold's bucket that was read, refilled.
fn live(place: usize, images: &Images, now_ms: i64) -> Vec<Bucket> {
    let shards = images.range((place, 0)..=(place, u32::MAX));
    shards.filter_map(|(_, bucket)| Some(bucket.as_ref()?.refilled(now_ms))).collect()
}

/// Where what is asked of a bucket comes from.
enum Source {
    Shards(Vec<ShardTake>),
    /// From shards nobody has looked at, perhaps.
    Unseen(Vec<(usize, u32)>),
    /// All shards together do not have it.
    Short,
}

/// A shard the lease holds something of, if it has all; otherwise whatever shards have it together.
fn source(
    place: usize,
    hold: &Hold,
    shards: &[Bucket],
    asked: &Amounts,
    images: &Images,
) -> Source {
    let covers = |shard: &&Bucket| {
        let asked = asked.iter().map(|(name, want)| (name, *want));
        hold.shards.contains_key(&shard.shard) && shard.shortfalls(asked).is_empty()
    };
    if let Some(one) = shards.iter().find(covers) {
        return Source::Shards(vec![ShardTake { shard: one.shard, amounts: asked.clone() }]);
    }
    let count = shards.iter().map(|shard| shard.shard_count).max().unwrap_or(1).min(SHARDS_MAX);
    let all = (0..count).map(|shard| (place, shard));
    let unseen: Vec<_> = all.filter(|shard| !images.contains_key(shard)).collect();
    if !unseen.is_empty() {
        return Source::Unseen(unseen);
    }
    gather(shards, asked).map_or(Source::Short, Source::Shards)
}

/// What of `wants` a bucket is asked for.
fn asked_of(place: usize, whole: &Bucket, wants: &Amounts) -> Result<Amounts> {
    let mut asked = Amounts::new();
    for (name, want) in wants {
        if has_limit(place, whole, name)? {
            check_capacity(whole, name, *want)?;
            asked.insert(name.clone(), *want);
        }
    }
    Ok(asked)
}

/// Whether a bucket has a limit. The entity's own must; a parent pays only for limits it has.
fn has_limit(place: usize, bucket: &Bucket, name: &LimitName) -> Result<bool> {
    let has = bucket.meter(name).is_some();
    if has || place > 0 {
        return Ok(has);
    }
    Err(Error::invalid("limit", format!("{name} is no limit of this lease's bucket")))
}

fn check_held(own: &Hold, name: &LimitName, amount: i64) -> Result<()> {
    let held = own.of(name);
    if amount <= held {
        return Ok(());
    }
    let (asked, held) = (amount / MILLI, held / MILLI);
    Err(Error::invalid(
        "limit",
        format!("{name} cannot be given {asked} back: the lease holds {held}"),
    ))
}

fn check_capacity(bucket: &Bucket, name: &LimitName, want: i64) -> Result<()> {
    match bucket.meter(name).map(|meter| meter.rate.capacity) {
        Some(capacity) if want > capacity => {
            let (asked, capacity) = (want / MILLI, capacity / MILLI);
            let problem = format!(
                "asks {asked} of {name}, more than its whole capacity of {capacity}: it could never be served"
            );
            Err(Error::invalid("consume", problem))
        }
        _ => Ok(()),
    }
}
