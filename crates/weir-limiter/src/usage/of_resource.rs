//! Snapshots of a resource, through an index that holds their keys in order of time and entity.
//!
//! All kinds of windows stand in that order. Hours are read in one go, passing over the few others; days and months are
//! read window by window, passing over none.

use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Get, Item, Key, Query};

use super::{Filter, Snapshot, Window, snapshot};
use crate::error::Result;
use crate::ids::Resource;
use crate::keys;
use crate::limiter::Namespace;
use crate::table::GSI2;

/// Queries for one page at most; what is found by then is a page.
const QUERIES_MAX: u32 = 100;

/// A page, and after which place to go on.
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
    let mut place = after.unwrap_or_else(|| keys::gsi2_usage_from(&window.key(first)));
    let mut found = Vec::new();
    for _ in 0..QUERIES_MAX {
        let start_ms = place_ms(window, &place).unwrap_or(first).max(first);
        if start_ms > last {
            return Ok((found, None));
        }
        let end_ms = if window == Window::Hourly { last } else { start_ms };
        let high = keys::gsi2_usage_to(&window.last_key(end_ms, shared));
        // The place itself may come back first.
        let left = limit.saturating_sub(u32::try_from(found.len()).unwrap_or(limit));
        let query =
            Query::partition(ns.limiter.table(), keys::resource_partition(&ns.id, resource))
                .index(GSI2)
                .between(place.as_str(), high)
                .limit(left + 1);
        let page = ns.limiter.store().query(&query).await?;
        let is_new = |item: &&Item| item.s("GSI2SK") != Some(place.as_str());
        let fresh: Vec<&Item> = page.items.iter().filter(is_new).collect();
        let next = fresh.get(..fresh.len().min(left as usize)).unwrap_or_default();
        found.extend(whole(ns, next, filter, (first, last)).await?);
        let is_over = page.cursor.is_none() && next.len() == fresh.len();
        let seen = next.last().and_then(|item| item.s("GSI2SK")).filter(|_| !is_over);
        place = match seen {
            Some(seen) => seen.to_owned(),
            None => keys::gsi2_usage_from(&window.key(window.next_ms(end_ms))),
        };
        if found.len() >= limit as usize {
            break;
        }
    }
    let is_over = place_ms(window, &place).is_some_and(|start_ms| start_ms > last);
    Ok((found, Some(place).filter(|_| !is_over)))
}

/// When the window of a place begins.
fn place_ms(window: Window, place: &str) -> Option<i64> {
    let (key, _) = keys::parse_gsi2_usage(place)?;
    start_of(window, key)
}

fn start_of(window: Window, key: &str) -> Option<i64> {
    let mut text = key.to_owned();
    // A shorter key is of a longer window; it stands before the first of the shorter ones in it.
    text.push_str("1970-01-01T00:00:00Z".get(key.len()..)?);
    Some(window.start_ms(crate::time::parse(&text)?))
}

/// The snapshots of keys.
async fn whole<B: Backend>(
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
            // A key of another length is of another kind of window.
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
