//! Snapshots of an entity, from its own partition. They are sorted by resource, then by time; so each resource is read on its
//! own and the results are merged.

use weir_table::expr::attr;
use weir_table::{Backend, Query};

use super::snapshot::{self, WINDOW};
use super::{Filter, Snapshot};
use crate::error::{Error, Result};
use crate::ids::{EntityId, Resource};
use crate::keys;
use crate::limiter::Namespace;

/// Most resources of an entity listed together: each is a query.
const RESOURCES_MAX: usize = 200;
/// Most pages read for one resource. A page has thousands of snapshots.
const PAGES_MAX: u32 = 50;

/// Reads a page. Returns the position to continue after.
pub(super) async fn page<B: Backend>(
    ns: &Namespace<B>,
    entity: &EntityId,
    filter: &Filter,
    (first, last): (i64, i64),
    limit: u32,
    after: Option<String>,
) -> Result<(Vec<Snapshot>, Option<String>)> {
    let after = after.map(|text| parse_position(&text)).transpose()?;
    let first = after.as_ref().map_or(first, |(start_ms, _)| first.max(*start_ms));
    let resources = match &filter.resource {
        Some(resource) => vec![resource.clone()],
        None => resources(ns, entity).await?,
    };
    // One more than requested shows whether there are more.
    let wanted = limit as usize + 1;
    let mut found = Vec::new();
    for resource in &resources {
        let is_next = |snapshot: &Snapshot| {
            after.as_ref().is_none_or(|(start_ms, last)| {
                (snapshot.start_ms, &snapshot.resource) > (*start_ms, last)
            })
        };
        found.extend(read(ns, entity, resource, filter, (first, last), wanted, is_next).await?);
    }
    found.sort_by(|a, b| (a.start_ms, &a.resource).cmp(&(b.start_ms, &b.resource)));
    let more = found.len() >= wanted;
    found.truncate(limit as usize);
    let next = found.last().filter(|_| more);
    Ok((found.clone(), next.map(|last| format!("{} {}", last.start_ms, last.resource))))
}

fn parse_position(text: &str) -> Result<(i64, Resource)> {
    let invalid = || Error::invalid("cursor", "does not belong to this list");
    let (start_ms, resource) = text.split_once(' ').ok_or_else(invalid)?;
    let start_ms = start_ms.parse().map_err(|_| invalid())?;
    Ok((start_ms, Resource::new(resource).map_err(|_| invalid())?))
}

/// The first `wanted` snapshots of a resource that satisfy `is_next`.
async fn read<B: Backend>(
    ns: &Namespace<B>,
    entity: &EntityId,
    resource: &Resource,
    filter: &Filter,
    (first, last): (i64, i64),
    wanted: usize,
    is_next: impl Fn(&Snapshot) -> bool,
) -> Result<Vec<Snapshot>> {
    let window = filter.window;
    let shared = ns.limiter.settings().is_shared();
    let sort = |key: String| keys::usage_sort(resource, &key);
    let mut query = Query::partition(ns.limiter.table(), keys::entity_partition(&ns.id, entity))
        .between(sort(window.key(first)), sort(window.last_key(last, shared)))
        .filter(attr(WINDOW).eq(window.name()));
    let mut found = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = ns.limiter.store().query(&query).await?;
        found.extend(page.items.iter().filter_map(snapshot::decode).filter(&is_next));
        found.truncate(wanted);
        if found.len() >= wanted || page.cursor.is_none() {
            return Ok(found);
        }
        query.cursor = page.cursor;
    }
    Err(Error::invalid("from", "is too far before `to`; request a shorter time range"))
}

/// The resources that an entity used, found by jumping from one to the next.
async fn resources<B: Backend>(ns: &Namespace<B>, entity: &EntityId) -> Result<Vec<Resource>> {
    let mut found: Vec<Resource> = Vec::new();
    for _ in 0..RESOURCES_MAX {
        let (low, high) = keys::usage_after(found.last());
        let query = Query::partition(ns.limiter.table(), keys::entity_partition(&ns.id, entity));
        let page = ns.limiter.store().query(&query.between(low, high).limit(1)).await?;
        let sort = page.items.first().and_then(|item| item.s("SK"));
        match sort.and_then(keys::parse_usage) {
            Some(resource) => found.push(resource),
            None => return Ok(found),
        }
    }
    let problem = format!("used more than {RESOURCES_MAX} resources; give a resource");
    Err(Error::invalid("entity", problem))
}
