//! Gets: the dirty set, the cache, the store.

use std::sync::Arc;

use super::change::Image;
use super::codec;
use super::dirty::{Entry, Generations, Payload, Space};
use super::engine::{Engine, Rests};
use super::keys;
use super::partial::Warm;
use crate::error::{Error, Result};
use crate::expr::{Path, Step};
use crate::item::Item;
use crate::request::{Consistency, Get};
use crate::value::Value;

/// How often a read of several items at one moment is tried with what was read beforehand.
const TRIES: usize = 3;

/// Whether a lookup may go to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Memory only.
    Memory,
    /// The disk too: off the async threads.
    Disk,
}

/// What becomes of what is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// The cache remembers it.
    Remember,
    /// It is about to be written, so there is nothing to remember.
    Forget,
}

/// An item as a commit or read has found it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) stored: Option<Arc<[u8]>>,
    /// What the last update read of it, if that is remembered.
    pub(super) warm: Option<Warm>,
    pub(super) rests: Rests,
}

/// The bytes of a fact in the meta space, if there is one.
type Fact = Option<Arc<[u8]>>;

/// What was read from the store ahead of a commit. It counts while the generations are the same:
/// a fold in between may have changed what the store holds.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    number: u64,
    items: Vec<(keys::Bytes, Option<Arc<[u8]>>)>,
    meta: Vec<(Vec<u8>, Fact)>,
}

impl Engine {
    /// Finds an item; none when it must be read from the disk and `patience` is short.
    pub(super) fn find_item(
        &self,
        gate: &Generations,
        key: &[u8],
        loaded: &Loaded,
        patience: Patience,
    ) -> Result<Option<Seen>> {
        if let Some(entry) = gate.get(Space::Items, key) {
            return Ok(Some(seen(entry)));
        }
        let durable = |stored| Some(Seen { stored, warm: None, rests: Rests::default() });
        if let Some(stored) = self.cache.get(key) {
            return Ok(durable(stored));
        }
        if loaded.number == gate.number
            && let Some((_, stored)) = loaded.items.iter().find(|(loaded, _)| loaded == key)
        {
            return Ok(durable(stored.clone()));
        }
        match patience {
            Patience::Memory => Ok(None),
            Patience::Disk => Ok(durable(self.read_base(key)?)),
        }
    }

    /// Finds a fact of the meta space, as [`Engine::find_item`] does.
    pub(super) fn find_meta(
        &self,
        gate: &Generations,
        key: &[u8],
        loaded: &Loaded,
        patience: Patience,
    ) -> Result<Option<(Fact, Rests)>> {
        if let Some(entry) = gate.get(Space::Meta, key) {
            let rests = Rests::from(&entry);
            return Ok(Some((entry.payload.bytes().map(Arc::from), rests)));
        }
        if loaded.number == gate.number
            && let Some((_, stored)) = loaded.meta.iter().find(|(loaded, _)| loaded == key)
        {
            return Ok(Some((stored.clone(), Rests::default())));
        }
        match patience {
            Patience::Memory => Ok(None),
            Patience::Disk => {
                let stored = self.base.get(Space::Meta, key)?;
                Ok(Some((stored.map(|bytes| Arc::from(&*bytes)), Rests::default())))
            }
        }
    }

    fn read_base(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        Ok(self.base.get(Space::Items, key)?.map(|bytes| Arc::from(&*bytes)))
    }

    /// Reads items (and a meta fact) from the store, off the async threads, into the cache.
    pub(super) async fn load(
        self: &Arc<Self>,
        wanted: Vec<keys::Bytes>,
        meta: Option<Vec<u8>>,
        absent: Absent,
    ) -> Result<Loaded> {
        let engine = Arc::clone(self);
        self.readers.run(move || engine.load_now(wanted, meta, absent)).await
    }

    /// Does so on this thread.
    pub(super) fn load_now(
        &self,
        wanted: Vec<keys::Bytes>,
        meta: Option<Vec<u8>>,
        absent: Absent,
    ) -> Result<Loaded> {
        let number = self.generations.read().number;
        let mut items = Vec::with_capacity(wanted.len());
        for key in wanted {
            if self.cache.get(&key).is_none() {
                let stored = self.read_base(&key)?;
                items.push((key, stored));
            }
        }
        let mut facts = Vec::new();
        if let Some(key) = meta {
            let stored = self.base.get(Space::Meta, &key)?;
            facts.push((key, stored.map(|bytes| Arc::from(&*bytes))));
        }
        // No fold can end while the gate is held, so what was read is still what the store holds.
        let gate = self.generations.read();
        if gate.number == number {
            for (key, stored) in &items {
                let is_kept = stored.is_some() || absent == Absent::Remember;
                if is_kept && gate.get(Space::Items, key).is_none() {
                    self.cache.insert(key.clone(), stored.clone());
                }
            }
        }
        Ok(Loaded { number, items, meta: facts })
    }

    /// Reads an item.
    pub(super) async fn get(self: &Arc<Self>, get: &Get) -> Result<Option<Item>> {
        let seen = self.look(get).await?;
        if get.consistency == Consistency::Strong {
            self.settle(seen.rests).await?;
        }
        answer(get, seen)
    }

    async fn look(self: &Arc<Self>, get: &Get) -> Result<Seen> {
        let table = self.table(&get.table)?;
        let key = keys::item(table.id, &get.key);
        for _ in 0..TRIES {
            // Looked up anew each round: the item may have been written and folded meanwhile.
            let gate = self.generations.read().clone();
            if let Some(seen) = self.find_item(&gate, &key, &Loaded::default(), Patience::Memory)? {
                return Ok(seen);
            }
            let loaded = self.load(vec![key.clone()], None, Absent::Remember).await?;
            if loaded.number == gate.number
                && let Some((_, stored)) = loaded.items.into_iter().next()
            {
                return Ok(Seen { stored, warm: None, rests: Rests::default() });
            }
        }
        let engine = Arc::clone(self);
        let find = move || {
            let gate = engine.generations.read();
            let seen = engine.find_item(&gate, &key, &Loaded::default(), Patience::Disk)?;
            seen.ok_or_else(|| Error::backend("reading", "the item could not be read"))
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

    /// Reads items as they were at one moment: no commit is at any of them meanwhile.
    pub(super) async fn transact_get(self: &Arc<Self>, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        let mut wanted = Vec::with_capacity(gets.len());
        for get in gets {
            wanted.push(keys::item(self.table(&get.table)?.id, &get.key));
        }
        let mut loaded = Loaded::default();
        for _ in 0..TRIES {
            if let Some(found) = self.look_at_once(&wanted, &loaded, Patience::Memory)? {
                return self.answer_all(gets, found).await;
            }
            loaded = self.load(wanted.clone(), None, Absent::Remember).await?;
        }
        let engine = Arc::clone(self);
        let look = move || engine.look_at_once(&wanted, &Loaded::default(), Patience::Disk);
        let found = self.readers.run(look).await?;
        self.answer_all(gets, found.unwrap_or_default()).await
    }

    fn look_at_once(
        &self,
        wanted: &[keys::Bytes],
        loaded: &Loaded,
        patience: Patience,
    ) -> Result<Option<Vec<Seen>>> {
        let mut stripes: Vec<usize> = wanted.iter().map(|key| Engine::stripe_of(key)).collect();
        stripes.sort_unstable();
        stripes.dedup();
        let _locked: Vec<_> = stripes.into_iter().map(|stripe| self.lock_stripe(stripe)).collect();
        let gate = self.generations.read();
        wanted.iter().map(|key| self.find_item(&gate, key, loaded, patience)).collect()
    }

    async fn answer_all(&self, gets: &[Get], found: Vec<Seen>) -> Result<Vec<Option<Item>>> {
        let rests = found.iter().fold(Rests::default(), |rests, seen| rests.and(seen.rests));
        self.settle(rests).await?;
        gets.iter().zip(found).map(|(get, seen)| answer(get, seen)).collect()
    }
}

fn seen(entry: Entry) -> Seen {
    let rests = Rests::from(&entry);
    let stored = match entry.payload {
        Payload::Bytes(bytes) => Some(bytes),
        Payload::Gone => None,
    };
    Seen { stored, warm: entry.warm, rests }
}

fn answer(get: &Get, seen: Seen) -> Result<Option<Item>> {
    let Some(stored) = seen.stored else {
        return Ok(None);
    };
    let item = decode_item(&stored)?;
    Ok(Some(match &get.projection {
        Some(paths) => project(&item, paths),
        None => item,
    }))
}

/// Decodes an item that nobody needs the encoding of.
pub(super) fn decode_item(bytes: &[u8]) -> Result<Item> {
    codec::decode(bytes).map_err(undecodable)
}

/// Decodes an item of the store.
pub(super) fn decode(bytes: Arc<[u8]>) -> Result<Image> {
    Image::decode(bytes).map_err(undecodable)
}

/// The error of an item that is not what was stored.
pub(super) fn undecodable(source: codec::Malformed) -> Error {
    Error::backend("decoding an item", source)
}

/// What of an item lies at these paths, in the shape it has there. Lists close up.
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
