//! Token buckets as pure arithmetic: no store, no clock.
//!
//! Amounts are millitokens and times milliseconds, in `i64`; products are computed in `i128`. A refill covers every limit of
//! a bucket, sets `refilled_ms` to now and carries each limit's remainder, so many small refills equal one large refill and
//! nothing is minted or lost. Time that goes backwards refills nothing.

mod limit;
mod rate;
mod shards;
mod state;

pub use limit::{Limit, MILLI};
pub use rate::{Level, Rate};
pub use shards::{ShardTake, combine, double, gather};
pub(crate) use state::expiry_after;
pub use state::{Bucket, Meter, Origin, Retired, Shortfall};
