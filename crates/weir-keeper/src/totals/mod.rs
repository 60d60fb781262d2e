//! Daily totals: usage and spend of one day, or of a series of days.
//!
//! An org whose quotas are per app has no totals of its own: they are the sum of its apps', and so are those of days near a
//! change of the quota scope. Ended days are finalized before they are returned, where no full pass has done so yet. Each
//! day is judged by the configuration that held at its end.

mod day_totals;
mod outstanding;
mod read;
mod source;
mod usage;

pub use self::day_totals::{DayTotals, ModelTotals, StickyView, UsageTotals};
pub(crate) use self::source::TotalsSource;
