//! What was used and spent on a day, and on a series of days.
//!
//! An org whose quotas are its apps' has no totals of its own: they are the sum of its apps'. So are those of days before its
//! quotas became its own. Days that are over are summed up before they are told, where no full pass has done so yet.

mod apps;
mod day;
mod series;
mod view;

pub(crate) use self::apps::Part;
pub use self::view::{DayTotals, ModelTotals, StickyView, Sum};
