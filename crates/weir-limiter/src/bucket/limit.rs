//! A limit as people write it: whole tokens and seconds.

use serde::{Deserialize, Serialize};

use super::rate::Rate;
use crate::bounds::{LIMITS_MAX, PERIOD_SECONDS_MAX, SHARD_WRITES_PER_SECOND, TOKENS_MAX};
use crate::error::{Error, Result};
use crate::ids::LimitName;

/// Millitokens of a token.
pub const MILLI: i64 = 1_000;

/// A named limit: at most `capacity` at once, `refill_amount` more every `refill_period_seconds`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Its name.
    pub name: LimitName,
    /// The most there can be, in tokens.
    pub capacity: u64,
    /// Tokens that come back in a period.
    pub refill_amount: u64,
    /// The period.
    pub refill_period_seconds: u64,
}

impl Limit {
    /// `amount` every minute, and at most as much at once.
    #[must_use]
    pub fn per_minute(name: LimitName, amount: u64) -> Limit {
        Limit { name, capacity: amount, refill_amount: amount, refill_period_seconds: 60 }
    }

    /// The reserved limit of a shard's writes.
    #[must_use]
    pub(crate) fn wcu() -> Limit {
        Limit {
            name: LimitName::wcu(),
            capacity: SHARD_WRITES_PER_SECOND,
            refill_amount: SHARD_WRITES_PER_SECOND,
            refill_period_seconds: 1,
        }
    }

    /// Its numbers in millitokens and milliseconds.
    #[must_use]
    pub fn rate(&self) -> Rate {
        let milli = |amount: u64| i64::try_from(amount.min(TOKENS_MAX)).unwrap_or(i64::MAX) * MILLI;
        let period = self.refill_period_seconds.clamp(1, PERIOD_SECONDS_MAX);
        Rate {
            capacity: milli(self.capacity),
            refill: milli(self.refill_amount),
            period_ms: i64::try_from(period).unwrap_or(i64::MAX) * MILLI,
        }
    }

    /// The limit that has these numbers.
    #[must_use]
    pub fn of(name: LimitName, rate: Rate) -> Limit {
        let whole = |milli: i64| u64::try_from(milli / MILLI).unwrap_or_default();
        Limit {
            name,
            capacity: whole(rate.capacity),
            refill_amount: whole(rate.refill),
            refill_period_seconds: whole(rate.period_ms),
        }
    }

    /// Checks its numbers.
    ///
    /// # Errors
    /// One of them is zero or too large.
    pub fn check(&self) -> Result<()> {
        let within = |what: &str, value: u64, max: u64| {
            if (1..=max).contains(&value) {
                return Ok(());
            }
            let problem = format!("of limit {} is {value}; it must be from 1 to {max}", self.name);
            Err(Error::invalid(what, problem))
        };
        within("capacity", self.capacity, TOKENS_MAX)?;
        within("refill_amount", self.refill_amount, TOKENS_MAX)?;
        within("refill_period_seconds", self.refill_period_seconds, PERIOD_SECONDS_MAX)
    }

    /// Checks a set of limits.
    ///
    /// # Errors
    /// There are none, too many or two of one name, or one of them is wrong.
    pub fn check_all(limits: &[Limit]) -> Result<()> {
        if limits.is_empty() || limits.len() > LIMITS_MAX {
            let problem = format!("has {} limits; 1 to {LIMITS_MAX} are allowed", limits.len());
            return Err(Error::invalid("limits", problem));
        }
        for (place, limit) in limits.iter().enumerate() {
            limit.check()?;
            if limits.iter().take(place).any(|other| other.name == limit.name) {
                return Err(Error::invalid("limits", format!("names {} twice", limit.name)));
            }
        }
        Ok(())
    }
}
