//! Lists, page by page.

use weir_table::{Backend, Error as StoreError, Page, Query};

use crate::bounds::PAGE_MAX;
use crate::error::{Error, Result};
use crate::limiter::Limiter;

impl<B: Backend> Limiter<B> {
    /// A page of a list that a caller goes through: at most `limit` items, from where its cursor points.
    ///
    /// # Errors
    /// The cursor is not of this list ([`Error::Invalid`]), or the store fails.
    pub(crate) async fn page(
        &self,
        query: Query,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Page> {
        let query = Query { cursor, ..query.limit(limit.clamp(1, PAGE_MAX)) };
        self.store().query(&query).await.map_err(|error| match error {
            StoreError::Invalid { field, problem } if field == "cursor" => {
                Error::Invalid { field, problem }
            }
            error => error.into(),
        })
    }
}
