//! Reads of items: from the dirty set, the cache, or the base store.

use std::sync::Arc;

use super::change::Image;
use super::codec;
use super::dirty::{Entry, Generations, Payload, Space};
use super::engine::{Barrier, Engine};
use super::keys;
use super::partial_item::CachedAttrs;
use crate::error::{Error, Result};
use crate::expr::{Path, Step};
use crate::item::Item;
use crate::request::{Consistency, Get};
use crate::value::Value;

/// Attempts of a read with preloaded items.
const TRIES: usize = 3;

/// Whether a lookup may go to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    /// Memory only.
    Memory,
    /// The disk too: off the async threads.
    Disk,
}

/// What the cache does with missing items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingItems {
    /// Caches that they are missing.
    Cache,
    /// Skips them, because they are about to be written.
    Skip,
}

/// An item as a commit or a read found it.
#[derive(Debug, Clone)]
pub(super) struct FoundItem {
    pub(super) stored: Option<Arc<[u8]>>,
    /// Attributes that the last update decoded.
    pub(super) cached: Option<CachedAttrs>,
    pub(super) barrier: Barrier,
}

/// The bytes of a meta entry, if it exists.
type MetaValue = Option<Arc<[u8]>>;

/// Items preloaded from the base store for a commit. They are valid while the generations are the same, because a fold
/// changes the base store.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    number: u64,
    items: Vec<(keys::Bytes, Option<Arc<[u8]>>)>,
    meta: Vec<(Vec<u8>, MetaValue)>,
}

impl Engine {
    /// Finds an item; `None` if it would have to be read from disk and `lookup` forbids it.
    pub(super) fn find_item(
        &self,
        gate: &Generations,
        key: &[u8],
        loaded: &Loaded,
        lookup: Lookup,
    ) -> Result<Option<FoundItem>> {
        if let Some(entry) = gate.get(Space::Items, key) {
            return Ok(Some(found(entry)));
        }
        let durable =
            |stored| Some(FoundItem { stored, cached: None, barrier: Barrier::default() });
        if let Some(stored) = self.cache.get(key) {
            return Ok(durable(stored));
        }
        if loaded.number == gate.number
            && let Some((_, stored)) = loaded.items.iter().find(|(loaded, _)| loaded == key)
        {
            return Ok(durable(stored.clone()));
        }
        match lookup {
            Lookup::Memory => Ok(None),
            Lookup::Disk => Ok(durable(self.read_base(key)?)),
        }
    }

    /// Finds a meta entry, as [`Engine::find_item`] does.
    pub(super) fn find_meta(
        &self,
        gate: &Generations,
        key: &[u8],
        loaded: &Loaded,
        lookup: Lookup,
    ) -> Result<Option<(MetaValue, Barrier)>> {
        if let Some(entry) = gate.get(Space::Meta, key) {
            let barrier = Barrier::from(&entry);
            return Ok(Some((entry.payload.bytes().map(Arc::from), barrier)));
        }
        if loaded.number == gate.number
            && let Some((_, stored)) = loaded.meta.iter().find(|(loaded, _)| loaded == key)
        {
            return Ok(Some((stored.clone(), Barrier::default())));
        }
        match lookup {
            Lookup::Memory => Ok(None),
            Lookup::Disk => {
                let stored = self.base.get(Space::Meta, key)?;
                Ok(Some((stored.map(|bytes| Arc::from(&*bytes)), Barrier::default())))
            }
        }
    }

    fn read_base(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        Ok(self.base.get(Space::Items, key)?.map(|bytes| Arc::from(&*bytes)))
    }

    /// Loads items, and a meta entry, from the base store into the cache, off the async threads.
    pub(super) async fn load(
        self: &Arc<Self>,
        wanted: Vec<keys::Bytes>,
        meta: Option<Vec<u8>>,
        missing: MissingItems,
    ) -> Result<Loaded> {
        let engine = Arc::clone(self);
        self.readers.run(move || engine.load_now(wanted, meta, missing)).await
    }

    /// Loads them on this thread.
    pub(super) fn load_now(
        &self,
        wanted: Vec<keys::Bytes>,
        meta: Option<Vec<u8>>,
        missing: MissingItems,
    ) -> Result<Loaded> {
        let number = self.generations.read().number;
        let mut items = Vec::with_capacity(wanted.len());
        for key in wanted {
            if self.cache.get(&key).is_none() {
                let stored = self.read_base(&key)?;
                items.push((key, stored));
            }
        }
        let mut metas = Vec::new();
        if let Some(key) = meta {
            let stored = self.base.get(Space::Meta, &key)?;
            metas.push((key, stored.map(|bytes| Arc::from(&*bytes))));
        }
        // No fold can finish while the gate is held, so the loaded values are still current.
        let gate = self.generations.read();
        if gate.number == number {
            for (key, stored) in &items {
                let is_kept = stored.is_some() || missing == MissingItems::Cache;
                if is_kept && gate.get(Space::Items, key).is_none() {
                    self.cache.insert(key.clone(), stored.clone());
                }
            }
        }
        Ok(Loaded { number, items, meta: metas })
    }

    /// Loads the items that are not in memory on this thread, and leaves the cache alone.
    pub(super) fn load_uncached<'k>(
        &self,
        keys: impl Iterator<Item = &'k keys::Bytes>,
    ) -> Result<Loaded> {
        let gate = self.generations.read().clone();
        let is_missing = |key: &&keys::Bytes| {
            gate.get(Space::Items, key).is_none() && self.cache.get(key).is_none()
        };
        let load = |key: &keys::Bytes| Ok((key.clone(), self.read_base(key)?));
        let items = keys.filter(is_missing).map(load).collect::<Result<_>>()?;
        Ok(Loaded { number: gate.number, items, meta: Vec::new() })
    }

    /// Reads an item.
    pub(super) async fn get(self: &Arc<Self>, get: &Get) -> Result<Option<Item>> {
        let found = self.find(get).await?;
        if get.consistency == Consistency::Strong {
            self.wait_durable(found.barrier).await?;
        }
        response(get, found)
    }

    async fn find(self: &Arc<Self>, get: &Get) -> Result<FoundItem> {
        let table = self.table(&get.table)?;
        let key = keys::item(table.id, &get.key);
        for _ in 0..TRIES {
            // Looked up in each attempt: the item may have been written and folded meanwhile.
            let gate = self.generations.read().clone();
            if let Some(found) = self.find_item(&gate, &key, &Loaded::default(), Lookup::Memory)? {
                return Ok(found);
            }
            let loaded = self.load(vec![key.clone()], None, MissingItems::Cache).await?;
            if loaded.number == gate.number
                && let Some((_, stored)) = loaded.items.into_iter().next()
            {
                return Ok(FoundItem { stored, cached: None, barrier: Barrier::default() });
            }
        }
        let engine = Arc::clone(self);
        let find = move || {
            let gate = engine.generations.read();
            let found = engine.find_item(&gate, &key, &Loaded::default(), Lookup::Disk)?;
            found.ok_or_else(|| Error::backend("reading", "the item could not be read"))
        };
        self.readers.run(find).await
    }

    /// Reads items, each on its own.
    pub(super) async fn batch_get(self: &Arc<Self>, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        let mut items = Vec::with_capacity(gets.len());
        for get in gets {
            items.push(self.get(get).await?);
        }
        Ok(items)
    }

    /// Reads items at one moment, with all their stripes locked.
    pub(super) async fn transact_get(self: &Arc<Self>, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        let mut wanted = Vec::with_capacity(gets.len());
        for get in gets {
            wanted.push(keys::item(self.table(&get.table)?.id, &get.key));
        }
        let mut loaded = Loaded::default();
        for _ in 0..TRIES {
            if let Some(found) = self.find_all_at_once(&wanted, &loaded, Lookup::Memory)? {
                return self.respond_all(gets, found).await;
            }
            loaded = self.load(wanted.clone(), None, MissingItems::Cache).await?;
        }
        let engine = Arc::clone(self);
        let find = move || engine.find_all_at_once(&wanted, &Loaded::default(), Lookup::Disk);
        let found = self.readers.run(find).await?;
        self.respond_all(gets, found.unwrap_or_default()).await
    }

    fn find_all_at_once(
        &self,
        wanted: &[keys::Bytes],
        loaded: &Loaded,
        lookup: Lookup,
    ) -> Result<Option<Vec<FoundItem>>> {
        let mut stripes: Vec<usize> = wanted.iter().map(|key| Engine::stripe_of(key)).collect();
        stripes.sort_unstable();
        stripes.dedup();
        let _locked: Vec<_> = stripes.into_iter().map(|stripe| self.lock_stripe(stripe)).collect();
        let gate = self.generations.read();
        wanted.iter().map(|key| self.find_item(&gate, key, loaded, lookup)).collect()
    }

    async fn respond_all(&self, gets: &[Get], found: Vec<FoundItem>) -> Result<Vec<Option<Item>>> {
        let barrier =
            found.iter().fold(Barrier::default(), |barrier, found| barrier.and(found.barrier));
        self.wait_durable(barrier).await?;
        gets.iter().zip(found).map(|(get, found)| response(get, found)).collect()
    }
}

fn found(entry: Entry) -> FoundItem {
    let barrier = Barrier::from(&entry);
    let stored = match entry.payload {
        Payload::Bytes(bytes) | Payload::Shared(bytes) => Some(bytes),
        Payload::Gone => None,
    };
    FoundItem { stored, cached: entry.cached, barrier }
}

fn response(get: &Get, found: FoundItem) -> Result<Option<Item>> {
    let Some(stored) = found.stored else {
        return Ok(None);
    };
    let item = decode_item(&stored)?;
    Ok(Some(match &get.projection {
        Some(paths) => project(&item, paths),
        None => item,
    }))
}

/// Decodes an item without retaining its encoding.
pub(super) fn decode_item(bytes: &[u8]) -> Result<Item> {
    codec::decode(bytes).map_err(undecodable)
}

/// Decodes an item and retains its encoding.
pub(super) fn decode(bytes: Arc<[u8]>) -> Result<Image> {
    Image::decode(bytes).map_err(undecodable)
}

/// The error of an item that cannot be decoded.
pub(super) fn undecodable(source: codec::Malformed) -> Error {
    Error::backend("decoding an item", source)
}

/// The parts of an item at these paths, in their nesting. Lists close their gaps.
pub(super) fn project(item: &Item, paths: &[Path]) -> Item {
    let mut steps: Vec<(&str, &[Step])> =
        paths.iter().map(|path| (path.attribute.as_str(), path.steps.as_slice())).collect();
    steps.sort_unstable();
    let mut out = Item::new();
    for group in steps.chunk_by(|(a, _), (b, _)| a == b) {
        let Some((name, _)) = group.first() else {
            continue;
        };
        let below: Vec<&[Step]> = group.iter().map(|(_, steps)| *steps).collect();
        if let Some(value) = item.get(name).and_then(|value| pick(value, &below)) {
            out.set(*name, value);
        }
    }
    out
}

fn pick(value: &Value, paths: &[&[Step]]) -> Option<Value> {
    if paths.iter().any(|path| path.is_empty()) {
        return Some(value.clone());
    }
    let split: Vec<(&Step, &[Step])> = paths.iter().filter_map(|path| path.split_first()).collect();
    let below = |step: &Step| -> Vec<&[Step]> {
        split.iter().filter(|(first, _)| *first == step).map(|(_, rest)| *rest).collect()
    };
    match value {
        Value::M(map) => {
            let picked: crate::item::Attrs = map
                .iter()
                .filter_map(|(name, value)| {
                    let paths = below(&Step::Field(name.clone()));
                    if paths.is_empty() { None } else { Some((name.clone(), pick(value, &paths)?)) }
                })
                .collect();
            if picked.is_empty() { None } else { Some(Value::M(picked)) }
        }
        Value::L(list) => {
            let picked: Vec<Value> = list
                .iter()
                .enumerate()
                .filter_map(|(position, value)| {
                    let paths = below(&Step::Element(position));
                    if paths.is_empty() { None } else { pick(value, &paths) }
                })
                .collect();
            if picked.is_empty() { None } else { Some(Value::L(picked)) }
        }
        _ => None,
    }
}
