//! Compares every response with what was written, with the model, and with what a fresh instance would answer.

use std::collections::{BTreeMap, BTreeSet};

use weir_limiter::Error;
use weir_limiter::acquire::{Acquire, Acquired, Granted, LimitStatus, Refused};
use weir_limiter::bucket::{Limit, Origin};
use weir_limiter::ids::EntityId;
use weir_limiter::lease::{LeaseState, Settled};
use weir_table::clock::Clock;

use super::buckets::{BucketName, rates};
use super::{Op, Outcome, Paid, Simulation};
use crate::check::{Check, Violation};
use crate::model::bucket::Bucket;
use crate::model::lease::Lease;
use crate::task::{Task, at_once};

/// The longest step in which time that was granted before is granted again.
const STEP_MS: i64 = 60_000;

/// A result in a word.
pub(super) fn kind<T>(result: &weir_limiter::Result<T>) -> String {
    match result {
        Ok(_) => "done".to_owned(),
        Err(error) => error_kind(error),
    }
}

/// An error without the ids in it, which are random.
fn error_kind(error: &Error) -> String {
    match error {
        Error::Invalid { field, .. } => format!("invalid {field}"),
        Error::NotFound { kind, .. } => format!("no such {kind}"),
        Error::NoLimits { .. } => "no limits".to_owned(),
        Error::Conflict(_) => "conflict".to_owned(),
        Error::LeaseExpired { .. } => "lease expired".to_owned(),
        Error::Contended => "contended".to_owned(),
        Error::Store(error) => format!("store: {error}"),
        other => other.to_string(),
    }
}

impl Simulation {
    /// Checks the response to a request.
    pub(super) fn check_answer(
        &mut self,
        task: Task<Op, Outcome>,
        outcome: Outcome,
    ) -> Vec<Violation> {
        let is_alone = self.run.commits - task.began_at == task.commits;
        match (outcome, &task.op) {
            (Outcome::Acquired(result), Op::Acquire { request, paid }) => {
                self.run.trace.say(format_args!("  task {}: {}", task.id, say(&result)));
                let child = (request.entity.clone(), request.resource.clone());
                let mut violations = self.check_payment(&task, request, paid, &result);
                violations.extend(self.check_config(request, &result));
                violations.extend(self.check_keyed(&task, request, &result, is_alone));
                if !matches!(result, Ok(Acquired::Granted(_))) {
                    violations.extend(self.check_refusal(&task, request, &result, is_alone));
                }
                if matches!(result, Ok(Acquired::Refused(_))) {
                    if task.calls > 0 {
                        self.instances[task.instance].refused_at.insert(child, task.began_at);
                    }
                    self.refused = Some((task.instance, request.clone()));
                }
                match result {
                    Ok(Acquired::Granted(Granted { grant, .. })) if !grant.takes.is_empty() => {
                        // A repeated request may return a lease that is known.
                        if self.leases.iter().all(|lease| lease.grant.id != grant.id) {
                            self.leases.push(Lease::new(grant));
                        }
                    }
                    _ => self.remember_unanswered(&task),
                }
                violations
            }
            (Outcome::Settled(result), Op::Settle { lease, .. }) => {
                self.run.trace.say(format_args!("  task {}: {}", task.id, kind(&result)));
                let others =
                    self.run.tasks.iter().any(
                        |other| matches!(&other.op, Op::Settle { lease: of, .. } if of == lease),
                    );
                match result {
                    Ok(settled) if is_alone && !others => self.check_settled(*lease, &settled),
                    _ => Vec::new(),
                }
            }
            (Outcome::Done(what), _) => {
                self.run.trace.say(format_args!("  task {}: {what}", task.id));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Whoever was granted has paid once, and whoever was not has not.
    fn check_payment(
        &self,
        task: &Task<Op, Outcome>,
        request: &Acquire,
        paid: &BTreeMap<BucketName, Paid>,
        result: &weir_limiter::Result<Acquired>,
    ) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut wrong = |found: String| violations.push(Violation::new(Check::Response, found));
        let payers: Vec<&EntityId> = match result {
            Ok(Acquired::Granted(granted)) => {
                if granted.grant.degraded && task.faults == 0 {
                    wrong(format!("task {} was granted without the store, which works", task.id));
                }
                granted.grant.takes.iter().map(|take| &take.entity).collect()
            }
            _ => Vec::new(),
        };
        let expects_nothing = matches!(result, Ok(Acquired::Granted(granted)) if granted.grant.degraded)
            || result.is_err();
        for (name, Paid { times: count, .. }) in paid.iter().filter(|(_, paid)| !paid.is_gone) {
            let expected = i64::from(payers.contains(&&name.0));
            // What was taken is not given back when the lease would be over.
            let is_late =
                self.run.clocks.now_ms(task.instance) >= task.now_ms + request.lease_ttl_ms;
            let may_differ =
                (task.faults > 0 || is_late) && (expects_nothing || *count >= expected);
            if *count != expected && !may_differ {
                wrong(format!("task {} paid {count} times from {name:?}, not {expected}", task.id));
            }
        }
        for payer in payers.into_iter().filter(|_| !Simulation::is_repeat(request, paid)) {
            let name = (payer.clone(), request.resource.clone());
            if !paid.contains_key(&name) {
                wrong(format!("task {} says that {name:?} paid, which did not", task.id));
            }
        }
        violations
    }

    /// Without config and without limits of its own, a request is refused as one of a fresh entity is.
    fn check_config(
        &self,
        request: &Acquire,
        result: &weir_limiter::Result<Acquired>,
    ) -> Option<Violation> {
        let is_configured = self.limits_of(&request.entity, &request.resource).next().is_some();
        if is_configured || request.limits.is_some() {
            return None;
        }
        let is_right = match result {
            Ok(Acquired::Granted(granted)) => granted.grant.degraded,
            Ok(Acquired::Refused(_)) => false,
            Err(Error::Invalid { .. }) => false,
            Err(_) => true,
        };
        let found = format!(
            "nothing limits {} on {}, and the response is {}",
            request.entity,
            request.resource,
            say(result)
        );
        (!is_right).then(|| Violation::new(Check::CallerLimits, found))
    }

    /// A refusal is what a fresh instance would answer by the same clock.
    fn check_refusal(
        &mut self,
        task: &Task<Op, Outcome>,
        request: &Acquire,
        result: &weir_limiter::Result<Acquired>,
        is_alone: bool,
    ) -> Vec<Violation> {
        // Instances remember the config for a while, so only what they find in buckets is the same for all.
        let is_answer = matches!(result, Ok(_) | Err(Error::Invalid { .. }));
        if !is_answer || !self.is_comparable(task, request, is_alone) {
            return Vec::new();
        }
        if let Clock::Manual(now) = &self.observer_clock {
            now.store(task.now_ms.unsigned_abs(), std::sync::atomic::Ordering::SeqCst);
        }
        let dry = Acquire { dry_run: true, ..request.clone() };
        let fresh = at_once(self.observer.acquire(&dry));
        // The fresh instance may know a newer config, by which the request is invalid.
        if !self.has_resolved_limits(request, [result, &fresh])
            || (result.is_ok() && fresh.is_err())
        {
            return Vec::new();
        }
        if say(&fresh) != say(result) {
            let found =
                format!("task {}: {}; a fresh instance: {}", task.id, say(result), say(&fresh));
            return vec![Violation::new(Check::Refusal, found)];
        }
        match result {
            Ok(Acquired::Refused(refused)) => self.check_retry_after(task, request, refused),
            _ => Vec::new(),
        }
    }

    /// Whether nobody else can have changed the answer since this instance last asked the store.
    fn is_comparable(&self, task: &Task<Op, Outcome>, request: &Acquire, is_alone: bool) -> bool {
        let instance = &self.instances[task.instance];
        let child = (request.entity.clone(), request.resource.clone());
        let since = match task.calls {
            0 => instance.refused_at.get(&child).copied().unwrap_or_default(),
            _ => task.began_at,
        };
        let (is_uncached, is_stale) =
            (self.settings.config_ttl_ms == 0, self.run.store.with(|state| state.rates.stale > 0));
        // A stale read shows the config before its last change, however old, and may be cached.
        let is_stale = is_stale || task.id < self.stale_before;
        let may_be_old = is_stale || (instance.read_stale && !is_uncached);
        let mut config = self.config_writes.iter().filter(|(by, at)| {
            let is_other = **by != task.instance;
            may_be_old || **at > since || (!is_uncached && **at > instance.started_at && is_other)
        });
        // What is in flight has reached the store, but not the cache of its instance.
        let is_changing =
            self.run.tasks.iter().any(|other| other.instance == task.instance && other.commits > 0);
        let mut others = self.bucket_writes.iter().filter(|((bucket, by), at)| {
            let is_other = *by != task.instance;
            bucket.1 == request.resource && **at > since && is_other
        });
        let is_quiet = is_alone && !is_changing && task.faults == 0;
        is_quiet && config.next().is_none() && others.next().is_none()
    }

    /// Whether the stored buckets of both answers have the limits that apply: a change of config reaches them a little later,
    /// and what the fast path finds in them holds until then.
    fn has_resolved_limits(
        &self,
        request: &Acquire,
        answers: [&weir_limiter::Result<Acquired>; 2],
    ) -> bool {
        let limits = answers.into_iter().filter_map(|answer| match answer {
            Ok(Acquired::Refused(Refused { limits, .. }))
            | Ok(Acquired::Granted(Granted { limits, .. })) => Some(limits),
            Err(_) => None,
        });
        let parties = limits.flatten().map(|status| &status.entity);
        let payers: BTreeSet<&EntityId> = parties.chain([&request.entity]).collect();
        payers.into_iter().all(|payer| self.has_limits_of_config(payer, request))
    }

    /// Whether the stored bucket has the requested limits as the config says.
    fn has_limits_of_config(&self, payer: &EntityId, request: &Acquire) -> bool {
        let (ns, table) = (self.observer.id(), &self.settings.table);
        let key = weir_limiter::keys::bucket(ns, payer, &request.resource, 0);
        let Some(stored) = self.run.store.item(table, &key) else { return true };
        let stored = weir_limiter::item::decode(&stored);
        // No request takes from limits of another origin, unless it asks for the same ones.
        if stored.origin != Origin::Config {
            return true;
        }
        let resolved = at_once(self.observer.resolve(payer, &request.resource, None));
        let limits = resolved.map_or_else(|_| Vec::new(), |resolved| resolved.limits);
        let stored = rates(&stored);
        request.consume.keys().all(|name| {
            let resolved = limits.iter().find(|limit| limit.name == *name);
            stored.get(name) == resolved.map(Limit::rate).as_ref()
        })
    }

    /// At its retry-after a limit would cover the request, and a millisecond before not. Where time is granted again, in steps
    /// of a minute at most, the next step is due by then.
    fn check_retry_after(
        &self,
        task: &Task<Op, Outcome>,
        request: &Acquire,
        refused: &Refused,
    ) -> Vec<Violation> {
        let now_ms = task.now_ms;
        let mut violations = Vec::new();
        for status in &refused.limits {
            let bucket = self.buckets.get(&(status.entity.clone(), request.resource.clone()));
            // A limit that the bucket does not have yet gets its rate from the request.
            let has_limit = |bucket: &&Bucket| {
                let meter = bucket.meters.get(&status.limit.name);
                meter.is_some_and(|meter| meter.rate == status.limit.rate())
            };
            let Some(bucket) = bucket.filter(has_limit) else { continue };
            let covers = |at_ms: i64| {
                let has = bucket.available(&status.limit.name, at_ms);
                has.is_none_or(|has| has >= status.requested * 1000)
            };
            let wait_ms = status.retry_after_ms;
            let ahead_ms = (bucket.refilled_ms - now_ms).max(0);
            let is_step = bucket.goes_on_in_steps(now_ms) && wait_ms == STEP_MS + ahead_ms;
            let is_covered = covers(now_ms + wait_ms) || is_step;
            if is_covered && (wait_ms == 0 || !covers(now_ms + wait_ms - 1)) {
                continue;
            }
            let found = format!("task {} at {now_ms}: {status:?} of {bucket:?}", task.id);
            violations.push(Violation::new(Check::RetryAfter, found));
        }
        let longest = refused.limits.iter().map(|status| status.retry_after_ms).max();
        if longest.is_none_or(|longest| longest.max(1) != refused.retry_after_ms) {
            let found = format!("task {}: {refused:?}", task.id);
            violations.push(Violation::new(Check::RetryAfter, found));
        }
        violations
    }

    /// A lease holds what the model's does.
    fn check_settled(&self, lease: usize, settled: &Settled) -> Vec<Violation> {
        let model = &self.leases[lease];
        let is_same = |state: LeaseState| state == settled.state;
        let net: BTreeMap<_, _> = settled.net.iter().filter(|(_, by)| **by != 0).collect();
        let model_net = model.net();
        let expected: BTreeMap<_, _> = model_net.iter().filter(|(_, by)| **by != 0).collect();
        if is_same(model.state) && net == expected {
            return Vec::new();
        }
        let found = format!(
            "lease {lease} is {:?} with {net:?}; the model is {:?} with {expected:?}",
            settled.state, model.state
        );
        vec![Violation::new(Check::Settlement, found)]
    }
}

/// A response in words, without ids.
fn say(result: &weir_limiter::Result<Acquired>) -> String {
    match result {
        Ok(Acquired::Granted(granted)) if granted.grant.degraded => {
            "granted without the store".into()
        }
        Ok(Acquired::Granted(granted)) => {
            let payers: Vec<&str> =
                granted.grant.takes.iter().map(|take| take.entity.as_str()).collect();
            format!("granted, paid by {}", payers.join(" and "))
        }
        Ok(Acquired::Refused(refused)) => {
            let limits: Vec<String> = refused.limits.iter().map(say_status).collect();
            format!("refused for {} ms: {}", refused.retry_after_ms, limits.join("; "))
        }
        Err(error) => error_kind(error),
    }
}

fn say_status(status: &LimitStatus) -> String {
    let LimitStatus { entity, limit, available_milli, retry_after_ms, .. } = status;
    format!("{entity} {} has {available_milli}, {retry_after_ms} ms", limit.name)
}
