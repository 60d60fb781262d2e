//! Several processes take from the same buckets at once, are killed and started again, and every token is accounted for.
//!
//! On the embedded store four processes of clients share one server; on DynamoDB each has a server of its own, on the
//! same table. What clients were answered is compared with what the table says afterwards: tokens granted, tokens
//! left, tokens consumed, and usage; what was submitted with what was counted; and what users of practice did with its log.
//!
//! A request is lost when nobody knows whether it was granted. Where nobody is killed every request is answered, and on the
//! embedded store none is lost: what was granted, what was consumed and what usage says are one number. DynamoDB Local
//! gives up under load, so a server there may not know what became of a write.
//!
//! Success prints the figures; `WEIR_TEST_ALL=1` runs for longer. Where DynamoDB Local is too slow for so many at once,
//! `WEIR_TEST_TASKS=8` has fewer.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "these are tests, their helpers included"
)]

mod books;
mod client;
mod crowd;
mod family;
mod ground;
mod instance;
mod lease_client;
mod leases;
mod one_bucket;
mod patient;
mod practice;
mod process;
mod reviews;
mod spend;
mod usage;
mod wire;

use std::time::Duration;

/// Whether anybody is killed in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kills {
    None,
    Some,
}

/// How long a run is: `usual`, and six times as long at full length.
fn span(usual: Duration) -> Duration {
    let all = std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1");
    if all { usual * 6 } else { usual }
}

/// How many tasks take at once in all processes: `usual`, unless told otherwise.
fn tasks(usual: usize) -> usize {
    let configured = std::env::var("WEIR_TEST_TASKS").ok();
    configured.map_or(usual, |text| text.parse::<usize>().unwrap().max(ground::PROCESSES))
}
