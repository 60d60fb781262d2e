//! Days, time zones and RFC 3339 times. All times are milliseconds since 1970.
//!
//! A [`Day`] is a date, [`Zone`] says when it starts and which day an instant belongs to. The functions return `None` for
//! invalid texts: each domain reports them in its own errors, and has its own bounds of the times that it stores.

mod day;
mod time;
mod zone;

pub use day::Day;
pub use time::{parse_rfc3339, rfc3339};
pub use zone::{DaySpan, Zone};

/// Milliseconds of a day of 24 hours.
pub const DAY_MS: i64 = 86_400_000;
