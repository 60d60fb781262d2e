//! Lists of snapshots, in order of time.

use weir_table::Backend;

use super::{Filter, Snapshot, of_entity, of_resource};
use crate::error::{Error, Result};
use crate::limiter::Namespace;

/// Snapshots of one page at most.
pub(super) const PAGE_MAX: u32 = 1_000;

/// The windows of a filter: when the first and the last of them begin. Nothing, if there are none.
pub(super) fn span(filter: &Filter) -> Option<(i64, i64)> {
    let first = filter.window.start_ms(filter.from_ms);
    let last = filter.window.start_ms(filter.to_ms.checked_sub(1)?);
    (filter.from_ms < filter.to_ms && first <= last).then_some((first, last))
}

pub(super) async fn page<B: Backend>(
    ns: &Namespace<B>,
    filter: &Filter,
) -> Result<(Vec<Snapshot>, Option<String>)> {
    let limit = filter.limit.clamp(1, PAGE_MAX);
    let after = super::cursor::open(filter)?;
    let Some(span) = span(filter) else { return Ok((Vec::new(), None)) };
    let (found, after) = match (&filter.entity, &filter.resource) {
        (Some(entity), _) => of_entity::page(ns, entity, filter, span, limit, after).await?,
        (None, Some(resource)) => {
            of_resource::page(ns, resource, filter, span, limit, after).await?
        }
        (None, None) => {
            let problem = "names neither an entity nor a resource; name one of them";
            return Err(Error::invalid("usage", problem));
        }
    };
    let cursor = after.and_then(|after| super::cursor::seal(filter, &after));
    Ok((found, cursor))
}
