//! Writing where others write too.
//!
//! A conflict says that another was at the same item at the same time; it says nothing about the condition, so it is tried
//! again and never told as a refusal. Every try of a transaction carries the same token, so that one whose answer was lost
//! is not done twice.

use std::time::Duration;

use weir_table::{Backend, Error as Fault, Transacted, Transaction, Write, Written};

use crate::bounds::{BACKOFF_BASE_MS, BACKOFF_MAX_MS, TRIES_MAX, UNSURE_TRIES_MAX};
use crate::error::{Error, Result};
use crate::keeper::Keeper;

/// Waits before try number `attempt`; not at all before the first. A random part of a time that doubles, so that those
/// who lost together do not meet again.
pub(crate) async fn pause(attempt: u32) {
    if attempt > 0 {
        let longest = BACKOFF_BASE_MS.saturating_mul(1 << attempt.min(16)).min(BACKOFF_MAX_MS);
        tokio::time::sleep(Duration::from_millis(fastrand::u64(1..=longest))).await;
    }
}

impl<B: Backend> Keeper<B> {
    /// Does all writes or none. Refused conditions are an answer.
    ///
    /// # Errors
    /// Too many others write the same items, or the store fails.
    pub async fn transact(&self, writes: Vec<Write>) -> Result<Transacted> {
        self.send(writes, 1).await
    }

    /// The same, for what must not stay unknown: a secret that was made and never shown, an org whose one-time token is
    /// lost. While the store does not answer it is sent again under its token; if it was done, the answer is that it was.
    ///
    /// # Errors
    /// As [`Keeper::transact`]; when the store stays away the outcome is not known.
    pub(crate) async fn commit(&self, writes: Vec<Write>) -> Result<bool> {
        Ok(self.send(writes, UNSURE_TRIES_MAX).await?.is_applied())
    }

    async fn send(&self, writes: Vec<Write>, unsure_max: u32) -> Result<Transacted> {
        let transaction = Transaction::new(writes).token(uuid::Uuid::new_v4().to_string());
        let mut unsure = 0;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            match self.store().transact(transaction.clone()).await {
                Err(Fault::Conflict) => {}
                Err(Fault::Unavailable(_)) if unsure + 1 < unsure_max => unsure += 1,
                done => return Ok(done?),
            }
        }
        Err(Error::Contended)
    }

    /// Does one write. A refused condition is an answer.
    ///
    /// # Errors
    /// Too many others write the same item, or the store fails.
    pub async fn write(&self, write: Write) -> Result<Written> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            match self.store().write(write.clone()).await {
                Err(Fault::Conflict) => {}
                done => return Ok(done?),
            }
        }
        Err(Error::Contended)
    }
}
