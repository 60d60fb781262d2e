//! Amounts, places and texts as people read them.

use crate::bounds::REPORT_NAME_MAX;
use crate::money::MicroUsd;

/// Dollars with at least two places: `$0.0089`.
pub(super) fn dollars(cost: MicroUsd) -> String {
    let text = cost.to_string();
    let (whole, places) = text.split_once('.').unwrap_or((&text, ""));
    let kept = places.trim_end_matches('0').len().max(2);
    format!("${}.{}", grouped(whole), places.get(..kept).unwrap_or(places))
}

/// A number with its digits in groups of three: `15,420`.
pub(super) fn count(number: u64) -> String {
    grouped(&number.to_string())
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration in seconds, to the tenth: `12.5 s`.
pub(super) fn seconds(ms: u64) -> String {
    let tenths = ms.saturating_add(50) / 100;
    format!("{}.{} s", count(tenths / 10), tenths % 10)
}

/// Lines of a file: `src/a.rs:3` or `src/a.rs:3-5`. Of a long path the end counts.
pub(super) fn place(path: &str, line_start: u32, line_end: u32) -> String {
    let length = path.chars().count();
    let path = match path.char_indices().nth(length.saturating_sub(REPORT_NAME_MAX)) {
        Some((start, _)) if start > 0 => format!("…{}", path.get(start..).unwrap_or_default()),
        _ => path.to_owned(),
    };
    if line_start == line_end {
        format!("{path}:{line_start}")
    } else {
        format!("{path}:{line_start}-{line_end}")
    }
}

/// The first `max` characters of a text, and `…` if there are more.
pub(super) fn clipped(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// `1 finding` or `2 findings`.
pub(super) fn plural(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", count(number as u64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_as_people_write_them() {
        assert_eq!(dollars(MicroUsd(8_900)), "$0.0089");
        assert_eq!(dollars(MicroUsd(1_500_000)), "$1.50");
        assert_eq!(dollars(MicroUsd(12_345_000_001)), "$12,345.000001");
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(seconds(12_449), "12.4 s");
        assert_eq!(seconds(12_450), "12.5 s");
        assert_eq!(plural(1, "model"), "1 model");
        assert_eq!(plural(2, "model"), "2 models");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(clipped("äöü", 2), "äö…");
        assert_eq!(clipped("äöü", 3), "äöü");
        let path = format!("{}/end.rs", "ä".repeat(REPORT_NAME_MAX));
        let place = place(&path, 1, 2);
        assert!(place.starts_with('…') && place.ends_with("ä/end.rs:1-2"), "{place}");
    }
}
