//! Usage and spend of a model on a day: the counters of a shard, and the total over all shards.
//!
//! A shard is only ever incremented, and a total only replaced by one that includes at least as much. Both only grow,
//! so a late aggregation does no harm.

use std::collections::BTreeMap;

use weir_table::expr::{Condition, Update, attr};
use weir_table::{Item, Key, Name, Number, Write};

use crate::error::{Error, Result};
use crate::hours::hour_attribute;
use crate::keys;
use crate::money::{MicroUsd, TokenUse};
use crate::table::TTL;

const COST: &str = "cost_usd_micros";
const INPUT: &str = "input_tokens";
const OUTPUT: &str = "output_tokens";
const CACHED_READ: &str = "cached_read_tokens";
const CACHED_WRITE: &str = "cached_write_tokens";
const REQUESTS: &str = "requests";
/// When a shard was last incremented, or a total last written, in seconds since 1970.
pub const UPDATED: &str = "updated_at_epoch";
/// Since when the shards of a total cannot be summed, in seconds since 1970; absent when they can.
const UNSUMMED: &str = "unsummed_since_epoch";

/// Usage and spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Spend, in micro-USD.
    pub cost: MicroUsd,
    /// Tokens used.
    pub tokens: TokenUse,
    /// Number of submissions.
    pub requests: u64,
}

impl Counters {
    /// The counters of one submission.
    #[must_use]
    pub fn one(cost: MicroUsd, tokens: TokenUse) -> Counters {
        Counters { cost, tokens, requests: 1 }
    }

    /// The sum of both. Each number stops at its bound, so that a sum always exists.
    #[must_use]
    pub fn plus(self, other: Counters) -> Counters {
        let (ours, theirs) = (self.tokens, other.tokens);
        Counters {
            cost: self.cost.saturating_add(other.cost),
            tokens: TokenUse {
                input: ours.input.saturating_add(theirs.input),
                output: ours.output.saturating_add(theirs.output),
                cached_read: ours.cached_read.saturating_add(theirs.cached_read),
                cached_write: ours.cached_write.saturating_add(theirs.cached_write),
            },
            requests: self.requests.saturating_add(other.requests),
        }
    }

    /// The sum of all.
    #[must_use]
    pub fn sum(all: impl IntoIterator<Item = Counters>) -> Counters {
        all.into_iter().fold(Counters::default(), Counters::plus)
    }

    /// The sum of stored shards, or a stored total as the sum of one.
    ///
    /// # Errors
    /// One of them cannot be read ([`Counters::decode`]): then the sum is not known, and nothing may be left open by it.
    pub fn sum_items<'a>(items: impl IntoIterator<Item = &'a Item>) -> Result<Counters> {
        let mut sum = Counters::default();
        for item in items {
            sum = sum.plus(Counters::decode(item)?);
        }
        Ok(sum)
    }

    fn numbers(&self) -> [(&'static str, u64); 6] {
        [
            (COST, self.cost.0),
            (INPUT, self.tokens.input),
            (OUTPUT, self.tokens.output),
            (CACHED_READ, self.tokens.cached_read),
            (CACHED_WRITE, self.tokens.cached_write),
            (REQUESTS, self.requests),
        ]
    }

    /// Decodes a shard or a total. A missing attribute is zero.
    ///
    /// # Errors
    /// An attribute is not a count, or the total is marked as one that could not be summed.
    pub fn decode(item: &Item) -> Result<Counters> {
        if is_unsummed(item) {
            return Err(Error::damaged("a daily total", "its counters could not be summed"));
        }
        Counters::decode_numbers(item)
    }

    /// Decodes the numbers of a shard or a total, marked or not.
    ///
    /// # Errors
    /// An attribute is not a count.
    pub fn decode_numbers(item: &Item) -> Result<Counters> {
        let number = |name: &str| match item.get(name) {
            None => Ok(0),
            Some(value) => value.as_n().and_then(whole).ok_or_else(|| {
                Error::damaged("a counter", format!("{name} is not a whole number of 0 or more"))
            }),
        };
        Ok(Counters {
            cost: MicroUsd(number(COST)?),
            tokens: TokenUse {
                input: number(INPUT)?,
                output: number(OUTPUT)?,
                cached_read: number(CACHED_READ)?,
                cached_write: number(CACHED_WRITE)?,
            },
            requests: number(REQUESTS)?,
        })
    }

    /// The spend that a stored total stands for; one that cannot be read stands for all there can be.
    #[must_use]
    pub fn spend_of_total(item: Option<&Item>) -> MicroUsd {
        let spend = Counters::sum_items(item).map(|total| total.cost);
        spend.unwrap_or(MicroUsd::SATURATED)
    }

    /// The write that increments a shard and adds the cost of each hour of the day, creating the shard if absent. Zeros are not
    /// written.
    #[must_use]
    pub fn add_to_shard(
        &self,
        table: Name,
        key: Key,
        now_ms: i64,
        expires_ms: i64,
        hours: &BTreeMap<u8, MicroUsd>,
    ) -> Write {
        let update = Update::default()
            .set(UPDATED, now_ms.div_euclid(1000))
            .set(TTL, expires_ms.div_euclid(1000));
        let counts = self.numbers().into_iter().filter(|(_, value)| *value > 0);
        let update = counts.fold(update, |update, (name, value)| update.add(name, value));
        let costs = hours.iter().filter(|(_, cost)| cost.0 > 0);
        let add = |update: Update, (hour, cost): (&u8, &MicroUsd)| {
            update.add(hour_attribute(*hour).as_str(), cost.0)
        };
        Write::update(table, key, costs.fold(update, add))
    }

    /// The write that stores these counters as a total, unless the stored one includes more.
    #[must_use]
    pub fn put_as_total(&self, table: Name, key: Key, now_ms: i64, expires_ms: i64) -> Write {
        let item = keys::item(key)
            .with(UPDATED, now_ms.div_euclid(1000))
            .with(TTL, expires_ms.div_euclid(1000));
        let item =
            self.numbers().into_iter().fold(item, |item, (name, value)| item.with(name, value));
        let not_less = attr(REQUESTS).le(self.requests).and(attr(COST).le(self.cost.0));
        // A total that was marked before it was first written has no counters.
        Write::put(table, item).when(Condition::Or(vec![attr(REQUESTS).absent(), not_less]))
    }
}

/// The write that marks a total as one whose shards cannot be summed. A later total replaces it with the mark.
pub(crate) fn mark_unsummed(table: Name, key: Key, now_ms: i64, expires_ms: i64) -> Write {
    let now = now_ms.div_euclid(1000);
    let update = Update::default().set(UNSUMMED, now).set(UPDATED, now);
    Write::update(table, key, update.set(TTL, expires_ms.div_euclid(1000)))
}

/// Whether a total is marked as one whose shards cannot be summed.
pub(crate) fn is_unsummed(item: &Item) -> bool {
    item.get(UNSUMMED).is_some()
}

/// A stored number as `u64`; `None` when it is negative or a fraction. A larger one becomes `u64::MAX`, which is above
/// every quota.
fn whole(number: Number) -> Option<u64> {
    match number.to_i128() {
        Some(whole) => u64::try_from(whole.min(u64::MAX.into())).ok(),
        None => (number.exponent() >= 0 && number.mantissa() > 0).then_some(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use weir_table::expr::apply::apply;
    use weir_table::expr::eval::holds;
    use weir_table::request::Action;

    use super::*;

    fn some() -> Counters {
        let tokens = TokenUse { input: 150, output: 80, cached_read: 7, cached_write: 0 };
        Counters { cost: MicroUsd(1_250), tokens, requests: 42 }
    }

    fn key() -> Key {
        Key::new("ORG#o#LABEL#premium", "DAY#20260123")
    }

    #[test]
    fn a_shard_is_incremented() {
        let write = some().add_to_shard("t".into(), key(), 1_999, 90_000, &BTreeMap::new());
        let Action::Update(_, update) = write.action else { panic!("an update") };
        let once = apply(&update, &Item::new()).unwrap();
        assert_eq!(Counters::decode(&once).unwrap(), some());
        assert_eq!(
            (once.i64("updated_at_epoch"), once.i64("expires_at_epoch")),
            (Some(1), Some(90))
        );
        assert!(once.get("cached_write_tokens").is_none());
        let twice = apply(&update, &once).unwrap();
        assert_eq!(Counters::decode(&twice).unwrap(), some().plus(some()));
        assert_eq!(Counters::sum([some(), some()]).requests, 84);
    }

    #[test]
    fn a_sum_that_overflows_stops_at_its_bounds() {
        let tokens = TokenUse {
            input: u64::MAX,
            output: u64::MAX,
            cached_read: u64::MAX,
            cached_write: u64::MAX,
        };
        let most = Counters { cost: MicroUsd::SATURATED, tokens, requests: u64::MAX };
        assert_eq!(most.plus(some()), most);
        assert_eq!(Counters::sum(vec![most; 3]), most);
        let item = Item::new().with(COST, Number::new(10, 30).unwrap());
        assert_eq!(Counters::decode(&item).unwrap().cost, MicroUsd(u64::MAX));
        assert_eq!(Counters::sum_items([&item, &item]).unwrap().cost, MicroUsd::SATURATED);
    }

    #[test]
    fn a_counter_that_cannot_be_read_counts_as_all_spent() {
        let damaged = [
            Item::new().with(COST, "many"),
            Item::new().with(REQUESTS, -1),
            Item::new().with(COST, Number::new(15, -1).unwrap()),
            Item::new().with(COST, 5).with(UNSUMMED, 1),
        ];
        for item in damaged {
            assert!(Counters::sum_items([&Item::new(), &item]).is_err(), "{item:?}");
            assert_eq!(Counters::spend_of_total(Some(&item)), MicroUsd::SATURATED, "{item:?}");
        }
        assert_eq!(Counters::spend_of_total(None), MicroUsd::ZERO);
    }

    #[test]
    fn a_total_never_decreases() {
        let write = some().put_as_total("t".into(), key(), 0, 0);
        let Action::Put(item) = &write.action else { panic!("{write:?}") };
        let condition = write.condition.as_ref().unwrap();
        assert_eq!(Counters::decode(item).unwrap(), some());
        assert!(holds(condition, &Item::new()) && holds(condition, item));
        let more = [
            Counters { requests: 43, ..some() },
            Counters { cost: MicroUsd(1_251), ..some() },
            Counters { requests: 43, cost: MicroUsd(1), ..some() },
        ];
        for stored in more {
            let stored = stored.put_as_total("t".into(), key(), 0, 0);
            let Action::Put(stored) = stored.action else { panic!("a put") };
            assert!(!holds(condition, &stored), "{stored:?}");
        }
    }
}
