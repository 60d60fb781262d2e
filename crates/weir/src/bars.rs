//! Bars in the terminal.

/// Cells of the longest bar.
const BAR_MAX: usize = 40;
/// Cells of the longest bar in a table.
const SMALL_MAX: usize = 20;
/// Parts of a cell, from an eighth to the whole.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// A line for each value: its name, its bar, itself.
pub(crate) fn lines(values: &[(String, i64)], shown: impl Fn(i64) -> String) -> Vec<String> {
    let most = values.iter().map(|(_, value)| *value).max().unwrap_or_default();
    values
        .iter()
        .map(|(name, value)| {
            let bar = bar(*value, most);
            let space = " ".repeat(BAR_MAX.saturating_sub(bar.chars().count()));
            format!("  {name}  {bar}{space} {}", shown(*value))
        })
        .collect()
}

/// A bar of a whole whose rest is dotted.
pub(crate) fn part(value: i64, whole: i64) -> String {
    let bar = bar(value, whole);
    let rest = BAR_MAX.saturating_sub(bar.chars().count());
    bar + &"·".repeat(rest)
}

/// A bar for a column of a table.
pub(crate) fn small(value: i64, most: i64) -> String {
    sized(value, most, SMALL_MAX)
}

/// A bar of eighths of a cell. A value above zero is always visible.
fn bar(value: i64, most: i64) -> String {
    sized(value, most, BAR_MAX)
}

fn sized(value: i64, most: i64, cells_max: usize) -> String {
    if value <= 0 || most <= 0 {
        return String::new();
    }
    let whole = cells_max as i128 * 8;
    let eighths = (i128::from(value) * whole / i128::from(most)).clamp(1, whole);
    let eighths = usize::try_from(eighths).unwrap_or(1);
    let full: String = std::iter::repeat_n('█', eighths / 8).collect();
    let rest = (eighths % 8).checked_sub(1).and_then(|rest| EIGHTHS.get(rest));
    full + &rest.map(char::to_string).unwrap_or_default()
}

/// The characters of the parts of a bar, in order; repeated if there are more parts.
const PARTS: [char; 4] = ['█', '▓', '▒', '░'];

/// A line for each name, with a bar of several parts and their sum, and a legend.
pub(crate) fn stacked(
    parts: &[&str],
    values: &[(String, Vec<i64>)],
    shown: impl Fn(i64) -> String,
) -> Vec<String> {
    let sum = |values: &[i64]| values.iter().fold(0i64, |sum, value| sum.saturating_add(*value));
    let most = values.iter().map(|(_, values)| sum(values)).max().unwrap_or_default();
    let legend =
        parts.iter().zip(PARTS.iter().cycle()).map(|(name, part)| format!("{part} {name}"));
    let mut lines = vec![format!("  {}", legend.collect::<Vec<_>>().join("  "))];
    for (name, values) in values {
        let bar = stack(values, most);
        let space = " ".repeat(BAR_MAX.saturating_sub(bar.chars().count()));
        lines.push(format!("  {name}  {bar}{space} {}", shown(sum(values))));
    }
    lines
}

/// A bar of whole cells. Each part ends where the sum up to it does, so that no rounding adds up.
fn stack(values: &[i64], most: i64) -> String {
    let cells = |sum: i64| {
        let cells = (i128::from(sum) * BAR_MAX as i128 + i128::from(most) / 2)
            .checked_div(i128::from(most))
            .unwrap_or_default();
        usize::try_from(cells).unwrap_or_default().min(BAR_MAX)
    };
    let (mut bar, mut drawn, mut sum) = (String::new(), 0, 0i64);
    for (value, part) in values.iter().zip(PARTS.iter().cycle()) {
        sum = sum.saturating_add(*value);
        let until = cells(sum);
        bar.extend(std::iter::repeat_n(*part, until.saturating_sub(drawn)));
        drawn = until.max(drawn);
    }
    // A value above zero is always visible.
    let most = values.iter().zip(PARTS.iter().cycle()).max_by_key(|(value, _)| **value);
    match most {
        Some((value, part)) if bar.is_empty() && *value > 0 => part.to_string(),
        _ => bar,
    }
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
        assert_eq!(small(5, 10), "█".repeat(10));
        assert_eq!(part(1, 2), format!("{}{}", "█".repeat(20), "·".repeat(20)));
        assert_eq!(part(3, 2), "█".repeat(40));
        assert_eq!(bar(i64::MAX, i64::MAX).chars().count(), 40);
    }

    #[test]
    fn values_stand_below_one_another() {
        let lines = lines(&[("a".into(), 1_000), ("b".into(), 500)], |value| value.to_string());
        assert_eq!(lines[0], format!("  a  {} 1000", "█".repeat(40)));
        assert_eq!(lines[1], format!("  b  {}{} 500", "█".repeat(20), " ".repeat(20)));
    }

    #[test]
    fn parts_of_a_bar_stand_beside_one_another() {
        let values = [("09".to_owned(), vec![30, 10]), ("10".to_owned(), vec![0, 20])];
        let lines = stacked(&["a", "b"], &values, |value| value.to_string());
        assert_eq!(lines[0], "  █ a  ▓ b");
        assert_eq!(lines[1], format!("  09  {}{} 40", "█".repeat(30), "▓".repeat(10)));
        assert_eq!(lines[2], format!("  10  {}{} 20", "▓".repeat(20), " ".repeat(20)));
        assert_eq!(stack(&[0, 0], 0), "");
        assert_eq!(stack(&[1, 3], 1_000), "▓");
        assert_eq!(stack(&[i64::MAX, i64::MAX], i64::MAX).chars().count(), 40);
    }
}
