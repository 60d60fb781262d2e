//! Reading as many items as a person asked for.
//!
//! A table's own limit counts what is read, before the filter; people mean what is shown. So pages
//! are read until enough items passed the filter. A cursor marks the end of a page and nowhere else,
//! so a page that brought too many is read again at half the size, down to the number still wanted,
//! which cannot bring too many.

use weir_table::{Item, Query, Result};

use crate::tables::Tables;

/// Items read for a page when a filter may drop most of them.
const FILTERED_PAGE: u32 = 1000;
/// Pages read for one answer; a filter that lets hardly anything through ends here, with a cursor.
const PAGES_MAX: usize = 10_000;

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The items.
    pub(crate) items: Vec<Item>,
    /// Items read, before the filter.
    pub(crate) scanned: u64,
    /// Where to go on; none at the end.
    pub(crate) cursor: Option<String>,
}

/// Reads until `wanted` items are there, or no more.
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

/// How many items pass the filter, and how many were read for it.
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
