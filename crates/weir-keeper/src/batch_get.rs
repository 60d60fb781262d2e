//! Reads any number of items, in batches as large as the store allows.

use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Get, Item};

use crate::error::Result;
use crate::keeper::Keeper;

impl<B: Backend> Keeper<B> {
    /// Reads these items, in order; `None` for each that does not exist.
    pub(crate) async fn batch_get(
        &self,
        gets: impl IntoIterator<Item = Get>,
    ) -> Result<Vec<Option<Item>>> {
        let gets: Vec<Get> = gets.into_iter().collect();
        let mut items = Vec::with_capacity(gets.len());
        for batch in gets.chunks(BATCH_GET_MAX) {
            items.append(&mut self.store().batch_get(batch).await?);
        }
        Ok(items)
    }
}
