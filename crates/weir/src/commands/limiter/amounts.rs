//! Amounts of limits in flags: `rpm=1`, `tpm=-500`.

use std::collections::BTreeMap;
use std::fmt::Display;

use weir_api::limiter::Amounts;
use weir_limiter::ids::LimitName;

use crate::failure::Failure;

/// Parses an amount of a limit: `rpm=1`.
pub(super) fn amount(text: &str) -> Result<(String, i64), String> {
    let invalid = || format!("{text:?} is not LIMIT=AMOUNT, for example rpm=1");
    let (name, amount) = text.split_once('=').ok_or_else(invalid)?;
    LimitName::new(name).map_err(|error| error.to_string())?;
    let amount = amount.trim().replace('_', "").parse().map_err(|_| invalid())?;
    Ok((name.to_owned(), amount))
}

/// Collects the amounts of a flag, which names each limit once.
pub(super) fn collect(amounts: Vec<(String, i64)>) -> Result<Amounts, Failure> {
    let mut all = Amounts::new();
    for (name, amount) in amounts {
        if all.contains_key(&name) {
            return Err(Failure::usage(format!("limit {name} is named twice")));
        }
        all.insert(name, amount);
    }
    Ok(all)
}

/// The entries of a map on one line: `rpm=1 tpm=500`.
pub(super) fn line(entries: &BTreeMap<String, impl Display>) -> String {
    let entries: Vec<_> = entries.iter().map(|(name, value)| format!("{name}={value}")).collect();
    entries.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_may_have_a_sign() {
        for (text, expected) in [("rpm=1", 1), ("rpm=+5", 5), ("rpm=-5", -5), ("rpm=1_000", 1000)] {
            assert_eq!(amount(text).unwrap().1, expected, "{text}");
        }
        for wrong in ["rpm", "rpm=", "rpm=x", "=1", "rpm=1.5", "rpm=99999999999999999999"] {
            assert!(amount(wrong).is_err(), "{wrong}");
        }
    }
}
