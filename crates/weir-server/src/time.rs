//! Times on the wire: RFC 3339 in UTC, with milliseconds.

/// The last millisecond that can be told: that of the last time with every offset in a year of four
/// digits.
const LATEST_MS: u64 = 253_402_207_200_999;
const DAY_MS: u64 = 86_400_000;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAY: u64 = 719_468;
const DAYS_OF_400_YEARS: u64 = 146_097;

/// Milliseconds since 1970 as text.
#[must_use]
pub fn rfc3339(ms: u64) -> String {
    Stamp::of(ms).text().to_owned()
}

/// A time as text, without a place of its own in memory: answers have one each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp([u8; 24]);

impl Stamp {
    pub(crate) fn of(ms: u64) -> Stamp {
        let ms = ms.min(LATEST_MS);
        let (year, month, day) = date(ms / DAY_MS);
        let ms = ms % DAY_MS;
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let [
            y0,
            y1,
            y2,
            y3,
            _,
            m0,
            m1,
            _,
            d0,
            d1,
            _,
            h0,
            h1,
            _,
            i0,
            i1,
            _,
            s0,
            s1,
            _,
            f0,
            f1,
            f2,
            _,
        ] = &mut text;
        write([y0, y1, y2, y3], year);
        write([m0, m1], month);
        write([d0, d1], day);
        write([h0, h1], ms / 3_600_000);
        write([i0, i1], ms / 60_000 % 60);
        write([s0, s1], ms / 1_000 % 60);
        write([f0, f1, f2], ms % 1_000);
        Stamp(text)
    }

    pub(crate) fn text(&self) -> &str {
        // It is made of ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Year, month and day of a day since 1970. Years are counted from March, so that a leap day ends one
/// (Howard Hinnant's `civil_from_days`).
fn date(day: u64) -> (u64, u64, u64) {
    let day = day + EPOCH_DAY;
    let (era, day) = (day / DAYS_OF_400_YEARS, day % DAYS_OF_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march = (5 * day + 2) / 153;
    let day = day - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

fn write<const N: usize>(places: [&mut u8; N], number: u64) {
    let mut rest = number;
    for place in places.into_iter().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn times_have_milliseconds() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(1_794_000_000_120), "2026-11-06T21:20:00.120Z");
        assert!(rfc3339(u64::MAX).starts_with("9999-"));
    }

    #[test]
    fn every_time_is_told_as_jiff_tells_it() {
        let told = |ms: u64| {
            let ms = i64::try_from(ms).unwrap_or(i64::MAX);
            let time = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
            format!("{time:.3}")
        };
        // Every day until 2500, each at another time of day, then bigger steps.
        let days = (0..194_000).map(|day| day * DAY_MS + day * 440_731 % DAY_MS);
        let later = (0..50_000).map(|step| step * 5_068_044_144);
        for ms in days.chain(later).chain([LATEST_MS, LATEST_MS + 1, u64::MAX]) {
            assert_eq!(rfc3339(ms), told(ms), "{ms}");
        }
    }
}
