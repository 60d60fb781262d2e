//! Daily totals: usage and spend of one day, or of a series of days.
//!
//! An org whose quotas are per app has no totals of its own: they are the sum of its apps', and so are those of days before its
//! quotas became its own. Ended days are finalized before they are returned, where no full pass has done so yet.

mod day;
mod day_totals;
mod series;
mod source;

pub use self::day_totals::{DayTotals, ModelTotals, StickyView, UsageTotals};
pub(crate) use self::source::TotalsSource;
