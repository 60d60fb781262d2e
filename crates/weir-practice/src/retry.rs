//! Writes that retry conflicts. Contention becomes [`Error::Contended`](crate::Error::Contended); a refused condition is a
//! result.

use weir_table::retry::TransactOptions;
use weir_table::{Backend, Transacted, Write, Written};

use crate::error::Result;
use crate::practice::Practice;

impl<B: Backend> Practice<B> {
    /// Does all writes or none.
    ///
    /// # Errors
    /// Every attempt met another writer, or the store fails.
    pub async fn transact(&self, writes: Vec<Write>) -> Result<Transacted> {
        let options = TransactOptions::default();
        Ok(self.store().transact_with_retry(writes, options).await?)
    }

    /// Does one write.
    ///
    /// # Errors
    /// Every attempt met another writer, or the store fails.
    pub async fn write(&self, write: Write) -> Result<Written> {
        Ok(self.store().write_with_retry(write).await?)
    }
}
