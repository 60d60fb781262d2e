//! What an operator can do to a bucket: fill it up, or give it tokens. All shards, the audit event and the record of
//! the call's key are one transaction.

use std::collections::BTreeMap;

use serde_json::json;
use weir_table::{Backend, Write};

use super::BucketView;
use super::view::view;
use crate::audit::{Action, NewEvent};
use crate::bounds::{LIMITS_MAX, TOKENS_MAX, TRIES_MAX};
use crate::bucket::{Bucket, MILLI};
use crate::error::{Error, Result};
use crate::ids::LimitName;
use crate::item::BucketId;
use crate::limiter::Namespace;
use crate::retry;
use crate::writes::{self, Cover};

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// Fill it up.
    Reset,
    /// Give it so many millitokens, at most up to its capacity.
    TopUp(BTreeMap<LimitName, i64>),
}

impl Act {
    /// Giving so many tokens.
    pub(super) fn top_up(amounts: &BTreeMap<LimitName, i64>) -> Result<Act> {
        if amounts.is_empty() || amounts.len() > LIMITS_MAX {
            let problem = format!("has {} limits; 1 to {LIMITS_MAX} are allowed", amounts.len());
            return Err(Error::invalid("amounts", problem));
        }
        for (name, amount) in amounts {
            if !u64::try_from(*amount).is_ok_and(|amount| (1..=TOKENS_MAX).contains(&amount)) {
                let problem =
                    format!("of limit {name} is {amount}; it must be from 1 to {TOKENS_MAX}");
                return Err(Error::invalid("amount", problem));
            }
        }
        let milli = |(name, amount): (&LimitName, &i64)| (name.clone(), amount * MILLI);
        Ok(Act::TopUp(amounts.iter().map(milli).collect()))
    }

    /// The act as one text, to tell calls apart.
    fn text(&self, id: &BucketId) -> String {
        let what = match self {
            Act::Reset => json!("reset"),
            Act::TopUp(amounts) => json!({ "top_up": amounts }),
        };
        json!([id.entity, id.resource, what]).to_string()
    }

    fn action(&self) -> Action {
        match self {
            Act::Reset => Action::BucketReset,
            Act::TopUp(_) => Action::BucketToppedUp,
        }
    }

    /// The live shards after it. What was consumed stays as it is.
    fn done_to(&self, live: &[Bucket]) -> Vec<Bucket> {
        let mut shards = live.to_vec();
        match self {
            Act::Reset => shards.iter_mut().for_each(fill),
            Act::TopUp(amounts) => {
                amounts.iter().for_each(|(name, amount)| give(&mut shards, name, *amount));
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

/// Gives every shard its part, and what did not fit there to those that still have room. The rest is dropped.
fn give(shards: &mut [Bucket], name: &LimitName, amount: i64) {
    let parts = i64::try_from(shards.len()).unwrap_or(i64::MAX).max(1);
    let mut left = amount;
    for most in [amount / parts, amount] {
        for shard in shards.iter_mut() {
            let (number, count) = (shard.shard, shard.shard_count);
            let Some(meter) = shard.meters.iter_mut().find(|meter| meter.name == *name) else {
                continue;
            };
            let ceiling = meter.share(number, count).capacity;
            let room = ceiling.saturating_sub(meter.level.tokens).max(0);
            let part = room.min(most).min(left);
            meter.level.tokens += part;
            left -= part;
            if meter.level.tokens >= ceiling {
                meter.level.remainder = 0;
            }
        }
    }
}

impl<B: Backend> Namespace<B> {
    /// Does it, once for each key.
    pub(super) async fn operate(
        &self,
        id: &BucketId,
        act: &Act,
        key: Option<&str>,
        by: &str,
    ) -> Result<BucketView> {
        let now_ms = self.limiter.now_ms();
        let operation = key.map(|key| self.operation(key, &act.text(id))).transpose()?;
        let absent = || Error::not_found("bucket", format!("{} on {}", id.entity, id.resource));
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let done = match &operation {
                Some(operation) => self.is_done(operation, now_ms).await?,
                None => false,
            };
            let old = self.read_bucket(id).await?;
            let before = view(id, &old, now_ms).ok_or_else(absent)?;
            if done {
                return Ok(before);
            }
            check_limits(act, &before)?;
            let (writes, new) = self.changes(id, act, &old, now_ms);
            let after = view(id, &new, now_ms).ok_or_else(absent)?;
            let mut writes = writes;
            writes.push(self.event(act, &before, &after, by, now_ms));
            writes.extend(operation.as_ref().map(|operation| self.done(operation, now_ms)));
            let done = self.limiter.try_transact(writes).await;
            self.forget_bucket(&id.entity, &id.resource);
            if done? {
                return Ok(after);
            }
        }
        Err(Error::Contended)
    }

    /// The writes of the shards that change, and all shards as they are then.
    fn changes(
        &self,
        id: &BucketId,
        act: &Act,
        old: &[Bucket],
        now_ms: i64,
    ) -> (Vec<Write>, Vec<Bucket>) {
        let live: Vec<&Bucket> = old.iter().filter(|shard| !shard.is_expired(now_ms)).collect();
        let refilled: Vec<Bucket> = live.iter().map(|shard| shard.refilled(now_ms)).collect();
        let new = act.done_to(&refilled);
        let changed = live.iter().zip(&new).filter(|(old, new)| **old != *new);
        let write =
            |(old, new)| writes::change(self.limiter.table(), id, old, new, Cover::Unneeded);
        let writes = changed.map(|(old, new)| write((*old, new))).collect();
        let expired = old.iter().filter(|shard| shard.is_expired(now_ms)).cloned();
        (writes, new.iter().cloned().chain(expired).collect())
    }

    fn event(
        &self,
        act: &Act,
        before: &BucketView,
        after: &BucketView,
        by: &str,
        now_ms: i64,
    ) -> Write {
        let event = NewEvent {
            action: act.action(),
            subject: before.entity.as_str(),
            principal: by,
            resource: Some(before.resource.as_str()),
            before: Some(told(before)),
            after: Some(told(after)),
        };
        self.limiter.audit_write(self.id.as_str(), event, now_ms)
    }
}

/// Every limit that gets tokens must be there.
fn check_limits(act: &Act, bucket: &BucketView) -> Result<()> {
    let Act::TopUp(amounts) = act else { return Ok(()) };
    let has = |name: &LimitName| bucket.limits.iter().any(|seen| seen.limit.name == *name);
    match amounts.keys().find(|name| !has(name)) {
        Some(name) => Err(Error::not_found("limit", name.as_str())),
        None => Ok(()),
    }
}

/// A bucket as the audit trail tells it: what is there of each limit.
fn told(bucket: &BucketView) -> serde_json::Value {
    let limits = bucket.limits.iter();
    let there: BTreeMap<&str, i64> =
        limits.map(|seen| (seen.limit.name.as_str(), seen.available_milli)).collect();
    json!({ "available_milli": there })
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
    fn tokens_go_where_there_is_room_and_the_rest_is_dropped() {
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
            let new = Act::TopUp([(rpm(), amount)].into()).done_to(&old);
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
    fn a_reset_fills_the_limits_and_not_the_count_of_writes() {
        let old = shards(2, &[-7_000, 1]);
        let new = Act::Reset.done_to(&old);
        assert_eq!(tokens(&new), [20_000, 20_000]);
        for (old, new) in old.iter().zip(&new) {
            assert_eq!(old.meter(&LimitName::wcu()), new.meter(&LimitName::wcu()));
        }
    }

    #[test]
    fn wrong_amounts_are_refused() {
        for amount in [0, -1, i64::MIN, i64::MAX, 1_000_000_000_001] {
            assert!(Act::top_up(&[(rpm(), amount)].into()).is_err(), "{amount}");
        }
        assert!(Act::top_up(&BTreeMap::new()).is_err());
        assert!(Act::top_up(&[(rpm(), 1_000_000_000_000)].into()).is_ok());
    }
}
