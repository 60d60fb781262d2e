//! The slow path: read config and buckets, refill, take, write the differences.
//!
//! One write for one bucket; a transaction when the parent pays too, when several shards give, or when the lease is
//! written along. Somebody who came first makes the write's condition fail; then it is all read again.

use weir_table::{Backend, Get, Write};

use super::ask::{Ask, check_against, within};
use super::refusal::{self, Refusal};
use super::seat::{House, Plan, Seat, Slot};
use super::{Acquired, Granted, LimitStatus};
use crate::bounds::{SHARDS_MAX, TRIES_MAX};
use crate::bucket::Bucket;
use crate::error::{Error, Result};
use crate::ids::EntityId;
use crate::item::BucketId;
use crate::keys;
use crate::lease::{EntityTake, Grant, OnExpiry};
use crate::limiter::Namespace;
use crate::retry::pause;

/// Whose buckets the slow path takes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who<'a> {
    /// The entity's and, if it cascades, its parent's.
    Family,
    /// The parent's only: the child has paid.
    Parent(&'a EntityId),
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Taken {
    /// Taken, from whom and what; and how the limits are then.
    Done(Vec<EntityTake>, Vec<LimitStatus>),
    /// Not there.
    Refused(Vec<LimitStatus>),
}

impl<B: Backend> Namespace<B> {
    /// Takes slowly from the whole family, with the lease written along where it is to be.
    pub(super) async fn take_slowly(&self, ask: &Ask<'_>) -> Result<Acquired> {
        let grant = self.grant(ask, Vec::new());
        match self.slow(ask, Who::Family, &grant).await? {
            Taken::Done(takes, limits) => {
                Ok(Acquired::Granted(Granted { grant: Grant { takes, ..grant }, limits }))
            }
            Taken::Refused(limits) => Ok(Acquired::Refused(refusal::refused(limits))),
        }
    }

    pub(super) async fn slow(&self, ask: &Ask<'_>, who: Who<'_>, grant: &Grant) -> Result<Taken> {
        let mut is_fresh = false;
        for tried in 0..TRIES_MAX {
            pause(tried).await;
            let seats = match self.seats(ask, who, is_fresh).await {
                Err(Error::Store(weir_table::Error::Conflict)) => continue,
                seats => seats?,
            };
            if seats.is_empty() {
                // A parent that has none of the limits has nothing to pay.
                return Ok(Taken::Done(Vec::new(), Vec::new()));
            }
            let house = self.house(ask.now_ms);
            let table = self.limiter.table();
            let plans: Vec<Plan> = seats.iter().map(|seat| seat.plan(house, &table)).collect();
            if plans.iter().any(|plan| matches!(plan, Plan::ReadConfig)) {
                is_fresh = true;
                continue;
            }
            let refuses = plans.iter().any(|plan| matches!(plan, Plan::Refuse(_)));
            if !refuses && self.doubles(&seats, &plans).await? {
                continue;
            }
            if refuses {
                return Ok(Taken::Refused(self.refuse(ask, &seats, &plans)));
            }
            if self.write_all(&seats, &plans, grant).await? {
                return Ok(self.took(&seats, plans));
            }
        }
        Err(Error::Contended)
    }

    /// Splits the buckets that ask for it. Tells whether there were any.
    async fn doubles(&self, seats: &[Seat], plans: &[Plan]) -> Result<bool> {
        let mut any = false;
        for (seat, plan) in seats.iter().zip(plans) {
            if let Plan::Double(count) = plan {
                self.double_shards(&seat.id.entity, &seat.id.resource, *count).await?;
                any = true;
            }
        }
        Ok(any)
    }

    pub(super) fn house(&self, now_ms: i64) -> House {
        let settings = self.limiter.settings();
        House {
            counts_writes: settings.sharded,
            splits: settings.sharded && !settings.is_shared(),
            shared: settings.is_shared(),
            now_ms,
        }
    }

    pub(super) async fn seats(
        &self,
        ask: &Ask<'_>,
        who: Who<'_>,
        is_fresh: bool,
    ) -> Result<Vec<Seat>> {
        let parent = match who {
            Who::Parent(parent) => Some(parent.clone()),
            Who::Family => None,
        };
        let mut seats = Vec::with_capacity(2);
        let parent = match parent {
            Some(parent) => Some(parent),
            None => {
                let mut seat = self.seat(ask, ask.id.clone(), is_fresh).await?;
                check_against(&seat.resolved, &ask.amounts, None)?;
                seat.amounts.clone_from(&ask.amounts);
                let parent = seat.parent.clone().filter(|_| seat.cascade);
                seats.push(seat);
                parent
            }
        };
        if let Some(parent) = parent {
            let id = BucketId { entity: parent, ..ask.id.clone() };
            let mut seat = self.seat(ask, id, is_fresh).await?;
            let has = |name: &_| seat.resolved.limits.iter().any(|limit| limit.name == *name);
            seat.amounts = within(&ask.amounts, has);
            check_against(&seat.resolved, &seat.amounts, Some(&seat.id.entity))?;
            if !seat.amounts.is_empty() {
                seats.push(seat);
            }
        }
        Ok(seats)
    }

    /// Reads a bucket with all its shards, and what holds for it.
    async fn seat(&self, ask: &Ask<'_>, id: BucketId, is_fresh: bool) -> Result<Seat> {
        let (entity, resource) = (&id.entity, &id.resource);
        let resolved = if is_fresh {
            self.resolve_fresh(entity, resource, ask.own()).await?
        } else {
            self.resolve(entity, resource, ask.own()).await?
        };
        let known = self.limiter.inner.known.get(&id).map_or(1, |facts| facts.shard_count);
        let slots = self.slots(&id, known, ask.now_ms).await?;
        let live = slots.iter().find_map(|slot| match slot {
            Slot::Live(bucket) => Some(bucket),
            _ => None,
        });
        let (cascade, parent) = match live {
            Some(bucket) => (bucket.cascade, bucket.parent.clone()),
            None => self.family(entity).await?,
        };
        let prefer = fastrand::u32(..u32::try_from(slots.len()).unwrap_or(1).max(1));
        Ok(Seat { amounts: Vec::new(), resolved, is_fresh, cascade, parent, slots, prefer, id })
    }

    /// All shards of a bucket. The first one says how many there are; `known` is a guess.
    pub(super) async fn slots(&self, id: &BucketId, known: u32, now_ms: i64) -> Result<Vec<Slot>> {
        let known = known.clamp(1, SHARDS_MAX);
        let mut slots = self.slots_from(id, 0, known, now_ms).await?;
        let told = slots.first().and_then(Slot::bucket).map(|bucket| bucket.shard_count);
        // Without a first shard there is one bucket to make, whatever was remembered.
        let count = told.unwrap_or(1).clamp(1, SHARDS_MAX);
        if count > known {
            slots.extend(self.slots_from(id, known, count, now_ms).await?);
        }
        slots.truncate(count as usize);
        Ok(slots)
    }

    /// The shards in these places.
    pub(super) async fn slots_from(
        &self,
        id: &BucketId,
        from: u32,
        to: u32,
        now_ms: i64,
    ) -> Result<Vec<Slot>> {
        let get = |shard| {
            Get::new(self.limiter.table(), keys::bucket(&id.ns, &id.entity, &id.resource, shard))
        };
        let gets: Vec<Get> = (from..to).map(get).collect();
        let items = self.limiter.store().batch_get(&gets).await?;
        Ok(items.iter().map(|item| Slot::of(item.as_ref(), now_ms)).collect())
    }

    async fn write_all(&self, seats: &[Seat], plans: &[Plan], grant: &Grant) -> Result<bool> {
        let mut writes: Vec<Write> = Vec::new();
        for plan in plans {
            if let Plan::Take { writes: of_seat, .. } = plan {
                writes.extend(of_seat.iter().cloned());
            }
        }
        if grant.on_expiry == OnExpiry::Rollback {
            let held = Grant { takes: entity_takes(seats, plans), ..grant.clone() };
            writes.push(self.held_write(&held));
        }
        match (writes.pop(), writes.is_empty()) {
            (Some(only), true) => self.limiter.try_write(only).await,
            (last, _) => {
                writes.extend(last);
                self.limiter.try_transact(writes).await
            }
        }
    }

    fn took(&self, seats: &[Seat], plans: Vec<Plan>) -> Taken {
        let takes = entity_takes(seats, &plans);
        let mut limits = Vec::new();
        for (seat, plan) in seats.iter().zip(plans) {
            if let Plan::Take { after, seen, .. } = plan {
                self.limiter.inner.known.saw(&seat.id, None, &seen);
                limits.extend(refusal::statuses(&seat.id.entity, &after, &seat.amounts));
            }
        }
        Taken::Done(takes, refusal::granted(limits))
    }

    fn refuse(&self, ask: &Ask<'_>, seats: &[Seat], plans: &[Plan]) -> Vec<LimitStatus> {
        let mut limits = Vec::new();
        for (seat, plan) in seats.iter().zip(plans) {
            match plan {
                Plan::Refuse(whole) => {
                    limits.extend(refusal::statuses(&seat.id.entity, whole, &seat.amounts));
                    self.remember_refusal(&seat.id, &seat.slots, whole.clone(), ask);
                }
                Plan::Take { after, .. } => {
                    // As it is: nothing is taken.
                    let mut whole = after.clone();
                    for (name, amount) in &seat.amounts {
                        whole.take(name, -amount);
                    }
                    limits.extend(refusal::statuses(&seat.id.entity, &whole, &seat.amounts));
                }
                Plan::ReadConfig | Plan::Double(_) => {}
            }
        }
        limits
    }

    fn remember_refusal(&self, id: &BucketId, slots: &[Slot], whole: Bucket, ask: &Ask<'_>) {
        let known = &self.limiter.inner.known;
        if let Some(Slot::Live(bucket)) = slots.last() {
            known.saw(id, known.get(id).as_deref(), bucket);
        }
        known.refused(id, Refusal::new(whole, &ask.amounts, ask.now_ms));
    }
}

fn entity_takes(seats: &[Seat], plans: &[Plan]) -> Vec<EntityTake> {
    let take = |(seat, plan): (&Seat, &Plan)| match plan {
        Plan::Take { takes, .. } => {
            Some(EntityTake { entity: seat.id.entity.clone(), shards: takes.clone() })
        }
        _ => None,
    };
    seats.iter().zip(plans).filter_map(take).collect()
}
