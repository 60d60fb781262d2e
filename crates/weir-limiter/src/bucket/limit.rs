//! A limit as users write it: whole tokens and seconds.

use serde::Serialize;

use super::rate::Rate;
use crate::bounds::{LIMITS_MAX, PERIOD_SECONDS_MAX, SHARD_WRITES_PER_SECOND, TOKENS_MAX};
use crate::error::{Error, Result};
use crate::ids::LimitName;

/// Millitokens per token.
pub const MILLI: i64 = 1_000;

/// A named limit: at most `capacity` tokens at once, and `refill_amount` more every `refill_period_seconds`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// The name, unique within a config level.
    pub name: LimitName,
    /// Most tokens at once.
    pub capacity: u64,
    /// Tokens added per period.
    pub refill_amount: u64,
    /// The refill period in seconds.
    pub refill_period_seconds: u64,
}

impl Limit {
    /// A limit of `amount` per minute, which is also its capacity.
    #[must_use]
    pub fn per_minute(name: LimitName, amount: u64) -> Limit {
        Limit { name, capacity: amount, refill_amount: amount, refill_period_seconds: 60 }
    }

    /// The reserved limit that meters the writes of a shard.
    #[must_use]
    pub(crate) fn wcu() -> Limit {
        Limit {
            name: LimitName::wcu(),
            capacity: SHARD_WRITES_PER_SECOND,
            refill_amount: SHARD_WRITES_PER_SECOND,
            refill_period_seconds: 1,
        }
    }

    /// The limit in millitokens and milliseconds.
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

    /// The limit with this rate.
    #[must_use]
    pub fn from_rate(name: LimitName, rate: Rate) -> Limit {
        let whole = |milli: i64| u64::try_from(milli / MILLI).unwrap_or_default();
        Limit {
            name,
            capacity: whole(rate.capacity),
            refill_amount: whole(rate.refill),
            refill_period_seconds: whole(rate.period_ms),
        }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// A number is zero or too large.
    pub fn check(&self) -> Result<()> {
        let check = |field: &str, value: u64, max: u64| {
            if (1..=max).contains(&value) {
                return Ok(());
            }
            let problem = format!("must be from 1 to {max}, not {value} (limit {})", self.name);
            Err(Error::invalid(field, problem))
        };
        check("capacity", self.capacity, TOKENS_MAX)?;
        check("refill_amount", self.refill_amount, TOKENS_MAX)?;
        check("refill_period_seconds", self.refill_period_seconds, PERIOD_SECONDS_MAX)
    }

    /// Checks a set of limits.
    ///
    /// # Errors
    /// There are none or too many, two have the same name, or one is invalid.
    pub fn check_all(limits: &[Limit]) -> Result<()> {
        if limits.is_empty() || limits.len() > LIMITS_MAX {
            let problem = format!("must have 1 to {LIMITS_MAX} entries, not {}", limits.len());
            return Err(Error::invalid("limits", problem));
        }
        for (index, limit) in limits.iter().enumerate() {
            limit.check()?;
            if limits.iter().take(index).any(|other| other.name == limit.name) {
                return Err(Error::invalid(
                    "limits",
                    format!("limit {} is given twice", limit.name),
                ));
            }
        }
        Ok(())
    }
}
