//! Usage windows: hours, days and months of UTC. Each length has its own keys, so that midnight's hour and the day never
//! share an item.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::Window;

pub(super) const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Times outside the years 1970 to 9998 are clamped: no change happens there, and texts of other years would not sort.
const AT_MAX_MS: i64 = 253_370_764_799_999;
/// How long hourly snapshots are retained; in a table shared with zae-limiter all of them.
const HOURLY_RETENTION_MS: i64 = 90 * DAY_MS;
/// How long daily snapshots are retained. Monthly ones stay.
const DAILY_RETENTION_MS: i64 = 2 * 365 * DAY_MS;

impl Window {
    /// Every length.
    pub const ALL: [Window; 3] = [Window::Hourly, Window::Daily, Window::Monthly];

    /// The name in items and requests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Window::Hourly => "hourly",
            Window::Daily => "daily",
            Window::Monthly => "monthly",
        }
    }

    /// When the window that contains a time began, in milliseconds since 1970.
    #[must_use]
    pub fn start_ms(self, at_ms: i64) -> i64 {
        let at_ms = at_ms.clamp(0, AT_MAX_MS);
        match self {
            Window::Hourly => at_ms - at_ms % HOUR_MS,
            Window::Daily => at_ms - at_ms % DAY_MS,
            Window::Monthly => ms_of(date(at_ms).first_of_month()),
        }
    }

    /// When the window after the one that contains a time begins.
    #[must_use]
    pub fn next_ms(self, at_ms: i64) -> i64 {
        let start_ms = self.start_ms(at_ms);
        match self {
            Window::Hourly => start_ms + HOUR_MS,
            Window::Daily => start_ms + DAY_MS,
            Window::Monthly => ms_of(date(start_ms).last_of_month()) + DAY_MS,
        }
    }

    /// The key of the window that contains a time: `2026-01-23T14:00:00Z`, `2026-01-23` or `2026-01`.
    #[must_use]
    pub fn key(self, at_ms: i64) -> String {
        let mut text = iso(self.start_ms(at_ms));
        text.truncate(match self {
            Window::Hourly => 20,
            Window::Daily => 10,
            Window::Monthly => 7,
        });
        text
    }

    /// The last key that the window that contains a time can have. zae-limiter writes the full time for every length, which sorts
    /// after our key.
    #[must_use]
    pub(super) fn last_key(self, at_ms: i64, shared: bool) -> String {
        if shared { iso(self.start_ms(at_ms)) } else { self.key(at_ms) }
    }

    /// When the snapshot of the window that began at `start_ms` expires, in seconds since 1970.
    #[must_use]
    pub(super) fn ttl(self, start_ms: i64, shared: bool) -> Option<i64> {
        let retention_ms = match self {
            _ if shared => HOURLY_RETENTION_MS,
            Window::Hourly => HOURLY_RETENTION_MS,
            Window::Daily => DAILY_RETENTION_MS,
            Window::Monthly => return None,
        };
        Some((self.next_ms(start_ms) + retention_ms) / 1000)
    }
}

/// The time as stored in snapshots, to the second.
pub(super) fn iso(at_ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms.clamp(0, AT_MAX_MS)).unwrap_or_default();
    format!("{at:.0}")
}

fn date(at_ms: i64) -> Date {
    let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or_default();
    TimeZone::UTC.to_datetime(at).date()
}

fn ms_of(date: Date) -> i64 {
    TimeZone::UTC
        .to_timestamp(date.to_datetime(jiff::civil::Time::midnight()))
        .map_or(0, jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> i64 {
        crate::time::parse(text).unwrap()
    }

    #[test]
    fn each_length_has_its_own_keys() {
        let midnight = ms("2026-01-23T00:00:00Z");
        let keys = Window::ALL.map(|window| window.key(midnight));
        assert_eq!(keys, ["2026-01-23T00:00:00Z", "2026-01-23", "2026-01"]);
        let late = ms("2026-01-23T23:59:59.999Z");
        let keys = Window::ALL.map(|window| window.key(late));
        assert_eq!(keys, ["2026-01-23T23:00:00Z", "2026-01-23", "2026-01"]);
    }

    #[test]
    fn windows_follow_each_other() {
        for (window, at, start, next) in [
            (
                Window::Hourly,
                "2026-01-31T23:30:00Z",
                "2026-01-31T23:00:00Z",
                "2026-02-01T00:00:00Z",
            ),
            (Window::Daily, "2024-02-28T12:00:00Z", "2024-02-28T00:00:00Z", "2024-02-29T00:00:00Z"),
            (
                Window::Monthly,
                "2024-02-29T01:00:00Z",
                "2024-02-01T00:00:00Z",
                "2024-03-01T00:00:00Z",
            ),
            (
                Window::Monthly,
                "2026-12-01T00:00:00Z",
                "2026-12-01T00:00:00Z",
                "2027-01-01T00:00:00Z",
            ),
        ] {
            assert_eq!(window.start_ms(ms(at)), ms(start), "{at}");
            assert_eq!(window.next_ms(ms(at)), ms(next), "{at}");
        }
        for window in Window::ALL {
            for at_ms in [i64::MIN, -1, 0, i64::MAX] {
                let start_ms = window.start_ms(at_ms);
                assert_eq!(window.start_ms(start_ms), start_ms);
                assert!(window.next_ms(at_ms) > start_ms);
            }
        }
    }

    #[test]
    fn monthly_snapshots_stay_and_the_rest_expires() {
        let at = ms("2026-01-23T00:00:00Z");
        let retention_days = |window: Window, shared| {
            Some(window.ttl(at, shared)? - window.next_ms(at) / 1000).map(|secs| secs / 86_400)
        };
        assert_eq!(
            Window::ALL.map(|window| retention_days(window, false)),
            [Some(90), Some(730), None]
        );
        assert_eq!(Window::ALL.map(|window| retention_days(window, true)), [Some(90); 3]);
    }
}
