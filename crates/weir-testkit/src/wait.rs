//! Waits for state that lags behind a write: indexes, feeds, jobs and caches.
//!
//! A test that reads such state reads it here, never once after a pause: how long the lag lasts depends on the machine.

use std::fmt::Debug;
use std::panic::Location;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long a wait may last; a busy machine needs seconds, a broken program for ever.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause between two reads.
const PAUSE: Duration = Duration::from_millis(20);

/// Reads until `check` finds what it looks for, and returns that.
///
/// # Panics
/// When it is not found within a minute.
#[track_caller]
pub fn eventually<T>(mut check: impl AsyncFnMut() -> Option<T>) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = check().await {
                return found;
            }
            assert!(Instant::now() < deadline, "{caller}: not found within {PATIENCE:?}");
            sleep(PAUSE).await;
        }
    }
}

/// Reads until `read` returns `expected`.
///
/// # Panics
/// When it returns something else for a minute, with the last value.
#[track_caller]
pub fn eventually_eq<T: PartialEq + Debug>(
    expected: T,
    mut read: impl AsyncFnMut() -> T,
) -> impl Future<Output = ()> {
    let caller = Location::caller();
    async move {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = read().await;
            if found == expected {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{caller}: expected {expected:?}, and {found:?} is returned after {PATIENCE:?}"
            );
            sleep(PAUSE).await;
        }
    }
}
