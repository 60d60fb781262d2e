//! Money as people write it: `$12.50`, or a whole number of micro-USD.

/// Decimal places of a dollar in micro-USD.
const PLACES: usize = 6;

/// Micro-USD of `$12.50` or `12500000`.
pub(super) fn micros(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is neither dollars like $12.50 nor whole micro-USD");
    let Some(dollars) = text.strip_prefix('$') else {
        return text.replace('_', "").parse().map_err(|_| wrong());
    };
    let (whole, part) = dollars.split_once('.').unwrap_or((dollars, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let whole = whole.replace(['_', ','], "");
    if !is_digits(&whole) || !is_digits(part) || part.len() > PLACES {
        return Err(wrong());
    }
    format!("{whole}{part:0<PLACES$}").parse().map_err(|_| wrong())
}

/// Micro-USD to the cent, for charts.
pub(super) fn cents(micros: i64) -> String {
    let cents = micros.saturating_add(5_000).div_euclid(10_000);
    format!("${}.{:02}", cents.div_euclid(100), cents.rem_euclid(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_exact() {
        for (text, expected) in [
            ("$12.50", 12_500_000),
            ("$0.000001", 1),
            ("$7", 7_000_000),
            ("$1,000.1", 1_000_100_000),
            ("12_500_000", 12_500_000),
            ("0", 0),
        ] {
            assert_eq!(micros(text), Ok(expected), "{text}");
        }
        for wrong in
            ["", "$", "$.5", "$1.", "$1.0000001", "1.5", "-1", "$-1", "€1", "$99999999999999999999"]
        {
            assert!(micros(wrong).is_err(), "{wrong}");
        }
        assert_eq!(cents(1_234_999), "$1.23");
    }
}
