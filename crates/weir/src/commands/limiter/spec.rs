//! Limits as people write them: `rpm=100/min`, `tpm=10000/min,burst=20000`.

use weir_server::limiter::shapes::{Limit, LimitName};

/// The periods that have a name, longest first.
const PERIODS: [(&str, u64); 4] = [("day", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];

const HELP: &str = "write AMOUNT/PERIOD, like 100/min or 10000/min,burst=20000; \
     periods are s, min, h, day, also 90s or 5min";

/// A limit with its name: `rpm=100/min`.
pub(super) fn limit(text: &str) -> Result<Limit, String> {
    let (name, rate) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} is not NAME=AMOUNT/PERIOD, like rpm=100/min"))?;
    named(name, rate)
}

/// The limit called `name` whose rate is written as `text`.
pub(super) fn named(name: &str, text: &str) -> Result<Limit, String> {
    let name = LimitName::new(name).map_err(|error| error.to_string())?;
    let wrong = || format!("{text:?} is no limit: {HELP}");
    let (rate, burst) = match text.split_once(',') {
        None => (text, None),
        Some((rate, burst)) => (rate, Some(burst.trim().strip_prefix("burst=").ok_or_else(wrong)?)),
    };
    let (amount, period) = rate.split_once('/').ok_or_else(wrong)?;
    let refill_amount = number(amount).ok_or_else(wrong)?;
    let limit = Limit {
        name,
        capacity: burst.map_or(Some(refill_amount), number).ok_or_else(wrong)?,
        refill_amount,
        refill_period_seconds: seconds(period).ok_or_else(wrong)?,
    };
    limit.check().map_err(|error| error.to_string())?;
    Ok(limit)
}

/// A whole number; `_` may set its thousands apart.
fn number(text: &str) -> Option<u64> {
    text.trim().replace('_', "").parse().ok()
}

fn seconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (count, unit) = text.split_at(digits);
    let count = if count.is_empty() { 1 } else { count.parse().ok()? };
    let unit = match unit.trim() {
        "s" | "sec" | "second" | "seconds" => 1,
        "m" | "min" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => 3_600,
        "d" | "day" | "days" => 86_400,
        _ => return None,
    };
    u64::checked_mul(count, unit)
}

/// A limit's rate, in the form that is read.
pub(super) fn rate(limit: &Limit) -> String {
    let secs = limit.refill_period_seconds;
    let period = match PERIODS.iter().find(|(_, long)| secs.is_multiple_of(*long)) {
        Some((unit, long)) if secs == *long => (*unit).to_owned(),
        Some((unit, long)) => format!("{}{unit}", secs / long),
        None => format!("{secs}s"),
    };
    let burst = match limit.capacity {
        same if same == limit.refill_amount => String::new(),
        burst => format!(",burst={burst}"),
    };
    format!("{}/{period}{burst}", limit.refill_amount)
}

/// Limits on one line.
pub(super) fn line(limits: &[Limit]) -> String {
    let each: Vec<_> =
        limits.iter().map(|limit| format!("{}={}", limit.name, rate(limit))).collect();
    each.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_as_they_are_written() {
        for (text, capacity, amount, secs, told) in [
            ("rpm=100/min", 100, 100, 60, "100/min"),
            ("tpm=10_000/min,burst=20000", 20_000, 10_000, 60, "10000/min,burst=20000"),
            ("a=5/s", 5, 5, 1, "5/s"),
            ("a=5/90s", 5, 5, 90, "5/90s"),
            ("a=5/2h, burst=1", 1, 5, 7_200, "5/2h,burst=1"),
            ("a=1000/1d", 1_000, 1_000, 86_400, "1000/day"),
            ("a=1/7 days", 1, 1, 604_800, "1/7day"),
        ] {
            let read = limit(text).unwrap();
            assert_eq!(
                (read.capacity, read.refill_amount, read.refill_period_seconds),
                (capacity, amount, secs),
                "{text}"
            );
            assert_eq!(rate(&read), told);
            assert_eq!(limit(&format!("{}={told}", read.name)).unwrap(), read);
        }
    }

    #[test]
    fn mistakes_in_limits_are_told() {
        for (text, told) in [
            ("rpm", "NAME=AMOUNT/PERIOD"),
            ("rpm=100", "is no limit"),
            ("rpm=x/min", "is no limit"),
            ("rpm=100/week", "is no limit"),
            ("rpm=100/min,20", "is no limit"),
            ("rpm=100/min,burst=", "is no limit"),
            ("rpm=-1/min", "is no limit"),
            ("rpm=0/min", "from 1 to"),
            ("rpm=1/0s", "from 1 to"),
            ("rpm=1/99999999999999999999d", "is no limit"),
            ("rpm=9999999999999/min", "from 1 to"),
            ("1a=1/min", "is not a limit"),
            ("wcu=1/min", "reserved"),
        ] {
            let problem = limit(text).unwrap_err();
            assert!(problem.contains(told), "{text}: {problem}");
        }
    }
}
