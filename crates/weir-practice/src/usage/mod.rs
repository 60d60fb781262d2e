//! Daily limits: how often a user does what, and whether once more is allowed.
//!
//! 1. The request is read together with everything it depends on, in one call: the user, the plan, the latest day, the
//!    counter, the record of its idempotency key.
//! 2. [`decide`] decides, without store and clock.
//! 3. What is allowed is one transaction: the counter + 1 on condition that it is below the limit, the log item, the record,
//!    and conditions on the user and the latest day. A refusal writes nothing.
//! 4. When a condition was refused, something has changed: the request is read and decided again.
//!
//! So exactly as many requests as the limit says are allowed on a day, whatever happens at once, and the counter equals the
//! number of log items.

mod archive;
mod archive_part;
mod clock_watch;
pub mod decide;
mod idempotency;
mod import;
mod log;
mod read;
mod recount;
mod request;
mod reset_day;
mod take;

pub use self::archive::ArchiveReport;
pub use self::clock_watch::ClockReading;
pub(crate) use self::clock_watch::ClockWatch;
pub use self::import::UsageRecord;
pub use self::log::UsageLogEntry;
pub use self::read::{ActionUsage, DayUsage};
pub use self::recount::{CountDifference, Recount, Repair};
pub use self::request::{UsageAnswer, UsageRequest};
pub use self::reset_day::DayReset;
pub(crate) use self::take::latest_day;
