//! Lists, page by page.

use weir_table::{Backend, Error as Fault, Query};

use crate::bounds::PAGE_MAX;
use crate::error::{Error, Result};
use crate::keeper::Keeper;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where to go on; nothing at the end.
    pub cursor: Option<String>,
}

impl<B: Backend> Keeper<B> {
    /// A page of a list that a caller goes through: at most `limit` items, from where its cursor points.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub(crate) async fn page(
        &self,
        query: Query,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<weir_table::Page> {
        let query = Query { cursor, ..query.limit(limit.clamp(1, PAGE_MAX)) };
        self.store().query(&query).await.map_err(|error| match error {
            Fault::Invalid { field, problem } if field == "cursor" => {
                Error::Invalid { field, problem }
            }
            error => error.into(),
        })
    }
}
