//! Limits as text: `rpm=100/min`, `tpm=10000/min,burst=20000`.

use weir_api::limiter::RateLimit;
use weir_limiter::bucket::Limit;
use weir_limiter::ids::LimitName;

/// Units of a period, longest first.
const PERIODS: [(&str, u64); 4] = [("day", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];

const HELP: &str = "write AMOUNT/PERIOD, for example 100/min or 10000/min,burst=20000; \
     periods are s, min, h, day, also 90s or 5min";

/// A limit without its name.
#[derive(Debug)]
pub(super) struct Rate {
    pub(super) capacity: u64,
    pub(super) refill_amount: u64,
    pub(super) refill_period_seconds: u64,
}

/// Parses a limit with its name: `rpm=100/min`.
pub(super) fn limit(text: &str) -> Result<RateLimit, String> {
    let (name, text) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} is not NAME=AMOUNT/PERIOD, for example rpm=100/min"))?;
    named(name, rate(text)?)
}

/// The limit called `name`, if the limiter accepts its name and its numbers.
pub(super) fn named(name: &str, rate: Rate) -> Result<RateLimit, String> {
    let Rate { capacity, refill_amount, refill_period_seconds } = rate;
    let checked = LimitName::new(name)
        .and_then(|name| Limit { name, capacity, refill_amount, refill_period_seconds }.check());
    checked.map_err(|error| error.to_string())?;
    Ok(RateLimit { name: name.to_owned(), capacity, refill_amount, refill_period_seconds })
}

/// Parses a rate: `100/min`, `10000/min,burst=20000`.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    let invalid = || format!("{text:?} is not a rate: {HELP}");
    let (rate, burst) = match text.split_once(',') {
        None => (text, None),
        Some((rate, burst)) => {
            (rate, Some(burst.trim().strip_prefix("burst=").ok_or_else(invalid)?))
        }
    };
    let (amount, period) = rate.split_once('/').ok_or_else(invalid)?;
    let refill_amount = number(amount).ok_or_else(invalid)?;
    Ok(Rate {
        capacity: burst.map_or(Some(refill_amount), number).ok_or_else(invalid)?,
        refill_amount,
        refill_period_seconds: seconds(period).ok_or_else(invalid)?,
    })
}

/// Parses a whole number; `_` may separate its thousands.
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

/// The rate of a limit in the form that [`rate`] parses.
pub(super) fn format(limit: &RateLimit) -> String {
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
pub(super) fn line(limits: &[RateLimit]) -> String {
    let each: Vec<_> =
        limits.iter().map(|limit| format!("{}={}", limit.name, format(limit))).collect();
    each.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_parsed_as_they_are_formatted() {
        for (text, capacity, amount, secs, formatted) in [
            ("rpm=100/min", 100, 100, 60, "100/min"),
            ("tpm=10_000/min,burst=20000", 20_000, 10_000, 60, "10000/min,burst=20000"),
            ("a=5/s", 5, 5, 1, "5/s"),
            ("a=5/90s", 5, 5, 90, "5/90s"),
            ("a=5/2h, burst=1", 1, 5, 7_200, "5/2h,burst=1"),
            ("a=1000/1d", 1_000, 1_000, 86_400, "1000/day"),
            ("a=1/7 days", 1, 1, 604_800, "1/7day"),
        ] {
            let parsed = limit(text).unwrap();
            assert_eq!(
                (parsed.capacity, parsed.refill_amount, parsed.refill_period_seconds),
                (capacity, amount, secs),
                "{text}"
            );
            assert_eq!(format(&parsed), formatted);
            assert_eq!(limit(&format!("{}={formatted}", parsed.name)).unwrap(), parsed);
        }
    }

    #[test]
    fn mistakes_in_limits_are_explained() {
        for (text, expected) in [
            ("rpm", "NAME=AMOUNT/PERIOD"),
            ("rpm=100", "is not a rate"),
            ("rpm=x/min", "is not a rate"),
            ("rpm=100/week", "is not a rate"),
            ("rpm=100/min,20", "is not a rate"),
            ("rpm=100/min,burst=", "is not a rate"),
            ("rpm=-1/min", "is not a rate"),
            ("rpm=0/min", "from 1 to"),
            ("rpm=1/0s", "from 1 to"),
            ("rpm=1/99999999999999999999d", "is not a rate"),
            ("rpm=9999999999999/min", "from 1 to"),
            ("1a=1/min", "is not a limit"),
            ("wcu=1/min", "reserved"),
        ] {
            let problem = limit(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
