//! Times as people write and read them on the command line.

mod given;
mod shown;

use weir_table::clock::Clock;

pub(crate) use given::GivenTime;
pub(crate) use shown::{length, relative, secs, until, wait};

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    i64::try_from(Clock::System.now_ms()).unwrap_or(i64::MAX)
}
