//! Trying again after a lost race.

use std::time::Duration;

use weir_table::{Backend, Error as Fault, Transaction, Write};

use crate::bounds::{BACKOFF_BASE_MS, BACKOFF_MAX_MS};
use crate::error::Result;
use crate::limiter::Limiter;

/// Waits before try number `attempt`; not at all before the first. A random part of a time that doubles, so that those
/// who lost together do not meet again.
pub(crate) async fn pause(attempt: u32) {
    if attempt > 0 {
        let longest = BACKOFF_BASE_MS.saturating_mul(1 << attempt.min(16)).min(BACKOFF_MAX_MS);
        tokio::time::sleep(Duration::from_millis(fastrand::u64(1..=longest))).await;
    }
}

impl<B: Backend> Limiter<B> {
    /// Does all writes, and tells whether it did; not, when another was faster.
    pub(crate) async fn try_transact(&self, writes: Vec<Write>) -> Result<bool> {
        match self.store().transact(Transaction::new(writes)).await {
            Ok(done) => Ok(done.is_applied()),
            Err(Fault::Conflict) => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Does one write, and tells whether it did; not, when another was faster.
    pub(crate) async fn try_write(&self, write: Write) -> Result<bool> {
        match self.store().write(write).await {
            Ok(done) => Ok(done.is_applied()),
            Err(Fault::Conflict) => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }
}
