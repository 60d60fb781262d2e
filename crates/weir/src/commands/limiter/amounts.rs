//! Amounts of limits as people write them: `rpm=1`, `tpm=-500`.

use weir_server::limiter::shapes::{Amounts, LimitName};

use crate::failure::Failure;

/// An amount of a limit: `rpm=1`.
pub(super) fn amount(text: &str) -> Result<(LimitName, i64), String> {
    let wrong = || format!("{text:?} is not LIMIT=AMOUNT, like rpm=1");
    let (name, amount) = text.split_once('=').ok_or_else(wrong)?;
    let name = LimitName::new(name).map_err(|error| error.to_string())?;
    let amount = amount.trim().replace('_', "").parse().map_err(|_| wrong())?;
    Ok((name, amount))
}

/// All of them together.
pub(super) fn together(amounts: Vec<(LimitName, i64)>) -> Result<Amounts, Failure> {
    let mut all = Amounts::new();
    for (name, amount) in amounts {
        if all.contains_key(&name) {
            return Err(Failure::usage(format!("{name} is named twice")));
        }
        all.insert(name, amount);
    }
    Ok(all)
}

/// Amounts on one line.
pub(super) fn line(amounts: &Amounts) -> String {
    let each: Vec<_> = amounts.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
    each.join(" ")
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
