//! Lists snapshots, sorted by time.

use weir_table::Backend;
use weir_table::retry::Listed;

use super::{Filter, Snapshot, by_entity, by_resource};
use crate::error::{Error, Result};
use crate::limiter::Namespace;

/// Most snapshots of a page.
pub(super) const PAGE_MAX: u32 = 1_000;

/// When the first and the last selected window begin. None, if there are none.
pub(super) fn span(filter: &Filter) -> Option<(i64, i64)> {
    let first = filter.window.start_ms(filter.from_ms);
    let last = filter.window.start_ms(filter.to_ms.checked_sub(1)?);
    (filter.from_ms < filter.to_ms && first <= last).then_some((first, last))
}

pub(super) async fn page<B: Backend>(
    ns: &Namespace<B>,
    filter: &Filter,
) -> Result<Listed<Snapshot>> {
    let limit = filter.limit.clamp(1, PAGE_MAX);
    let after = super::cursor::decode(filter)?;
    let Some(span) = span(filter) else { return Ok(Listed { items: Vec::new(), cursor: None }) };
    let (items, after) = match (&filter.entity, &filter.resource) {
        (Some(entity), _) => by_entity::page(ns, entity, filter, span, limit, after).await?,
        (None, Some(resource)) => {
            by_resource::page(ns, resource, filter, span, limit, after).await?
        }
        (None, None) => {
            let problem = "needs an entity or a resource";
            return Err(Error::invalid("usage", problem));
        }
    };
    let cursor = after.and_then(|after| super::cursor::encode(filter, &after));
    Ok(Listed { items, cursor })
}
