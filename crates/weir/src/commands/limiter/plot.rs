//! Bars in the terminal.

use std::collections::{BTreeMap, BTreeSet};

use weir_server::routes::limiter::shapes::LimitName;
use weir_server::routes::limiter::usage::{Snapshot, Window};

use super::desk::tokens;
use crate::output;

/// Cells of the longest bar.
const BAR_MAX: usize = 40;
/// Parts of a cell, from an eighth to the whole.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Draws each limit: a bar for each window, entities and resources together.
pub(super) fn usage(snapshots: &[Snapshot]) -> std::io::Result<()> {
    let names: BTreeSet<&LimitName> = snapshots.iter().flat_map(|one| one.used.keys()).collect();
    if names.is_empty() {
        return output::line("nothing was used");
    }
    for name in names {
        output::line(name.as_str())?;
        for line in bars(&sums(snapshots, name)) {
            output::line(line)?;
        }
    }
    Ok(())
}

/// What was used of a limit, by window.
fn sums(snapshots: &[Snapshot], name: &LimitName) -> Vec<(String, i64)> {
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for snapshot in snapshots {
        let sum = sums.entry(short(&snapshot.start, snapshot.window)).or_default();
        *sum = sum.saturating_add(snapshot.used.get(name).copied().unwrap_or_default());
    }
    sums.into_iter().map(|(start, sum)| (start.to_owned(), sum)).collect()
}

/// A window's beginning, as far as it matters.
pub(super) fn short(start: &str, window: Window) -> &str {
    let characters = match window {
        Window::Hourly => "2026-01-15T12:00".len(),
        Window::Daily => "2026-01-15".len(),
        Window::Monthly => "2026-01".len(),
    };
    start.get(..characters).unwrap_or(start)
}

/// A line for each value: its name, its bar, itself.
fn bars(values: &[(String, i64)]) -> Vec<String> {
    let most = values.iter().map(|(_, value)| *value).max().unwrap_or_default();
    values
        .iter()
        .map(|(name, value)| {
            let bar = bar(*value, most);
            let space = " ".repeat(BAR_MAX.saturating_sub(bar.chars().count()));
            format!("  {name}  {bar}{space} {}", tokens(*value))
        })
        .collect()
}

/// A bar of eighths of a cell. What is there at all is seen.
fn bar(value: i64, most: i64) -> String {
    if value <= 0 || most <= 0 {
        return String::new();
    }
    let whole = BAR_MAX as i128 * 8;
    let eighths = (i128::from(value) * whole / i128::from(most)).clamp(1, whole);
    let eighths = usize::try_from(eighths).unwrap_or(1);
    let full: String = std::iter::repeat_n('█', eighths / 8).collect();
    let rest = (eighths % 8).checked_sub(1).and_then(|rest| EIGHTHS.get(rest));
    full + &rest.map(char::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_values() {
        assert_eq!(bar(0, 10), "");
        assert_eq!(bar(-5, 10), "");
        assert_eq!(bar(10, 10), "█".repeat(40));
        assert_eq!(bar(5, 10), "█".repeat(20));
        assert_eq!(bar(1, 1_000_000), "▏");
        assert_eq!(bar(33, 320), "████▏");
        assert_eq!(bar(i64::MAX, i64::MAX).chars().count(), 40);
    }

    #[test]
    fn values_stand_below_one_another() {
        let lines = bars(&[("a".into(), 1_000), ("b".into(), 500)]);
        assert_eq!(lines[0], format!("  a  {} 1,000", "█".repeat(40)));
        assert_eq!(lines[1], format!("  b  {}{} 500", "█".repeat(20), " ".repeat(20)));
    }
}
