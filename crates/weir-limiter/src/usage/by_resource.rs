//! Snapshots of a resource, through an index of their keys sorted by time and entity.
//!
//! Windows of all lengths are mixed in that order. Hours are read at once, skipping the few others; days and months are read
//! window by window, skipping none.

use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Get, Item, Key, Query};

use super::{Filter, Snapshot, Window, snapshot};
use crate::error::Result;
use crate::ids::Resource;
use crate::keys;
use crate::limiter::Namespace;
use crate::table::GSI2;

/// Most queries for one page; the page is what they found.
const QUERIES_MAX: u32 = 100;

/// Reads a page. Returns the position to continue after.
pub(super) async fn page<B: Backend>(
    ns: &Namespace<B>,
    resource: &Resource,
    filter: &Filter,
    (first, last): (i64, i64),
    limit: u32,
    after: Option<String>,
) -> Result<(Vec<Snapshot>, Option<String>)> {
    let window = filter.window;
    let shared = ns.limiter.settings().is_shared();
    let mut position = after.unwrap_or_else(|| keys::gsi2_usage_from(&window.key(first)));
    let mut found = Vec::new();
    for _ in 0..QUERIES_MAX {
        let start_ms = position_ms(window, &position).unwrap_or(first).max(first);
        if start_ms > last {
            return Ok((found, None));
        }
        let end_ms = if window == Window::Hourly { last } else { start_ms };
        let high = keys::gsi2_usage_to(&window.last_key(end_ms, shared));
        // The position itself may be returned first.
        let remaining = limit.saturating_sub(u32::try_from(found.len()).unwrap_or(limit));
        let query =
            Query::partition(ns.limiter.table(), keys::resource_partition(&ns.id, resource))
                .index(GSI2)
                .between(position.as_str(), high)
                .limit(remaining + 1);
        let page = ns.limiter.store().query(&query).await?;
        let is_new = |item: &&Item| item.s("GSI2SK") != Some(position.as_str());
        let fresh: Vec<&Item> = page.items.iter().filter(is_new).collect();
        let next = fresh.get(..fresh.len().min(remaining as usize)).unwrap_or_default();
        found.extend(read_snapshots(ns, next, filter, (first, last)).await?);
        let is_complete = page.cursor.is_none() && next.len() == fresh.len();
        let last_key = next.last().and_then(|item| item.s("GSI2SK")).filter(|_| !is_complete);
        position = match last_key {
            Some(last_key) => last_key.to_owned(),
            None => keys::gsi2_usage_from(&window.key(window.next_ms(end_ms))),
        };
        if found.len() >= limit as usize {
            break;
        }
    }
    let is_complete = position_ms(window, &position).is_some_and(|start_ms| start_ms > last);
    Ok((found, Some(position).filter(|_| !is_complete)))
}

/// When the window at a position begins.
fn position_ms(window: Window, position: &str) -> Option<i64> {
    let (key, _) = keys::parse_gsi2_usage(position)?;
    start_of(window, key)
}

fn start_of(window: Window, key: &str) -> Option<i64> {
    let mut text = key.to_owned();
    // A shorter key is of a longer window; it sorts before the first shorter window in it.
    text.push_str("1970-01-01T00:00:00Z".get(key.len()..)?);
    Some(window.start_ms(crate::time::parse(&text)?))
}

/// Reads the snapshots of index entries.
async fn read_snapshots<B: Backend>(
    ns: &Namespace<B>,
    index_items: &[&Item],
    filter: &Filter,
    (first, last): (i64, i64),
) -> Result<Vec<Snapshot>> {
    let mut found = Vec::new();
    let shared = ns.limiter.settings().is_shared();
    let window = filter.window;
    let lengths = [window.key(first).len(), window.last_key(first, shared).len()];
    let gets: Vec<Get> = index_items
        .iter()
        .filter_map(|item| {
            let (key, _) = keys::parse_gsi2_usage(item.s("GSI2SK")?)?;
            // A key of another length is of another window length.
            lengths.contains(&key.len()).then_some(())?;
            let key = Key::new(item.s("PK")?, item.s("SK")?);
            Some(Get::new(ns.limiter.table(), key).eventual())
        })
        .collect();
    for gets in gets.chunks(BATCH_GET_MAX) {
        let items = ns.limiter.store().batch_get(gets).await?;
        let snapshots = items.iter().flatten().filter_map(snapshot::decode);
        found.extend(snapshots.filter(|snapshot| {
            snapshot.window == filter.window && (first..=last).contains(&snapshot.start_ms)
        }));
    }
    Ok(found)
}
