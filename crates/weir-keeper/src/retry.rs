//! Writes that retry conflicts. Contention becomes [`Error::Contended`]; a refused condition is a result.

use weir_table::retry::TransactOptions;
use weir_table::{Backend, Error as StoreError, Transacted, Write, Written};

use crate::bounds::UNSURE_TRIES_MAX;
use crate::error::{Error, Result};
use crate::keeper::Keeper;

pub(crate) use weir_table::retry::pause;

impl<B: Backend> Keeper<B> {
    /// Does all writes or none.
    ///
    /// # Errors
    /// Too many others write the same items, or the store fails.
    pub async fn transact(&self, writes: Vec<Write>) -> Result<Transacted> {
        let options = TransactOptions::default();
        self.store().transact_with_retry(writes, options).await.map_err(contended)
    }

    /// Does all writes or none, and retries while the store does not respond, under one idempotency token: for writes whose
    /// outcome must be known, like a secret that is shown once.
    ///
    /// # Errors
    /// As [`Keeper::transact`]; when the store stays unavailable the outcome is unknown.
    pub(crate) async fn commit(&self, writes: Vec<Write>) -> Result<bool> {
        let options = TransactOptions {
            unavailable_tries_max: UNSURE_TRIES_MAX,
            ..TransactOptions::default()
        };
        let done = self.store().transact_with_retry(writes, options).await.map_err(contended)?;
        Ok(done.is_applied())
    }

    /// Does one write.
    ///
    /// # Errors
    /// Too many others write the same item, or the store fails.
    pub async fn write(&self, write: Write) -> Result<Written> {
        self.store().write_with_retry(write).await.map_err(contended)
    }
}

fn contended(error: StoreError) -> Error {
    match error {
        StoreError::Conflict => Error::Contended,
        error => error.into(),
    }
}
