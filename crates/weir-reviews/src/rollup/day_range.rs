//! The days of a comparison.

use weir_calendar::Day;

use crate::bounds::COMPARE_DAYS_MAX;
use crate::error::{Error, Result};

/// Days from the first to the one before `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayRange {
    from: Day,
    to: Day,
}

impl DayRange {
    /// The days from `from` to the one before `to`.
    ///
    /// # Errors
    /// There is no day in between, or too many.
    pub fn new(from: Day, to: Day) -> Result<DayRange> {
        if to <= from {
            return Err(Error::invalid("to", format!("is not after from ({from})")));
        }
        let range = DayRange { from, to };
        if range.len() > COMPARE_DAYS_MAX {
            let problem = format!(
                "is {} days after from; at most {COMPARE_DAYS_MAX} are allowed",
                range.len()
            );
            return Err(Error::invalid("to", problem));
        }
        Ok(range)
    }

    /// One day.
    #[must_use]
    pub fn only(day: Day) -> DayRange {
        DayRange { from: day, to: day.plus_days(1) }
    }

    /// The first day.
    #[must_use]
    pub fn from(self) -> Day {
        self.from
    }

    /// The day after the last one.
    #[must_use]
    pub fn to(self) -> Day {
        self.to
    }

    /// Number of days.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a range has at least one day")]
    pub fn len(self) -> u32 {
        self.from.days_until(self.to).unsigned_abs()
    }

    /// The days in order.
    pub fn iter(self) -> impl Iterator<Item = Day> {
        (0..i64::from(self.len())).map(move |days| self.from.plus_days(days))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_before_its_end() {
        let day = Day::utc(0);
        let days: Vec<String> = DayRange::new(day, day.plus_days(2))
            .unwrap()
            .iter()
            .map(|day| day.to_string())
            .collect();
        assert_eq!(days, ["1970-01-01", "1970-01-02"]);
        assert_eq!(DayRange::only(day).len(), 1);
        DayRange::new(day, day).unwrap_err();
        DayRange::new(day, day.plus_days(-1)).unwrap_err();
        let longest = i64::from(COMPARE_DAYS_MAX);
        DayRange::new(day, day.plus_days(longest)).unwrap();
        DayRange::new(day, day.plus_days(longest + 1)).unwrap_err();
    }
}
