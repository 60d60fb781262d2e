//! Reading many items of a table at once.

use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Consistency, Get, Item, Key, Name};

use crate::error::Result;
use crate::keeper::Keeper;

impl<B: Backend> Keeper<B> {
    /// Reads the items at these keys, in their order, with as few requests as it takes.
    pub(crate) async fn batch_get(
        &self,
        table: &Name,
        keys: impl IntoIterator<Item = Key>,
        consistency: Consistency,
    ) -> Result<Vec<Option<Item>>> {
        let get = |key| Get { consistency, ..Get::new(table.clone(), key) };
        let gets: Vec<Get> = keys.into_iter().map(get).collect();
        let mut items = Vec::with_capacity(gets.len());
        for some in gets.chunks(BATCH_GET_MAX) {
            items.append(&mut self.store().batch_get(some).await?);
        }
        Ok(items)
    }
}
