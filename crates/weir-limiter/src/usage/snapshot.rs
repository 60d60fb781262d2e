//! The stored form of a snapshot: flat, each limit an attribute.
//!
//! Counters are tokens. A take from several shards is recorded by shard, in fractions of a token, so a counter is a decimal
//! number with up to three places: their sums are exact.

use weir_table::{Item, Number};

use super::{Snapshot, Window};
use crate::bucket::MILLI;
use crate::ids::{EntityId, LimitName, Resource};
use crate::time;

pub(super) const EVENTS: &str = "total_events";
pub(super) const WINDOW: &str = "window";
pub(super) const WINDOW_START: &str = "window_start";

/// Decimal places of a token counter.
const PLACES: i16 = 3;

/// Millitokens as tokens.
pub(super) fn tokens(milli: i64) -> Number {
    Number::new(i128::from(milli), -i32::from(PLACES)).unwrap_or(Number::ZERO)
}

/// Tokens as millitokens.
fn milli(tokens: &Number) -> Option<i64> {
    let places = tokens.exponent().checked_add(PLACES)?;
    let power = 10_i128.checked_pow(u32::from(places.unsigned_abs()))?;
    let milli = if places < 0 {
        tokens.mantissa().div_euclid(power)
    } else {
        tokens.mantissa().checked_mul(power)?
    };
    i64::try_from(milli).ok()
}

/// Decodes a snapshot; none if the item is not one.
pub(super) fn decode(item: &Item) -> Option<Snapshot> {
    let window = Window::ALL.into_iter().find(|window| Some(window.name()) == item.s(WINDOW))?;
    let used_milli: std::collections::BTreeMap<LimitName, i64> = item
        .attrs()
        .iter()
        .filter_map(|(name, value)| Some((LimitName::new(name).ok()?, milli(&value.as_n()?)?)))
        .collect();
    let whole = |(name, milli): (&LimitName, &i64)| (name.clone(), milli.div_euclid(MILLI));
    Some(Snapshot {
        entity: EntityId::stored(item.s("entity_id")?),
        resource: Resource::stored(item.s("resource")?),
        window,
        start_ms: time::parse(item.s(WINDOW_START)?)?,
        used: used_milli.iter().map(whole).collect(),
        used_milli,
        events: item.i64(EVENTS).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn millitokens_are_stored_as_decimal_tokens() {
        for (amount, text) in [(5_000, "5"), (333, "0.333"), (-1_500, "-1.5"), (0, "0")] {
            assert_eq!(tokens(amount).to_string(), text);
            assert_eq!(milli(&tokens(amount)), Some(amount));
        }
        assert_eq!(milli(&tokens(i64::MAX)), Some(i64::MAX));
    }
}
