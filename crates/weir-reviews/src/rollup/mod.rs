//! Sums per repository, model and day, so that a comparison reads days instead of reviews.
//!
//! 1. The transaction that completes, judges, replaces or deletes a review also writes its [`Summary`] and a mark
//!    ([`writes()`], [`StoredSummary::feedback_writes`], [`removal_writes`]). The summary is what the review adds to its day.
//! 2. [`run()`] takes the marks, sums the summaries of each marked day of a repository, and writes what changed together
//!    with a mark of that day for all repositories.
//! 3. Then it takes those marks, and merges the days of the repositories.
//!
//! A rollup is a function of the summaries. Every pass over a day reads the day's version first and ends with a
//! transaction that requires this version and raises it. So of two passes at once the later reader wins, and the other is
//! refused and repeated. A pass that is killed leaves its marks. [`verify()`] computes days from scratch and compares.

mod agreement;
mod commit;
mod day_range;
mod day_rollup;
mod feedback;
mod finding_counts;
mod histogram;
mod items;
pub mod keys;
mod model_day;
mod pair_day;
mod read;
mod run;
mod summary;
mod verify;
mod writes;

use weir_table::Name;

pub use day_range::DayRange;
pub use day_rollup::DayRollup;
pub use feedback::StoredSummary;
pub use finding_counts::FindingCounts;
pub use histogram::Histogram;
pub use keys::Level;
pub use model_day::ModelDay;
pub use pair_day::{Pair, PairCounts, PairDay};
pub use read::read_days;
pub use run::{RunReport, run};
pub use summary::{Summary, SummaryId};
pub use verify::{Difference, VerifyReport, verify};
pub use writes::{mark_write, removal_writes, replacement_writes, writes};

use crate::bounds::ROLLUP_RETENTION_DAYS;

/// The table with the rollups, and how long they are retained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollupTable {
    /// Name of the table.
    pub name: Name,
    /// Days that summaries and rollups are retained after their day.
    pub retention_days: u32,
}

impl RollupTable {
    /// The table of this name, with the default retention.
    pub fn new(name: impl Into<Name>) -> RollupTable {
        RollupTable { name: name.into(), retention_days: ROLLUP_RETENTION_DAYS }
    }
}
