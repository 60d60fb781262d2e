//! Queries and scans: merge the dirty set and the base store in key order.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::sync::Arc;

use super::catalog::Table;
use super::dirty::{Entry, Generation, Payload, Space};
use super::engine::{Barrier, Engine};
use super::keys::{self, KeyRange};
use super::read;
use crate::error::{Error, Result};
use crate::expr;
use crate::item::Item;
use crate::limits;
use crate::request::{Consistency, Extent, Query, RawPage};

/// Entries copied out of the dirty set at a time.
const CHUNK: usize = 128;

impl Engine {
    /// Reads the page that follows `after`.
    pub(super) async fn page(
        self: &Arc<Self>,
        query: &Query,
        after: Option<&Item>,
    ) -> Result<RawPage> {
        let table = self.table(&query.table)?;
        let (space, range, reverse) = plan(&table, query, after)?;
        let (engine, query) = (Arc::clone(self), query.clone());
        let strong = query.consistency == Consistency::Strong;
        let collect = move || engine.collect(&table, &query, space, range, reverse);
        let (page, barrier) = self.readers.run(collect).await?;
        if strong {
            self.wait_durable(barrier).await?;
        }
        Ok(page)
    }

    fn collect(
        &self,
        table: &Table,
        query: &Query,
        space: Space,
        range: KeyRange,
        reverse: bool,
    ) -> Result<(RawPage, Barrier)> {
        let index = query.index.as_deref().map(|name| table.spec.find_index(name)).transpose()?;
        let limit = query.limit.map_or(u64::MAX, u64::from);
        let (mut page, mut barrier, mut bytes) = (RawPage::default(), Barrier::default(), 0);
        for entry in self.merged(space, range, reverse) {
            let (item, own) = entry?;
            barrier = barrier.and(own);
            page.scanned += 1;
            bytes += item.size();
            let passes =
                query.filter.as_ref().is_none_or(|filter| expr::eval::holds(filter, &item));
            if passes {
                page.count += 1;
                if !query.count_only {
                    page.items.push(match &query.projection {
                        Some(paths) => read::project(&item, paths),
                        None => item.clone(),
                    });
                }
            }
            if page.scanned >= limit || bytes >= limits::PAGE_BYTES_MAX {
                page.last = Some(table.spec.cursor_key(index, &item));
                break;
            }
        }
        Ok((page, barrier))
    }

    /// Every item of a range, in order. Newer generations hide older ones and the base store.
    pub(super) fn merged(
        &self,
        space: Space,
        range: KeyRange,
        reverse: bool,
    ) -> impl Iterator<Item = Result<(Item, Barrier)>> + use<> {
        self.merged_entries(space, range, reverse).filter_map(|next| match next {
            Err(error) => Some(Err(error)),
            Ok((_, Found::Dirty(entry))) => match &entry.payload {
                Payload::Bytes(bytes) | Payload::Shared(bytes) => {
                    let barrier = Barrier::from(&entry);
                    Some(read::decode_item(bytes).map(|item| (item, barrier)))
                }
                Payload::Gone => None,
            },
            Ok((_, Found::Stored(bytes))) => {
                Some(read::decode_item(&bytes).map(|item| (item, Barrier::default())))
            }
        })
    }

    /// Every entry of a range, removed ones included, with its key.
    pub(super) fn merged_entries(&self, space: Space, range: KeyRange, reverse: bool) -> Merged {
        // Generations before the base store: what a fold moves in between is in both.
        let generations = self.generations.read().clone();
        let dirty = |generation: Arc<Generation>| {
            DirtyKeys {
                generation,
                space,
                range: range.clone(),
                reverse,
                chunk: Vec::new().into_iter(),
            }
            .peekable()
        };
        let frozen = generations.frozen.map(|frozen| dirty(frozen.generation));
        let active = dirty(generations.active);
        let stored: StoredKeys = if range.is_empty() {
            Box::new(std::iter::empty())
        } else {
            Box::new(
                self.base
                    .range(space, &range, reverse)
                    .map(|next| next.map(|(key, value)| (key.to_vec(), value.to_vec()))),
            )
        };
        Merged { active, frozen, stored: stored.peekable(), reverse }
    }
}

/// The value of a merged key.
pub(super) enum Found {
    /// An entry of the dirty set.
    Dirty(Entry),
    /// Bytes of the base store.
    Stored(Vec<u8>),
}

type StoredKeys = Box<dyn Iterator<Item = Result<(keys::Bytes, Vec<u8>)>>>;

/// Two generations and the base store, in key order.
pub(super) struct Merged {
    active: Peekable<DirtyKeys>,
    frozen: Option<Peekable<DirtyKeys>>,
    stored: Peekable<StoredKeys>,
    reverse: bool,
}

impl Iterator for Merged {
    type Item = Result<(keys::Bytes, Found)>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.stored.next_if(Result::is_err) {
            return Some(error.map(|(key, value)| (key, Found::Stored(value))));
        }
        let active = self.active.peek().map(|(key, _)| key);
        let frozen = self.frozen.as_mut().and_then(|frozen| frozen.peek().map(|(key, _)| key));
        let stored = self.stored.peek().and_then(|next| next.as_ref().ok().map(|(key, _)| key));
        let order = |a: &keys::Bytes, b: &keys::Bytes| -> Ordering {
            if self.reverse { b.cmp(a) } else { a.cmp(b) }
        };
        let first =
            [active, frozen, stored].into_iter().flatten().min_by(|a, b| order(a, b))?.clone();
        // Every source with the key advances; the newest value wins.
        let newest = self.active.next_if(|(key, _)| *key == first);
        let older =
            self.frozen.as_mut().and_then(|frozen| frozen.next_if(|(key, _)| *key == first));
        let oldest = self.stored.next_if(|next| next.as_ref().is_ok_and(|(key, _)| *key == first));
        match (newest.or(older), oldest) {
            (Some((_, entry)), _) => Some(Ok((first, Found::Dirty(entry)))),
            (None, Some(Ok((_, value)))) => Some(Ok((first, Found::Stored(value)))),
            (None, _) => None,
        }
    }
}

/// Keys of a generation, copied out a chunk at a time.
struct DirtyKeys {
    generation: Arc<Generation>,
    space: Space,
    range: KeyRange,
    reverse: bool,
    chunk: std::vec::IntoIter<(keys::Bytes, Entry)>,
}

impl Iterator for DirtyKeys {
    type Item = (keys::Bytes, Entry);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(next) = self.chunk.next() {
            return Some(next);
        }
        let chunk = self.generation.chunk(self.space, &self.range, self.reverse, CHUNK);
        if let Some((last, _)) = chunk.last() {
            self.range = self.range.clone().after(last, self.reverse);
        }
        self.chunk = chunk.into_iter();
        self.chunk.next()
    }
}

fn plan(table: &Table, query: &Query, after: Option<&Item>) -> Result<(Space, KeyRange, bool)> {
    let number = match &query.index {
        Some(name) => {
            let position = table.spec.indexes.iter().position(|index| &index.name == name);
            Some(position.and_then(|at| u16::try_from(at).ok()).ok_or_else(|| {
                Error::invalid(
                    "index",
                    format!("table {:?} has no index {name:?}", table.spec.name),
                )
            })?)
        }
        None => None,
    };
    let (space, prefix) = match number {
        Some(number) => (Space::Index, keys::index_prefix(table.id, number)),
        None => (Space::Items, keys::item_prefix(table.id)),
    };
    let (range, reverse) = match &query.extent {
        Extent::Partition { partition, sort, reverse } => {
            (KeyRange::of_partition(prefix, partition, sort), *reverse)
        }
        Extent::Everything { segment: Some((number, of)) } => {
            (KeyRange::of_segment(prefix, *number, *of), false)
        }
        Extent::Everything { segment: None } => (KeyRange::of_prefix(prefix), false),
    };
    let Some(last) = after else {
        return Ok((space, range, reverse));
    };
    let place = match number
        .and_then(|number| Some((number, table.spec.indexes.get(usize::from(number))?)))
    {
        Some((number, index)) => keys::index(table.id, number, &table.spec, index, last),
        None => Some(keys::item(table.id, &table.spec.key_of(last)?)),
    };
    let place = place.ok_or_else(|| Error::invalid("cursor", "lacks a key of the index"))?;
    Ok((space, range.after(&place, reverse), reverse))
}
