//! Durations and relative times as people read them.

use super::now_ms;

const MIN_S: u64 = 60;
const HOUR_S: u64 = 60 * MIN_S;
const DAY_S: u64 = 24 * HOUR_S;

/// A waiting time in seconds, minutes, hours or days, rounded up; `now` when it is over.
pub(crate) fn wait(ms: i64) -> String {
    match ms.max(0).unsigned_abs().div_ceil(1_000) {
        0 => "now".to_owned(),
        secs => in_units(secs, u64::div_ceil),
    }
}

/// A duration, like `350 ms`, `12.5 s` or `5 min`.
pub(crate) fn length(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 if ms % 1_000 >= 100 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms => in_units(ms / 1_000, |secs, unit| secs / unit),
    }
}

/// A duration in seconds, like `90 s` or `5 min`.
pub(crate) fn secs(secs: u64) -> String {
    length(secs.saturating_mul(1_000))
}

/// A time of the API relative to now, like `in 43 min` or `2 h ago`; another text as it is.
pub(crate) fn relative(at: &str) -> String {
    from(at, now_ms())
}

/// A time of the API as it is, and relative to now: `2026-01-31T12:00:00.000Z (in 43 min)`.
pub(crate) fn until(at: &str) -> String {
    format!("{at} ({})", relative(at))
}

fn from(at: &str, now_ms: i64) -> String {
    match weir_framework::time::parse(at) {
        Ok(at_ms) if at_ms > now_ms => format!("in {}", wait(at_ms.saturating_sub(now_ms))),
        Ok(at_ms) => match now_ms.saturating_sub(at_ms).unsigned_abs() / 1_000 {
            0..MIN_S => "just now".to_owned(),
            secs => format!("{} ago", in_units(secs, |secs, unit| secs / unit)),
        },
        Err(_) => at.to_owned(),
    }
}

/// Seconds in the largest unit of which there are two or more.
fn in_units(secs: u64, divide: fn(u64, u64) -> u64) -> String {
    match secs {
        0..120 => format!("{secs} s"),
        120..7_200 => format!("{} min", divide(secs, MIN_S)),
        7_200..172_800 => format!("{} h", divide(secs, HOUR_S)),
        _ => format!("{} d", divide(secs, DAY_S)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_are_rounded_up() {
        let times = [(-1, "now"), (0, "now"), (600, "1 s"), (61_500, "62 s"), (120_000, "2 min")];
        let longer = [(3_600_001, "61 min"), (10_800_000, "3 h"), (172_800_001, "3 d")];
        for (ms, text) in times.into_iter().chain(longer) {
            assert_eq!(wait(ms), text, "{ms}");
        }
    }

    #[test]
    fn durations_are_short() {
        for (ms, text) in [
            (0, "0 ms"),
            (350, "350 ms"),
            (1_000, "1 s"),
            (12_540, "12.5 s"),
            (60_000, "60 s"),
            (300_000, "5 min"),
            (7_200_000, "2 h"),
            (864_000_000, "10 d"),
        ] {
            assert_eq!(length(ms), text, "{ms}");
        }
    }

    #[test]
    fn times_are_relative_to_now() {
        let now_ms = weir_framework::time::parse("2026-01-31T12:00:00Z").unwrap();
        for (at, text) in [
            ("2026-01-31T12:43:00Z", "in 43 min"),
            ("2026-01-31T12:00:00.200Z", "in 1 s"),
            ("2026-01-31T12:00:00Z", "just now"),
            ("2026-01-31T09:10:00Z", "2 h ago"),
            ("2026-01-31T11:59:10Z", "just now"),
            ("2026-01-31T11:59:00Z", "60 s ago"),
            ("2026-01-01T00:00:00Z", "30 d ago"),
            ("2026-05-01T00:00:00Z", "in 90 d"),
            ("2026-05-01", "2026-05-01"),
            ("", ""),
        ] {
            assert_eq!(from(at, now_ms), text, "{at}");
        }
    }
}
