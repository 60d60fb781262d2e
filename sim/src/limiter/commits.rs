//! Finds the cause of every write of a bucket, and has it checked.

use std::collections::BTreeMap;

use weir_limiter::bucket::Limit;
use weir_limiter::config::Level;
use weir_limiter::ids::{EntityId, LimitName, Resource};
use weir_limiter::lease::{OnExpiry, Settle};
use weir_table::Item;

use super::buckets::{BucketName, Cause, Deltas, bucket_name, consumption, rates, rates_of};
use super::{Op, Simulation};
use crate::check::{Check, Violation};
use crate::model::lease::Lease;
use crate::store::{Commit, ItemChange};

impl Simulation {
    /// Checks what a request wrote.
    pub(super) fn check_commit(&mut self, index: usize, commit: &Commit) -> Vec<Violation> {
        let (instance, now_ms) = (self.run.tasks[index].instance, self.run.tasks[index].now_ms);
        let mut violations = Vec::new();
        violations.extend(self.check_record(index, commit));
        let settled = self.settled_by(index, commit, &mut violations);
        let mut is_config = true;
        for change in &commit.changes {
            let Some(name) = bucket_name(&change.key) else { continue };
            is_config = false;
            self.bucket_writes.insert((name.clone(), instance), self.run.commits);
            let Some(new) = &change.new else { continue };
            let old = change.old.as_ref();
            let cause = self.cause(index, &name, (old, new), &settled, &mut violations);
            violations.extend(self.check_limits(index, &name, (old, new), &cause));
            self.run.trace.say(format_args!(
                "  task {} on {instance} at {now_ms} writes {} on {}: {cause:?}",
                commit.task, name.0, name.1
            ));
            violations.extend(self.buckets.written(&name, (old, new), now_ms, &cause));
        }
        if is_config && matches!(self.run.tasks[index].op, Op::Upkeep) {
            self.config_writes.insert(instance, self.run.commits);
        }
        violations
    }

    /// What a settlement changes at each payer, if the commit is one.
    pub(super) fn settled_by(
        &mut self,
        index: usize,
        commit: &Commit,
        violations: &mut Vec<Violation>,
    ) -> BTreeMap<EntityId, Deltas> {
        let task = &self.run.tasks[index];
        let (lease, settle, key) = match &task.op {
            Op::Settle { lease, settle, key } => (*lease, settle.clone(), key.clone()),
            Op::Upkeep => {
                let names = |change: &ItemChange, lease: &Lease| {
                    change.old.is_some() && change.key.to_string().contains(&lease.grant.id)
                };
                let expired = self
                    .leases
                    .iter()
                    .position(|lease| commit.changes.iter().any(|change| names(change, lease)));
                let Some(lease) = expired else { return BTreeMap::new() };
                (lease, Settle::Rollback, None)
            }
            _ => return BTreeMap::new(),
        };
        if task.commits > 1 && matches!(task.op, Op::Settle { .. }) {
            let found = format!("{settle:?} of lease {lease} took effect twice in one call");
            violations.push(Violation::new(Check::Settlement, found));
        }
        self.before_lease_change(lease);
        let Some(lease_model) = self.leases.get_mut(lease) else { return BTreeMap::new() };
        if let Some(key) = key
            && !lease_model.applied.insert(key)
        {
            let found = format!("{settle:?} of lease {lease} took effect twice");
            violations.push(Violation::new(Check::Settlement, found));
        }
        let (store, table) = (&self.run.store, &self.settings.table);
        let ns = self.observer.id();
        let resource = lease_model.grant.resource.clone();
        // A parent pays for limits that it has; one whose bucket is gone, for those that it paid for before.
        let has = |entity: &EntityId, limit: &LimitName, held: bool| {
            let of = (entity.clone(), resource.clone());
            let mut changes = commit.changes.iter();
            let change = changes.find(|change| bucket_name(&change.key).as_ref() == Some(&of));
            let key = weir_limiter::keys::bucket(ns, entity, &resource, 0);
            match change.map_or_else(|| store.item(table, &key), |change| change.old.clone()) {
                Some(bucket) => rates(&weir_limiter::item::decode(&bucket)).contains_key(limit),
                None => held,
            }
        };
        lease_model.settle(&settle, has)
    }

    /// Why a bucket was written.
    pub(super) fn cause(
        &mut self,
        index: usize,
        name: &BucketName,
        (old, new): (Option<&Item>, &Item),
        settled: &BTreeMap<EntityId, Deltas>,
        violations: &mut Vec<Violation>,
    ) -> Cause {
        let has = rates(&weir_limiter::item::decode(new));
        let consumed = consumption(old, new);
        let faults = i64::try_from(self.run.tasks[index].faults).unwrap_or(i64::MAX - 1);
        match &mut self.run.tasks[index].op {
            Op::Acquire { request, paid } => {
                let paid = paid.entry(name.clone()).or_default();
                let deltas = if consumed.is_empty() {
                    // A refill, after a clock jumped.
                    Deltas::new()
                } else if consumed.values().all(|by| *by < 0) {
                    paid.times -= 1;
                    paid.amounts.iter().map(|(limit, amount)| (limit.clone(), -amount)).collect()
                } else {
                    paid.times += 1;
                    let asked =
                        request.consume.iter().map(|(of, tokens)| (of.clone(), tokens * 1000));
                    paid.amounts = asked.filter(|(limit, _)| has.contains_key(limit)).collect();
                    paid.amounts.clone()
                };
                // A take whose response was lost is taken again, and stays on the side of having taken.
                if !(0..=1 + faults).contains(&paid.times) {
                    let found = format!("an acquire took {} times from {name:?}", paid.times);
                    violations.push(Violation::new(Check::Response, found));
                }
                Cause::Acquire(deltas)
            }
            Op::Settle { .. } => Cause::Settle(settled.get(&name.0).cloned().unwrap_or_default()),
            Op::Reset => Cause::Reset,
            Op::TopUp(amounts) => Cause::TopUp(amounts.clone()),
            Op::Upkeep => match settled.get(&name.0) {
                Some(deltas) => Cause::Settle(deltas.clone()),
                None if consumed.is_empty() => Cause::Upkeep,
                None => {
                    let gives_back = |(of, taken): &(BucketName, Deltas)| {
                        of == name
                            && consumed.iter().all(|(limit, by)| taken.get(limit) == Some(&-by))
                    };
                    let known = self.unanswered.iter().position(gives_back);
                    let is_known = known.is_some() || self.in_flight(name, &consumed);
                    if let Some(known) = known {
                        let returned = self.unanswered.swap_remove(known);
                        self.unsynced.returned.push(returned);
                    }
                    if is_known { Cause::Settle(consumed) } else { Cause::Upkeep }
                }
            },
        }
    }

    /// Whether a write gives back what a request took that is still in flight, and whose lease has expired for another clock.
    fn in_flight(&mut self, name: &BucketName, consumed: &Deltas) -> bool {
        self.run.tasks.iter_mut().any(|task| match &mut task.op {
            Op::Acquire { request, paid } if request.on_expiry == OnExpiry::Rollback => {
                paid.get_mut(name).is_some_and(|paid| {
                    let of = |limit| paid.amounts.get(limit).copied().unwrap_or_default();
                    let is_same = consumed.iter().all(|(limit, by)| of(limit) == -by);
                    is_same && !std::mem::replace(&mut paid.is_returned, true)
                })
            }
            _ => false,
        })
    }

    /// The limits of a bucket are those of a level, or the caller's own.
    pub(super) fn check_limits(
        &self,
        index: usize,
        name: &BucketName,
        (old, new): (Option<&Item>, &Item),
        cause: &Cause,
    ) -> Option<Violation> {
        let has = rates(&weir_limiter::item::decode(new));
        let op = &self.run.tasks[index].op;
        let own = match op {
            Op::Acquire { request, .. } if request.entity == name.0 => request.limits.as_deref(),
            _ => None,
        };
        if own.is_some_and(|own| rates_of(own) == has) {
            return None;
        }
        let mut configured = self.limits_of(&name.0, &name.1).peekable();
        if configured.peek().is_none()
            && !matches!(cause, Cause::Acquire(deltas) if deltas.values().any(|by| *by > 0))
        {
            // Without config and without the caller's own, the limits stay those of the request that made the bucket.
            let before = old.map(|old| rates(&weir_limiter::item::decode(old)));
            return (before.is_some_and(|before| before != has)).then(|| {
                Violation::new(Check::CallerLimits, format!("{name:?} got limits {has:?}"))
            });
        }
        let is_take = matches!(cause, Cause::Acquire(deltas) if deltas.values().any(|by| *by > 0));
        let before = old.map(|old| rates(&weir_limiter::item::decode(old)));
        // What changes other attributes leaves the limits as they are.
        if !is_take && before.as_ref() == Some(&has) {
            return None;
        }
        if configured.any(|limits| rates_of(limits) == has) {
            return None;
        }
        let found = format!("{name:?} has limits of no level and not the caller's: {has:?}");
        Some(Violation::new(Check::CallerLimits, found))
    }

    /// Every set of limits that ever applied to an entity on a resource.
    pub(super) fn limits_of<'a>(
        &'a self,
        entity: &'a EntityId,
        resource: &'a Resource,
    ) -> impl Iterator<Item = &'a [Limit]> {
        let applies = move |level: &Level| match level {
            Level::System => true,
            Level::Resource(of) => of == resource,
            Level::Entity(who, of) => who == entity && of.as_ref().is_none_or(|of| of == resource),
        };
        let levels = self.levels.iter().filter(move |(level, _)| applies(level));
        levels.map(|(_, limits)| limits.as_slice())
    }
}
