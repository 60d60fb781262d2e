//! Statistics of usage: rollups by day, and ranges of them.
//!
//! 1. The change feed names the users whose counters changed ([`UsageDirtySet::from_changes`]).
//! 2. [`Practice::roll_up`](crate::Practice::roll_up) copies their counters into the rollup of the user and the day, and adds
//!    the differences to the rollup of the day, in one transaction. It depends on the counters alone, so a change that is
//!    read twice counts once.
//! 3. [`Practice::stats`](crate::Practice::stats) reads rollups. [`Practice::verify_rollup`](crate::Practice::verify_rollup)
//!    recomputes a day from the counters.

mod dirty_set;
mod item;
mod read;
mod rollup;
mod verify;

pub use self::dirty_set::UsageDirtySet;
pub use self::item::UsageCounts;
pub use self::read::{DayStats, DayTopUser, Stats, TopUser};
pub use self::rollup::RollupReport;
pub use self::verify::{RollupCheck, RollupDifference};
