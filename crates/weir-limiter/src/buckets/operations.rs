//! The operations of an operator on a bucket: reset and top-up. All shards, the audit event and the idempotency key are
//! written in one transaction.

use std::collections::BTreeMap;

use serde_json::json;
use weir_table::{Backend, Write};

use super::BucketView;
use super::view::view;
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::{IDEMPOTENCY_TTL_MS, LIMITS_MAX, TOKENS_MAX, TRIES_MAX};
use crate::bucket::{Bucket, MILLI};
use crate::error::{Error, Result};
use crate::idempotency::IdempotencyKey;
use crate::ids::LimitName;
use crate::item::BucketId;
use crate::limiter::Namespace;
use crate::retry;
use crate::writes::{self, Cover};

/// An operation on a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    /// Refills the bucket completely.
    Reset,
    /// Adds these millitokens, up to the capacity.
    TopUp(BTreeMap<LimitName, i64>),
}

impl Operation {
    /// A top-up with these tokens.
    pub(super) fn top_up(amounts: &BTreeMap<LimitName, i64>) -> Result<Operation> {
        if amounts.is_empty() || amounts.len() > LIMITS_MAX {
            let problem = format!("must name 1 to {LIMITS_MAX} limits, not {}", amounts.len());
            return Err(Error::invalid("amounts", problem));
        }
        for (name, amount) in amounts {
            if !u64::try_from(*amount).is_ok_and(|amount| (1..=TOKENS_MAX).contains(&amount)) {
                let problem = format!("{name} must be from 1 to {TOKENS_MAX}, not {amount}");
                return Err(Error::invalid("amount", problem));
            }
        }
        let milli = |(name, amount): (&LimitName, &i64)| (name.clone(), amount * MILLI);
        Ok(Operation::TopUp(amounts.iter().map(milli).collect()))
    }

    /// The operation as text, to tell calls apart.
    fn text(&self, id: &BucketId) -> String {
        let operation = match self {
            Operation::Reset => json!("reset"),
            Operation::TopUp(amounts) => json!({ "top_up": amounts }),
        };
        json!([id.entity, id.resource, operation]).to_string()
    }

    fn action(&self) -> AuditAction {
        match self {
            Operation::Reset => AuditAction::BucketReset,
            Operation::TopUp(_) => AuditAction::BucketToppedUp,
        }
    }

    /// Applies the operation to the live shards. The counters of consumed tokens stay.
    fn applied_to(&self, live: &[Bucket]) -> Vec<Bucket> {
        let mut shards = live.to_vec();
        match self {
            Operation::Reset => shards.iter_mut().for_each(fill),
            Operation::TopUp(amounts) => {
                amounts.iter().for_each(|(name, amount)| add_tokens(&mut shards, name, *amount));
            }
        }
        shards
    }
}

fn fill(shard: &mut Bucket) {
    let (number, count) = (shard.shard, shard.shard_count);
    for meter in shard.meters.iter_mut().filter(|meter| !meter.name.is_wcu()) {
        meter.level = meter.share(number, count).full();
    }
}

/// Adds to every shard its part, and the rest to shards that still have room. What fits nowhere is dropped.
fn add_tokens(shards: &mut [Bucket], name: &LimitName, amount: i64) {
    let parts = i64::try_from(shards.len()).unwrap_or(i64::MAX).max(1);
    let mut remaining = amount;
    for most in [amount / parts, amount] {
        for shard in shards.iter_mut() {
            let (number, count) = (shard.shard, shard.shard_count);
            let Some(meter) = shard.meters.iter_mut().find(|meter| meter.name == *name) else {
                continue;
            };
            let ceiling = meter.share(number, count).capacity;
            let room = ceiling.saturating_sub(meter.level.tokens).max(0);
            let part = room.min(most).min(remaining);
            meter.level.tokens += part;
            remaining -= part;
            if meter.level.tokens >= ceiling {
                meter.level.remainder = 0;
            }
        }
    }
}

impl<B: Backend> Namespace<B> {
    /// Runs an operation, once for each idempotency key.
    pub(super) async fn operate(
        &self,
        id: &BucketId,
        operation: &Operation,
        key: Option<&str>,
        actor: &str,
    ) -> Result<BucketView> {
        let now_ms = self.limiter.now_ms();
        let request = operation.text(id);
        let idempotency =
            key.map(|key| IdempotencyKey::new(&self.id, key, &request)).transpose()?;
        let missing = || Error::not_found("bucket", format!("{} on {}", id.entity, id.resource));
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let is_repeat = match &idempotency {
                Some(key) => self.completed(key, now_ms).await?.is_some(),
                None => false,
            };
            let old = self.limiter.read_bucket(id).await?;
            let old = old.into_iter().map(|shard| shard.known(id)).collect::<Result<Vec<_>>>()?;
            let shared = self.limiter.settings().is_shared();
            let before = view(id, &old, shared, now_ms).ok_or_else(missing)?;
            if is_repeat {
                return Ok(before);
            }
            check_limits(operation, &before)?;
            let (mut writes, new) = self.changes(id, operation, &old, now_ms);
            let after = view(id, &new, shared, now_ms).ok_or_else(missing)?;
            writes.push(self.operation_event(operation, &before, &after, actor, now_ms)?);
            let forget_ms = now_ms.saturating_add(IDEMPOTENCY_TTL_MS);
            let record = |key| self.completion_write(key, Vec::new(), forget_ms, now_ms);
            writes.extend(idempotency.as_ref().map(record));
            let written = self.limiter.try_transact(writes).await;
            self.invalidate_bucket(&id.entity, &id.resource);
            if written? {
                return Ok(after);
            }
        }
        Err(Error::Contended)
    }

    /// The writes of the shards that change, and all shards afterwards.
    fn changes(
        &self,
        id: &BucketId,
        operation: &Operation,
        old: &[Bucket],
        now_ms: i64,
    ) -> (Vec<Write>, Vec<Bucket>) {
        let live: Vec<&Bucket> = old.iter().filter(|shard| !shard.is_expired(now_ms)).collect();
        let refilled: Vec<Bucket> = live.iter().map(|shard| shard.refilled(now_ms)).collect();
        let new = operation.applied_to(&refilled);
        let changed = live.iter().zip(&new).filter(|(old, new)| **old != *new);
        let write =
            |(old, new)| writes::change(self.limiter.table(), id, old, new, Cover::NotRequired);
        let writes = changed.map(|(old, new)| write((*old, new))).collect();
        let expired = old.iter().filter(|shard| shard.is_expired(now_ms)).cloned();
        (writes, new.iter().cloned().chain(expired).collect())
    }

    fn operation_event(
        &self,
        operation: &Operation,
        before: &BucketView,
        after: &BucketView,
        actor: &str,
        now_ms: i64,
    ) -> Result<Write> {
        let event = NewAuditEvent {
            action: operation.action(),
            subject: before.entity.as_str(),
            actor,
            resource: Some(before.resource.as_str()),
            before: Some(audit_details(before)),
            after: Some(audit_details(after)),
        };
        self.limiter.audit_write(self.id.as_str(), event, now_ms)
    }
}

/// Every limit of a top-up must exist.
fn check_limits(operation: &Operation, bucket: &BucketView) -> Result<()> {
    let Operation::TopUp(amounts) = operation else { return Ok(()) };
    let has = |name: &LimitName| bucket.limits.iter().any(|view| view.limit.name == *name);
    match amounts.keys().find(|name| !has(name)) {
        Some(name) => Err(Error::not_found("limit", name.as_str())),
        None => Ok(()),
    }
}

/// The details of a bucket in the audit trail: the available millitokens of each limit.
fn audit_details(bucket: &BucketView) -> serde_json::Value {
    let limits = bucket.limits.iter();
    let available: BTreeMap<&str, i64> =
        limits.map(|view| (view.limit.name.as_str(), view.available_milli)).collect();
    json!({ "available_milli": available })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Limit;

    fn rpm() -> LimitName {
        LimitName::new("rpm").unwrap()
    }

    fn shards(count: u32, tokens: &[i64]) -> Vec<Bucket> {
        let limit = Limit::per_minute(rpm(), 40);
        tokens
            .iter()
            .zip(0..)
            .map(|(tokens, number)| {
                let mut shard =
                    Bucket::full(std::slice::from_ref(&limit), number, count, 0).with_wcu();
                let full = shard.meter(&rpm()).unwrap().level.tokens;
                shard.take(&rpm(), full - tokens);
                shard.take(&LimitName::wcu(), 5_000);
                shard
            })
            .collect()
    }

    fn tokens(shards: &[Bucket]) -> Vec<i64> {
        shards.iter().map(|shard| shard.meter(&rpm()).unwrap().level.tokens).collect()
    }

    #[test]
    fn tokens_go_to_shards_with_room_and_the_rest_is_dropped() {
        for (before, amount, after) in [
            (vec![0], 5_000, vec![5_000]),
            (vec![-3_000], 5_000, vec![2_000]),
            (vec![39_000], 5_000, vec![40_000]),
            (vec![0, 0, 0, 0], 8_000, vec![2_000, 2_000, 2_000, 2_000]),
            (vec![9_000, 0, 0, 0], 8_000, vec![10_000, 3_000, 2_000, 2_000]),
            (vec![0, 0, 0, 0], 3, vec![3, 0, 0, 0]),
            (vec![10_000, 9_000, 9_500, 10_000], 50_000, vec![10_000; 4]),
        ] {
            let old = shards(u32::try_from(before.len()).unwrap(), &before);
            let new = Operation::TopUp([(rpm(), amount)].into()).applied_to(&old);
            assert_eq!(tokens(&new), after, "{before:?} and {amount}");
            for (old, new) in old.iter().zip(&new) {
                assert_eq!(
                    old.meter(&rpm()).unwrap().consumed,
                    new.meter(&rpm()).unwrap().consumed
                );
            }
        }
    }

    #[test]
    fn a_reset_fills_the_limits_and_not_the_write_limit() {
        let old = shards(2, &[-7_000, 1]);
        let new = Operation::Reset.applied_to(&old);
        assert_eq!(tokens(&new), [20_000, 20_000]);
        for (old, new) in old.iter().zip(&new) {
            assert_eq!(old.meter(&LimitName::wcu()), new.meter(&LimitName::wcu()));
        }
    }

    #[test]
    fn invalid_amounts_are_refused() {
        for amount in [0, -1, i64::MIN, i64::MAX, 1_000_000_000_001] {
            assert!(Operation::top_up(&[(rpm(), amount)].into()).is_err(), "{amount}");
        }
        assert!(Operation::top_up(&BTreeMap::new()).is_err());
        assert!(Operation::top_up(&[(rpm(), 1_000_000_000_000)].into()).is_ok());
    }
}
