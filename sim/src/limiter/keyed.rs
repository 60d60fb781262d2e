//! Acquires with an idempotency key: clients repeat them, also with another body, and they take once.

use std::collections::BTreeMap;

use weir_limiter::Error;
use weir_limiter::acquire::{Acquire, Acquired};
use weir_limiter::item::TTL;
use weir_limiter::keys;
use weir_table::{KeyValue, Value};

use super::buckets::{bucket_name, consumption};
use super::{Op, Outcome, Paid, Simulation};
use crate::check::{Check, Violation};
use crate::store::{Commit, ItemChange};
use crate::task::Task;

/// Requests that clients may repeat.
const SENT_MAX: usize = 12;

/// The body of the request that took under each idempotency key.
#[derive(Debug, Clone, Default)]
pub(super) struct Keyed {
    bodies: BTreeMap<String, String>,
}

/// What a request asks for, without its key.
fn body(request: &Acquire) -> String {
    let Acquire { entity, resource, consume, limits, lease_ttl_ms, on_expiry, .. } = request;
    format!("{entity} {resource} {consume:?} {limits:?} {lease_ttl_ms} {on_expiry:?}")
}

fn is_record(change: &ItemChange) -> bool {
    let sort = change.key.sort.as_ref().map(KeyValue::to_value);
    matches!(sort, Some(Value::S(sort)) if keys::is_idempotency_sort(&sort))
}

impl Simulation {
    /// Gives a request a key, or sends an earlier one again.
    pub(super) fn keyed_request(&mut self, request: Acquire) -> Acquire {
        if !self.sent.is_empty() && self.run.random.percent(60) {
            let mut again = self.run.random.pick(&self.sent).clone();
            if self.run.random.percent(15) {
                again.consume = request.consume;
            }
            return again;
        }
        let key = format!("acquire-{}", self.run.next_task);
        let request = Acquire { idempotency_key: Some(key), ..request };
        if self.sent.len() == SENT_MAX {
            let oldest = self.sent.remove(0);
            self.keyed.bodies.remove(oldest.idempotency_key.as_deref().unwrap_or_default());
        }
        self.sent.push(request.clone());
        request
    }

    /// A request with a key takes only with its record, and only if there is none.
    pub(super) fn check_record(&mut self, index: usize, commit: &Commit) -> Option<Violation> {
        let now_ms = self.run.tasks[index].now_ms;
        let Op::Acquire { request, .. } = &self.run.tasks[index].op else { return None };
        let key = request.idempotency_key.clone()?;
        let takes = |change: &ItemChange| {
            let new = change.new.as_ref().filter(|_| bucket_name(&change.key).is_some());
            new.is_some_and(|new| !consumption(change.old.as_ref(), new).is_empty())
        };
        if !commit.changes.iter().any(takes) {
            return None;
        }
        let record = commit.changes.iter().find(|change| is_record(change));
        let is_free = record.is_some_and(|change| {
            let until = change.old.as_ref().map(|old| old.i64(TTL).unwrap_or(i64::MAX));
            until.is_none_or(|until| until <= now_ms / 1000)
        });
        self.keyed.bodies.insert(key.clone(), body(request));
        let found = format!("{key} takes again: its record was {:?}", record.map(|one| &one.old));
        (!is_free).then(|| Violation::new(Check::TakesOnce, found))
    }

    /// The record of a key has expired and was removed.
    pub(super) fn forget_record(&mut self, change: &ItemChange) {
        // The key is hashed, and removals are rare: all are forgotten.
        if is_record(change) {
            self.keyed.bodies.clear();
        }
    }

    /// The grant of a request with a key is that of the same request.
    pub(super) fn check_keyed(
        &self,
        task: &Task<Op, Outcome>,
        request: &Acquire,
        result: &weir_limiter::Result<Acquired>,
        is_alone: bool,
    ) -> Option<Violation> {
        let recorded = self.keyed.bodies.get(request.idempotency_key.as_ref()?)?;
        let is_same = *recorded == body(request);
        let is_right = match result {
            Ok(Acquired::Granted(granted)) => granted.grant.degraded || is_same,
            Err(Error::Conflict(_)) => !is_same || !is_alone,
            _ => true,
        };
        let found = format!("task {} asks for {}, recorded is {recorded}", task.id, body(request));
        (!is_right).then(|| Violation::new(Check::TakesOnce, found))
    }

    /// Whether a request was answered with the recorded grant of an earlier one.
    pub(super) fn is_repeat(request: &Acquire, paid: &BTreeMap<super::BucketName, Paid>) -> bool {
        request.idempotency_key.is_some() && paid.is_empty()
    }
}
