//! Finds the cause of every write of a bucket, and has it checked.

use std::collections::BTreeMap;

use weir_limiter::bucket::Limit;
use weir_limiter::config::Level;
use weir_limiter::ids::{EntityId, Resource};
use weir_limiter::lease::Settle;
use weir_table::Item;

use super::buckets::{BucketName, Cause, Deltas, bucket_name, consumption, rates, rates_of};
use super::{Op, Simulation};
use crate::check::{Check, Violation};
use crate::model::lease::Lease;
use crate::store::{Commit, ItemChange};

impl Simulation {
    /// Checks what a request wrote.
    pub(super) fn committed(&mut self, index: usize, commit: &Commit) -> Vec<Violation> {
        let (instance, now_ms) = (self.tasks[index].instance, self.tasks[index].now_ms);
        let mut violations = Vec::new();
        let settled = self.settled_by(index, commit, &mut violations);
        let mut is_config = true;
        for change in &commit.changes {
            let Some(name) = bucket_name(&change.key) else { continue };
            is_config = false;
            self.bucket_writes.insert((name.clone(), instance), self.commits);
            let Some(new) = &change.new else { continue };
            let old = change.old.as_ref();
            let cause = self.cause(index, &name, (old, new), &settled, &mut violations);
            violations.extend(self.check_limits(index, &name, (old, new), &cause));
            self.trace.say(format_args!(
                "  task {} on {instance} at {now_ms} writes {} on {}: {cause:?}",
                commit.task, name.0, name.1
            ));
            violations.extend(self.buckets.written(&name, (old, new), now_ms, &cause));
        }
        if is_config && matches!(self.tasks[index].op, Op::Upkeep) {
            self.config_writes.insert(instance, self.commits);
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
        let task = &self.tasks[index];
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
        let Some(lease_model) = self.leases.get_mut(lease) else { return BTreeMap::new() };
        if let Some(key) = key
            && !lease_model.applied.insert(key)
        {
            let found = format!("{settle:?} of lease {lease} took effect twice");
            violations.push(Violation::new(Check::Settlement, found));
        }
        lease_model.settle(&settle)
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
        let faults = i64::try_from(self.tasks[index].faults).unwrap_or(i64::MAX - 1);
        match &mut self.tasks[index].op {
            Op::Acquire { request, paid } => {
                let asked =
                    request.consume.iter().map(|(limit, tokens)| (limit.clone(), tokens * 1000));
                let asked: Deltas = asked.filter(|(limit, _)| has.contains_key(limit)).collect();
                let back: Deltas =
                    asked.iter().map(|(limit, amount)| (limit.clone(), -amount)).collect();
                let count = paid.entry(name.clone()).or_default();
                let deltas = if consumed == back {
                    *count -= 1;
                    back
                } else if consumed.is_empty() {
                    // The limits that it took from are gone, and what it had taken with them.
                    *count = 0;
                    Deltas::new()
                } else {
                    *count += 1;
                    asked
                };
                // A take whose response was lost is taken again, and stays on the side of having taken.
                if !(0..=1 + faults).contains(count) {
                    let found = format!("an acquire took {count} times from {name:?}");
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
                    match self.unanswered.iter().position(gives_back) {
                        Some(known) => {
                            self.unanswered.swap_remove(known);
                            Cause::Settle(consumed)
                        }
                        None => Cause::Upkeep,
                    }
                }
            },
        }
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
        let op = &self.tasks[index].op;
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
