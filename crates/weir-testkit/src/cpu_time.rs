//! CPU time, for tests that bound the cost of a computation.

use std::fs;
use std::time::Duration;

/// The CPU time of this thread, which other load of the machine does not lengthen; zero where Linux does not count it.
#[must_use]
pub fn cpu_time() -> Duration {
    let counted = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = counted.split_ascii_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}
