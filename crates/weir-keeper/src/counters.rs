//! Usage and spend of a model on a day: the counters of a shard, and the total over all shards.
//!
//! A shard is only ever incremented, and a total only replaced by one that includes at least as much. Both only grow,
//! so a late aggregation does no harm.

use weir_table::expr::{Condition, Update, attr};
use weir_table::{Item, Key, Name, Number, Value, Write};

use crate::error::{Error, Result};
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

    /// The sum of both.
    ///
    /// # Errors
    /// The sum overflows.
    pub fn plus(self, other: Counters) -> Result<Counters> {
        let sum = |ours: u64, theirs: u64| {
            ours.checked_add(theirs).ok_or(Error::Overflow("the sum of counters"))
        };
        let (ours, theirs) = (self.tokens, other.tokens);
        Ok(Counters {
            cost: self.cost.checked_add(other.cost)?,
            tokens: TokenUse {
                input: sum(ours.input, theirs.input)?,
                output: sum(ours.output, theirs.output)?,
                cached_read: sum(ours.cached_read, theirs.cached_read)?,
                cached_write: sum(ours.cached_write, theirs.cached_write)?,
            },
            requests: sum(self.requests, other.requests)?,
        })
    }

    /// The sum of all.
    ///
    /// # Errors
    /// The sum overflows.
    pub fn sum(all: impl IntoIterator<Item = Counters>) -> Result<Counters> {
        all.into_iter().try_fold(Counters::default(), Counters::plus)
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
    #[must_use]
    pub fn decode(item: &Item) -> Counters {
        let number = |name| item.get(name).and_then(Value::as_n).map_or(0, whole);
        Counters {
            cost: MicroUsd(number(COST)),
            tokens: TokenUse {
                input: number(INPUT),
                output: number(OUTPUT),
                cached_read: number(CACHED_READ),
                cached_write: number(CACHED_WRITE),
            },
            requests: number(REQUESTS),
        }
    }

    /// The write that increments a shard, creating it if absent. Zeros are not written.
    #[must_use]
    pub fn add_to_shard(&self, table: Name, key: Key, now_ms: i64, expires_ms: i64) -> Write {
        let update = Update::default()
            .set(UPDATED, now_ms.div_euclid(1000))
            .set(TTL, expires_ms.div_euclid(1000));
        let counts = self.numbers().into_iter().filter(|(_, value)| *value > 0);
        Write::update(
            table,
            key,
            counts.fold(update, |update, (name, actor)| update.add(name, actor)),
        )
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
        Write::put(table, item).when(Condition::Or(vec![attr("PK").absent(), not_less]))
    }
}

/// A stored number as `u64`. A larger one becomes `u64::MAX`, which is above every quota.
fn whole(number: Number) -> u64 {
    u64::try_from(number.to_i128().unwrap_or(i128::MAX).max(0)).unwrap_or(u64::MAX)
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
        let write = some().add_to_shard("t".into(), key(), 1_999, 90_000);
        let Action::Update(_, update) = write.action else { panic!("an update") };
        let once = apply(&update, &Item::new()).unwrap();
        assert_eq!(Counters::decode(&once), some());
        assert_eq!(
            (once.i64("updated_at_epoch"), once.i64("expires_at_epoch")),
            (Some(1), Some(90))
        );
        assert!(once.get("cached_write_tokens").is_none());
        let twice = apply(&update, &once).unwrap();
        assert_eq!(Counters::decode(&twice), some().plus(some()).unwrap());
        assert_eq!(Counters::sum([some(), some()]).unwrap().requests, 84);
        assert!(Counters { requests: u64::MAX, ..some() }.plus(some()).is_err());
    }

    #[test]
    fn a_number_beyond_u64_saturates() {
        let item = Item::new().with(COST, Number::new(10, 30).unwrap());
        assert_eq!(Counters::decode(&item).cost, MicroUsd(u64::MAX));
    }

    #[test]
    fn a_total_never_decreases() {
        let write = some().put_as_total("t".into(), key(), 0, 0);
        let Action::Put(item) = &write.action else { panic!("{write:?}") };
        let condition = write.condition.as_ref().unwrap();
        assert_eq!(Counters::decode(item), some());
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
