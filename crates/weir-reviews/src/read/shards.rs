//! Pages of a list whose entries are spread over several partitions.
//!
//! A page reads one page of each partition and merges them, the newest first. Its cursor has, for each partition, the key of
//! the last entry that was returned of it.

use std::collections::VecDeque;

use weir_table::cursor::CursorKey;
use weir_table::request::{Extent, RawPage};
use weir_table::retry::PAGE_MAX;
use weir_table::{Backend, Item, Page, Query, Value};

use super::ListOptions;
use crate::error::Result;
use crate::keys;
use crate::reviews::Reviews;

/// Where a page begins in a partition.
#[derive(Debug, Clone, PartialEq)]
enum Position {
    Start,
    After(Item),
    End,
}

/// The entries of a partition that are read and not yet merged.
struct Source {
    position: Position,
    items: VecDeque<Item>,
    /// The end of what was read.
    end: Position,
}

impl<B: Backend> Reviews<B> {
    /// A page of several queries that differ only in their partition.
    pub(super) async fn merged_page(
        &self,
        queries: &[Query],
        options: &ListOptions,
    ) -> Result<Page> {
        let Some(first) = queries.first() else { return Ok(Page::default()) };
        let limit = options.limit.clamp(1, PAGE_MAX);
        let cursors = CursorKey::new(self.store().derived_key("weir-reviews merged lists")?);
        let opened =
            options.cursor.as_ref().map(|cursor| cursors.open(first, cursor)).transpose()?;
        let mut sources = Vec::with_capacity(queries.len());
        for (number, query) in queries.iter().enumerate() {
            let position = position_of(opened.as_ref(), number, query);
            sources.push(self.read_source(query, position, limit).await?);
        }
        let sort = sort_attribute(first);
        let items = merge(&mut sources, &sort, limit);
        let positions = sources.iter().zip(queries).map(|(source, query)| source.position(query));
        let positions: Vec<Position> = positions.collect();
        let cursor = match positions.iter().all(|position| *position == Position::End) {
            true => None,
            false => Some(cursors.seal(first, &sealed(&positions, &sort))?),
        };
        let count = items.len() as u64;
        Ok(Page { items, count, scanned: count, cursor })
    }

    async fn read_source(&self, query: &Query, position: Position, limit: u32) -> Result<Source> {
        let after = match &position {
            Position::End => {
                return Ok(Source { position, items: VecDeque::new(), end: Position::End });
            }
            Position::Start => None,
            Position::After(key) => Some(key),
        };
        // The merged cursor replaces that of the store, which would end at the end of what is read.
        let query = query.clone().limit(limit);
        let RawPage { items, last, .. } = self.store().backend().page(&query, after).await?;
        let end = last.map_or(Position::End, Position::After);
        Ok(Source { position, items: items.into(), end })
    }
}

impl Source {
    /// Where the next page begins.
    fn position(&self, query: &Query) -> Position {
        match (self.items.front(), &self.position) {
            (None, _) => self.end.clone(),
            (Some(_), Position::After(last)) => Position::After(key_of(last, query)),
            (Some(_), position) => position.clone(),
        }
    }

    fn next_sort(&self, sort: &str) -> Option<&str> {
        self.items.front()?.s(sort)
    }
}

/// Takes the newest of all sources, one by one.
fn merge(sources: &mut [Source], sort: &str, limit: u32) -> Vec<Item> {
    let mut items = Vec::new();
    for _ in 0..limit {
        let waiting = sources.iter_mut().filter(|source| !source.items.is_empty());
        let newest = waiting.max_by(|a, b| a.next_sort(sort).cmp(&b.next_sort(sort)));
        let Some(source) = newest else { break };
        let Some(item) = source.items.pop_front() else { break };
        source.position = Position::After(item.clone());
        items.push(item);
    }
    items
}

fn sort_attribute(query: &Query) -> String {
    let index = query.index.as_deref().map(keys::index_attributes);
    index.map_or_else(|| "SK".to_owned(), |(_, sort)| sort.to_string())
}

/// The attributes of an item that say where it is in the table and in the index.
fn key_of(item: &Item, query: &Query) -> Item {
    let mut names = vec!["PK".to_owned(), "SK".to_owned()];
    if let Some((partition, sort)) = query.index.as_deref().map(keys::index_attributes) {
        names.extend([partition.to_string(), sort.to_string()]);
    }
    let values =
        names.into_iter().filter_map(|name| Some((name.clone(), item.get(&name)?.clone())));
    values.collect()
}

/// The positions as one item, for a cursor: null at an end. What the query says of the partition is left out.
fn sealed(positions: &[Position], sort: &str) -> Item {
    let value = |position: &Position| match position {
        Position::Start => None,
        Position::End => Some(Value::Null),
        Position::After(item) => {
            let parts = ["PK", "SK", sort].map(|name| (name, item.get(name).cloned()));
            let parts = parts.into_iter().filter_map(|(name, value)| Some((name, value?)));
            Some(Value::map(parts))
        }
    };
    let values = positions.iter().enumerate();
    values.filter_map(|(number, at)| Some((number.to_string(), value(at)?))).collect()
}

fn position_of(opened: Option<&Item>, number: usize, query: &Query) -> Position {
    let Extent::Partition { partition, .. } = &query.extent else { return Position::Start };
    match opened.and_then(|item| item.get(&number.to_string())) {
        Some(Value::M(parts)) => {
            let mut key = Item::from(parts.clone());
            if let Some((name, _)) = query.index.as_deref().map(keys::index_attributes) {
                key.set(name, partition.to_value());
            }
            Position::After(key)
        }
        Some(_) => Position::End,
        None => Position::Start,
    }
}
