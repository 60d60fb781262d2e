//! Single attempts of writes that may lose a race; the loops around them read again and [`pause`].

use weir_table::{Backend, Write};

use crate::error::Result;
use crate::limiter::Limiter;

pub(crate) use weir_table::retry::pause;

impl<B: Backend> Limiter<B> {
    /// Does all writes or none, once. Returns false when a condition was refused or another writer was faster.
    pub(crate) async fn try_transact(&self, writes: Vec<Write>) -> Result<bool> {
        Ok(self.store().try_transact(writes).await?)
    }

    /// Does one write, once. Returns false when its condition was refused or another writer was faster.
    pub(crate) async fn try_write(&self, write: Write) -> Result<bool> {
        Ok(self.store().try_write(write).await?)
    }
}
