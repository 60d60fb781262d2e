//! Asking: one review, and lists of reviews, responses, findings, consensus and costs.
//!
//! Every page of a list is one query (per index shard), the newest first. Items that have expired are left out, although
//! the store may not have removed them yet.

mod lists;
mod one;
mod shards;

use weir_table::retry::{Listed, PAGE_MAX};
use weir_table::{Backend, Item, Page, Query};

pub use self::lists::{ListedConsensus, ListedFinding, ListedResponse};
use crate::error::Result;
use crate::items::is_expired;
use crate::keys;
use crate::reviews::Reviews;

/// Which entries a list returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListOptions {
    /// Entries from this time on, in milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// Entries before this time, in milliseconds since 1970.
    pub to_ms: Option<i64>,
    /// Most entries of the page; never more than [`PAGE_MAX`].
    pub limit: u32,
    /// Cursor of the page before.
    pub cursor: Option<String>,
}

impl Default for ListOptions {
    /// The first full page of everything.
    fn default() -> ListOptions {
        ListOptions { from_ms: None, to_ms: None, limit: PAGE_MAX, cursor: None }
    }
}

impl<B: Backend> Reviews<B> {
    /// A page of a list, the newest first: of one partition of the table or of an index, after a prefix.
    async fn list<T>(
        &self,
        index: Option<&str>,
        partitions: Vec<String>,
        prefix: &str,
        options: &ListOptions,
        decode: impl Fn(&Item) -> Result<T>,
    ) -> Result<Listed<T>> {
        let Some(range) = keys::time_range(prefix, options.from_ms, options.to_ms) else {
            return Ok(Listed { items: Vec::new(), cursor: None });
        };
        let query = |partition: String| {
            let query = Query::partition(self.table().clone(), partition).sort(range.clone());
            let query = query.reverse();
            index.map_or_else(|| query.clone(), |index| query.clone().index(index))
        };
        let mut queries: Vec<Query> = partitions.into_iter().map(query).collect();
        let page = match (queries.len(), queries.pop()) {
            (1, Some(query)) => {
                self.store().page(query, options.limit, options.cursor.clone()).await?
            }
            (_, last) => {
                queries.extend(last);
                self.merged_page(&queries, options).await?
            }
        };
        Ok(self.living(page, decode))
    }

    fn living<T>(&self, page: Page, decode: impl Fn(&Item) -> Result<T>) -> Listed<T> {
        let now_ms = self.now_ms();
        page.listed(|item| (!is_expired(item, now_ms)).then(|| decode(item).ok()).flatten())
    }
}
