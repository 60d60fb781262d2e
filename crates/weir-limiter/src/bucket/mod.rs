//! Token buckets as plain arithmetic: no store, no clock.
//!
//! Amounts are millitokens and times milliseconds, in `i64`; products are taken in `i128`. A refill covers every limit of a bucket, moves
//! its `refilled_ms` to now and carries each limit's remainder, so that refilling in many small steps equals
//! refilling in one and nothing is minted or lost. Time that goes backwards refills nothing.

mod limit;
mod rate;
mod shards;
mod state;

pub use limit::{Limit, MILLI};
pub use rate::{Level, Rate};
pub use shards::{ShardTake, double, gather, together};
pub use state::{Bucket, Meter, Shortfall, expiry_after, expiry_seconds};
