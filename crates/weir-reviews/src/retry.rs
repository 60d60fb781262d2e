//! Writes that retry conflicts. Contention becomes [`Error::Contended`](crate::Error::Contended); a refused condition is a
//! result.

use weir_table::retry::TransactOptions;
use weir_table::{Backend, Transacted, Write, Written};

use crate::error::Result;
use crate::reviews::Reviews;

pub(crate) use weir_table::retry::{TRIES_MAX, pause};

impl<B: Backend> Reviews<B> {
    /// Does all writes or none.
    pub(crate) async fn transact(&self, writes: Vec<Write>) -> Result<Transacted> {
        let options = TransactOptions::default();
        Ok(self.store().transact_with_retry(writes, options).await?)
    }

    /// Does one write.
    pub(crate) async fn write(&self, write: Write) -> Result<Written> {
        Ok(self.store().write_with_retry(write).await?)
    }
}
