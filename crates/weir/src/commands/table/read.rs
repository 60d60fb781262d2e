//! Reads as many matching items as requested.
//!
//! The limit of a query counts items before the filter; `--limit` counts items after it. Pages are therefore read until enough
//! items match. A cursor can only mark the end of a page, so a page with too many matches is read again at half the size, down
//! to the number of items still missing.

use weir_table::{Item, Query, Result};

use crate::tables::Tables;

/// Items per page when there is a filter.
const FILTERED_PAGE: u32 = 1000;
/// Maximum number of pages per command. With a filter that matches few items, the command ends here with a cursor.
const PAGES_MAX: usize = 10_000;

/// The result of a read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The items.
    pub(crate) items: Vec<Item>,
    /// Items read, before the filter.
    pub(crate) scanned: u64,
    /// Cursor of the next page; none at the end.
    pub(crate) cursor: Option<String>,
}

/// Reads until `wanted` items match, or to the end.
pub(crate) async fn items(tables: &Tables, query: Query, wanted: u32) -> Result<Reading> {
    let mut reading = Reading { cursor: query.cursor.clone(), ..Reading::default() };
    let mut size = match query.filter {
        Some(_) => FILTERED_PAGE.max(wanted),
        None => wanted,
    };
    for _ in 0..PAGES_MAX {
        let missing = wanted.saturating_sub(u32::try_from(reading.items.len()).unwrap_or(wanted));
        let asked = if query.filter.is_some() { size.max(missing) } else { missing };
        let mut page_query = query.clone().limit(asked);
        page_query.cursor.clone_from(&reading.cursor);
        let page = tables.query(&page_query).await?;
        if page.items.len() > missing as usize {
            size = (size / 2).max(missing);
            continue;
        }
        reading.scanned += page.scanned;
        reading.items.extend(page.items);
        reading.cursor = page.cursor;
        if reading.cursor.is_none() || reading.items.len() >= wanted as usize {
            break;
        }
    }
    Ok(reading)
}

/// The number of matching items, and the number of items read.
pub(crate) async fn count(tables: &Tables, query: Query) -> Result<(u64, u64)> {
    let mut query = query.count_only();
    let (mut count, mut scanned) = (0, 0);
    loop {
        let page = tables.query(&query).await?;
        count += page.count;
        scanned += page.scanned;
        match page.cursor {
            Some(cursor) => query = query.after(cursor),
            None => return Ok((count, scanned)),
        }
    }
}
