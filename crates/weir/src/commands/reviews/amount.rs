//! Costs and durations as people read them.

use crate::output;

/// Decimal dollars with at least two places: `$0.0089` of `0.008900`.
pub(super) fn dollars(cost_usd: &str) -> String {
    let (whole, places) = cost_usd.split_once('.').unwrap_or((cost_usd, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), output::thousands);
    format!("${whole}.{:0<2}", places.trim_end_matches('0'))
}

/// Dollars of a figure, rounded to a micro-USD.
pub(super) fn rounded_dollars(value: f64) -> String {
    dollars(&format!("{value:.6}"))
}

/// Micro-USD of decimal dollars; none above what a number holds.
pub(super) fn micros(cost_usd: &str) -> Option<u64> {
    let (whole, places) = cost_usd.split_once('.').unwrap_or((cost_usd, ""));
    format!("{whole}{:0<6}", places.get(..6).unwrap_or(places)).parse().ok()
}

/// Micro-USD as dollars.
pub(super) fn dollars_of_micros(micros: u64) -> String {
    dollars(&format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000))
}

/// A duration in seconds, to the tenth: `12.5 s`.
pub(super) fn seconds(ms: u64) -> String {
    let tenths = ms.saturating_add(50) / 100;
    format!("{}.{} s", output::thousands(tenths / 10), tenths % 10)
}

/// A share from 0 to 1 in percent: `66.7 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Lines of a file: `src/a.rs:3` or `src/a.rs:3-5`.
pub(super) fn lines(path: &str, start: u32, end: u32) -> String {
    let path = output::printable(path);
    if start == end { format!("{path}:{start}") } else { format!("{path}:{start}-{end}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_as_people_write_them() {
        assert_eq!(dollars("0.008900"), "$0.0089");
        assert_eq!(dollars("1234.500000"), "$1,234.50");
        assert_eq!(dollars("7"), "$7.00");
        assert_eq!(rounded_dollars(0.1 + 0.2), "$0.30");
        assert_eq!(micros("0.008900"), Some(8_900));
        assert_eq!(micros("12"), Some(12_000_000));
        assert_eq!(dollars_of_micros(12_000_001), "$12.000001");
        assert_eq!(seconds(12_450), "12.5 s");
        assert_eq!(percent(2.0 / 3.0), "66.7 %");
        assert_eq!(lines("a\u{1b}.rs", 3, 5), "a\\u{1b}.rs:3-5");
    }
}
