//! One table in memory: items, indexes that may lag, and the change feed.

use std::collections::{BTreeMap, VecDeque};

use weir_table::expr::eval::holds;
use weir_table::feed::{Change, FeedPage, Position};
use weir_table::request::{Extent, Query, RawPage};
use weir_table::{Error, IndexSpec, Item, Key, KeyValue, Result, SortRange, TableSpec, Value};

/// Where an item stands in an index.
type IndexKey = (KeyValue, Option<KeyValue>, Key);

/// An item with what a lagging read may still see.
#[derive(Debug, Default)]
struct Slot {
    now: Option<Item>,
    before: Option<Item>,
}

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) spec: TableSpec,
    items: BTreeMap<Key, Slot>,
    indexes: BTreeMap<String, BTreeMap<IndexKey, Item>>,
    /// Changes that the indexes do not show yet.
    unindexed: VecDeque<(Key, Option<Item>, Option<Item>)>,
    feed: Vec<Change>,
}

impl Table {
    pub(super) fn new(spec: TableSpec) -> Table {
        let indexes = spec.indexes.iter().map(|index| (index.name.clone(), BTreeMap::new()));
        Table {
            indexes: indexes.collect(),
            spec,
            items: BTreeMap::new(),
            unindexed: VecDeque::new(),
            feed: Vec::new(),
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Item> {
        self.items.get(key)?.now.as_ref()
    }

    /// The item before its last change.
    pub(super) fn get_before(&self, key: &Key) -> Option<&Item> {
        self.items.get(key)?.before.as_ref()
    }

    pub(super) fn items(&self) -> impl Iterator<Item = (&Key, &Item)> {
        self.items.iter().filter_map(|(key, slot)| Some((key, slot.now.as_ref()?)))
    }

    /// The items of a partition.
    pub(super) fn partition(&self, partition: &str) -> impl Iterator<Item = (&Key, &Item)> {
        let first = Key { partition: partition.into(), sort: None };
        let of = first.partition.clone();
        let range = self.items.range(first..).take_while(move |(key, _)| key.partition == of);
        range.filter_map(|(key, slot)| Some((key, slot.now.as_ref()?)))
    }

    /// Replaces an item. Returns the old one.
    pub(super) fn set(&mut self, key: &Key, new: Option<Item>, at_ms: u64) -> Option<Item> {
        let slot = self.items.entry(key.clone()).or_default();
        let old = std::mem::replace(&mut slot.now, new.clone());
        slot.before.clone_from(&old);
        self.unindexed.push_back((key.clone(), old.clone(), new.clone()));
        if self.spec.feed && old != new {
            let position = format!("{:012}", self.feed.len() + 1).as_str().into();
            self.feed.push(Change {
                table: self.spec.name.as_str().into(),
                key: key.clone(),
                old: old.clone().map(Into::into),
                new: new.map(Into::into),
                at_ms,
                expired: false,
                position,
                merged: None,
            });
        }
        old
    }

    /// Undoes the last change of an item, which is also the last of the feed.
    pub(super) fn undo(&mut self, key: &Key, old: Option<Item>) {
        let slot = self.items.entry(key.clone()).or_default();
        let new = std::mem::replace(&mut slot.now, old.clone());
        slot.before.clone_from(&old);
        if self.spec.feed && old != new {
            self.feed.pop();
        }
        self.unindexed.push_back((key.clone(), new, old));
        self.index(0);
    }

    /// Brings the indexes up to date, but for the last `lag` changes.
    pub(super) fn index(&mut self, lag: usize) {
        while self.unindexed.len() > lag {
            let Some((key, old, new)) = self.unindexed.pop_front() else { break };
            for index in &self.spec.indexes {
                let Some(entries) = self.indexes.get_mut(&index.name) else { continue };
                if let Some(at) = old.as_ref().and_then(|old| index_key(index, old, &key)) {
                    entries.remove(&at);
                }
                let Some(new) = &new else { continue };
                if let Some(at) = index_key(index, new, &key) {
                    let shown =
                        new.attrs().iter().filter(|(name, _)| index.holds(&self.spec, name));
                    let shown = shown.map(|(name, value)| (name.clone(), value.clone())).collect();
                    entries.insert(at, shown);
                }
            }
        }
    }

    /// A page of a query or scan.
    pub(super) fn page(&self, query: &Query, after: Option<&Item>) -> RawPage {
        let index = query.index.as_ref().and_then(|name| self.spec.find_index(name).ok());
        let after = after.and_then(|item| {
            let key = self.spec.key_of(item).ok()?;
            match index {
                Some(index) => index_key(index, item, &key),
                None => Some((key.partition.clone(), key.sort.clone(), key)),
            }
        });
        let mut found = self.candidates(query, index);
        if matches!(query.extent, Extent::Partition { reverse: true, .. }) {
            found.reverse();
        }
        if let Some(after) = after {
            let start = found.iter().position(|(at, _)| *at == after).map_or(0, |at| at + 1);
            found.drain(..start);
        }
        let limit = query.limit.map_or(usize::MAX, |limit| limit as usize);
        let is_cut = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| is_cut).map(|(at, item)| self.last_key(index, at, item));
        let scanned = found.len() as u64;
        let keep = |item: &&Item| query.filter.as_ref().is_none_or(|filter| holds(filter, item));
        let items: Vec<Item> = found.iter().map(|(_, item)| *item).filter(keep).cloned().collect();
        let count = items.len() as u64;
        RawPage { items: if query.count_only { Vec::new() } else { items }, count, scanned, last }
    }

    fn candidates<'a>(
        &'a self,
        query: &Query,
        index: Option<&IndexSpec>,
    ) -> Vec<(IndexKey, &'a Item)> {
        let all: Box<dyn Iterator<Item = (IndexKey, &Item)>> = match index {
            Some(index) => {
                let entries = self.indexes.get(&index.name).into_iter().flatten();
                Box::new(entries.map(|(at, item)| (at.clone(), item)))
            }
            None => match &query.extent {
                Extent::Partition { partition, .. } => {
                    let first = Key { partition: partition.clone(), sort: None };
                    let range = self.items.range(first..);
                    let range = range.take_while(move |(key, _)| key.partition == *partition);
                    Box::new(range.filter_map(table_entry))
                }
                Extent::Everything { .. } => Box::new(self.items.iter().filter_map(table_entry)),
            },
        };
        match &query.extent {
            Extent::Everything { .. } => all.collect(),
            Extent::Partition { partition, sort, .. } => all
                .filter(|((of, at, _), _)| of == partition && in_range(sort, at.as_ref()))
                .collect(),
        }
    }

    fn last_key(&self, index: Option<&IndexSpec>, at: &IndexKey, item: &Item) -> Item {
        let mut last = at.2.to_item(&self.spec);
        for name in
            index.into_iter().flat_map(|index| [Some(&index.partition), index.sort.as_ref()])
        {
            let named = name.and_then(|name| Some((name, item.get(name)?)));
            if let Some((name, value)) = named {
                last.set(name.clone(), value.clone());
            }
        }
        last
    }

    /// Reads the feed.
    pub(super) fn changes(&self, from: &Position, limit: usize) -> Result<FeedPage> {
        let start = match from {
            Position::Oldest => 0,
            Position::Latest => self.feed.len(),
            Position::After(at) => at.parse().map_err(|_| Error::Trimmed)?,
        };
        let changes: Vec<Change> = self.feed.iter().skip(start).take(limit).cloned().collect();
        let next = Position::After(format!("{:012}", start + changes.len()));
        Ok(FeedPage::new(changes, next, false))
    }

    /// Items that expire by this time, in seconds.
    pub(super) fn expired(&self, now_s: i64) -> Vec<Key> {
        let Some(ttl) = &self.spec.ttl else { return Vec::new() };
        let is_over = |item: &Item| item.i64(ttl).is_some_and(|until| until <= now_s);
        self.items().filter(|(_, item)| is_over(item)).map(|(key, _)| key.clone()).collect()
    }
}

fn table_entry<'a>((key, slot): (&Key, &'a Slot)) -> Option<(IndexKey, &'a Item)> {
    Some(((key.partition.clone(), key.sort.clone(), key.clone()), slot.now.as_ref()?))
}

fn index_key(index: &IndexSpec, item: &Item, key: &Key) -> Option<IndexKey> {
    let part = |name| item.get(name).and_then(KeyValue::from_value);
    let sort = match &index.sort {
        Some(name) => Some(part(name)?),
        None => None,
    };
    Some((part(&index.partition)?, sort, key.clone()))
}

fn in_range(range: &SortRange, at: Option<&KeyValue>) -> bool {
    let Some(at) = at else { return *range == SortRange::All };
    match range {
        SortRange::All => true,
        SortRange::Eq(value) => at == value,
        SortRange::Lt(value) => at < value,
        SortRange::Le(value) => at <= value,
        SortRange::Gt(value) => at > value,
        SortRange::Ge(value) => at >= value,
        SortRange::Between(low, high) => low <= at && at <= high,
        SortRange::BeginsWith(prefix) => match (at.to_value(), prefix.to_value()) {
            (Value::S(at), Value::S(prefix)) => at.starts_with(&prefix),
            (Value::B(at), Value::B(prefix)) => at.starts_with(&prefix),
            _ => false,
        },
    }
}
