//! The dirty set: commits that are not yet folded into the base store, ordered, in memory, bounded.
//!
//! Writers fill the active generation. A checkpoint freezes it, starts an empty one and folds the frozen one into the base
//! store. Readers read the active generation, then the frozen one, then the base store. The last folded generation is
//! retained for point reads, so items that are written often are always in memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;

use super::keys::{Bytes, KeyRange};
use super::partial_item::CachedAttrs;

/// Shards of a space, one per bucket. Shards in order are keys in order, and their maps stay shallow.
const SHARDS: usize = 256;
/// Overhead of a map entry in bytes; a generous estimate.
const ENTRY_OVERHEAD: usize = 160;

/// An ordered space of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    /// Items.
    Items,
    /// Index entries.
    Index,
    /// Expiry entries.
    Ttl,
    /// Tables, tokens and other metadata.
    Meta,
}

/// All spaces.
pub(super) const SPACES: [Space; 4] = [Space::Items, Space::Index, Space::Ttl, Space::Meta];

impl Space {
    /// Position of the bucket byte in a key; `None` if the space is not sharded.
    fn bucket_at(self) -> Option<usize> {
        match self {
            Space::Items => Some(4),
            Space::Index => Some(6),
            Space::Ttl | Space::Meta => None,
        }
    }

    fn shard(self, key: &[u8]) -> usize {
        self.bucket_at().and_then(|at| key.get(at)).map_or(0, |bucket| usize::from(*bucket))
    }

    fn slot(self) -> usize {
        match self {
            Space::Items => 0,
            Space::Index => 1,
            Space::Ttl => 2,
            Space::Meta => 3,
        }
    }
}

/// The encoded value of a key. Decoded items would take several times the memory, and decoding one costs no more than the
/// copy that a writer makes.
#[derive(Debug, Clone)]
pub(super) enum Payload {
    /// An encoded value.
    Bytes(Arc<[u8]>),
    /// The encoded value of an item, in an index that projects whole items. The item's entry has the same bytes.
    Shared(Arc<[u8]>),
    /// The key was removed.
    Gone,
}

impl Payload {
    /// The encoded value; `None` if the key was removed.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Payload::Bytes(bytes) | Payload::Shared(bytes) => Some(bytes),
            Payload::Gone => None,
        }
    }
}

/// A committed value and its commit.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Sequence number of the commit.
    pub(super) seq: u64,
    /// The last commit it depends on that must be synced before it is acknowledged; zero if there is none.
    pub(super) synced: u64,
    /// The value.
    pub(super) payload: Payload,
    /// Attributes that the last update decoded, for the next one.
    pub(super) cached: Option<CachedAttrs>,
}

impl Entry {
    /// The value of a commit.
    pub(super) fn new(seq: u64, synced: u64, payload: Payload) -> Entry {
        Entry { seq, synced, payload, cached: None }
    }

    /// Bytes in memory.
    fn weight(&self) -> usize {
        let payload = match &self.payload {
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Shared(_) | Payload::Gone => 0,
        };
        payload + self.cached.as_ref().map_or(0, CachedAttrs::weight)
    }
}

type Shard = RwLock<BTreeMap<Bytes, Entry>>;

/// Commits since the last checkpoint.
#[derive(Debug)]
pub(super) struct Generation {
    shards: [Vec<Shard>; 4],
    bytes: AtomicUsize,
    last_seq: AtomicU64,
}

impl Default for Generation {
    fn default() -> Generation {
        let shards = SPACES.map(|space| {
            let count = if space.bucket_at().is_some() { SHARDS } else { 1 };
            (0..count).map(|_| Shard::default()).collect()
        });
        Generation { shards, bytes: AtomicUsize::new(0), last_seq: AtomicU64::new(0) }
    }
}

impl Generation {
    fn shards(&self, space: Space) -> &[Shard] {
        self.shards.get(space.slot()).map_or(&[], Vec::as_slice)
    }

    /// Sets the entry of a key.
    pub(super) fn insert(&self, space: Space, key: &[u8], entry: Entry) {
        let Some(shard) = self.shards(space).get(space.shard(key)) else {
            return;
        };
        let weight = entry.weight();
        self.last_seq.fetch_max(entry.seq, Ordering::Relaxed);
        let mut map = shard.write();
        if let Some(slot) = map.get_mut(key) {
            let old = std::mem::replace(slot, entry);
            drop(map);
            self.bytes.fetch_add(weight, Ordering::Relaxed);
            self.bytes.fetch_sub(old.weight(), Ordering::Relaxed);
            return;
        }
        map.insert(key.to_vec(), entry);
        drop(map);
        self.bytes.fetch_add(key.len() + weight + ENTRY_OVERHEAD, Ordering::Relaxed);
    }

    /// Changes the entry of a key in place, if this generation has one.
    pub(super) fn alter<T>(
        &self,
        space: Space,
        key: &[u8],
        change: impl FnOnce(&mut Entry) -> T,
    ) -> Option<T> {
        let mut map = self.shards(space).get(space.shard(key))?.write();
        let entry = map.get_mut(key)?;
        let before = entry.weight();
        let changed = change(entry);
        let (seq, after) = (entry.seq, entry.weight());
        drop(map);
        self.last_seq.fetch_max(seq, Ordering::Relaxed);
        self.bytes.fetch_add(after, Ordering::Relaxed);
        self.bytes.fetch_sub(before, Ordering::Relaxed);
        Some(changed)
    }

    /// The entry of a key in this generation.
    pub(super) fn get(&self, space: Space, key: &[u8]) -> Option<Entry> {
        self.shards(space).get(space.shard(key))?.read().get(key).cloned()
    }

    /// Up to `limit` entries of `range`, from its front or its back.
    pub(super) fn chunk(
        &self,
        space: Space,
        range: &KeyRange,
        reverse: bool,
        limit: usize,
    ) -> Vec<(Bytes, Entry)> {
        if range.is_empty() {
            return Vec::new();
        }
        let mut out = Vec::new();
        let bounds = (Bound::Included(&range.low), Bound::Excluded(&range.high));
        let (first, last) = self.shard_span(space, range);
        let shards = self.shards(space).get(first..=last).unwrap_or_default();
        let mut collect = |shard: &Shard| {
            let map = shard.read();
            let entries = map.range::<Bytes, _>(bounds);
            let copy = |(key, entry): (&Bytes, &Entry)| (key.clone(), entry.clone());
            let room = limit - out.len();
            if reverse {
                out.extend(entries.rev().take(room).map(copy));
            } else {
                out.extend(entries.take(room).map(copy));
            }
            out.len() >= limit
        };
        if reverse {
            shards.iter().rev().any(&mut collect);
        } else {
            shards.iter().any(&mut collect);
        }
        out
    }

    /// The shards that can contain keys of `range`.
    fn shard_span(&self, space: Space, range: &KeyRange) -> (usize, usize) {
        let all = (0, self.shards(space).len().saturating_sub(1));
        let Some(at) = space.bucket_at() else {
            return all;
        };
        match (range.low.get(..at), range.high.get(..at)) {
            // Both ends are in one table or index, whose buckets are in order.
            (Some(low), Some(high)) if low == high => {
                (space.shard(&range.low), space.shard(&range.high))
            }
            _ => all,
        }
    }

    /// Calls `each` with every entry of a space, in key order within a table.
    pub(super) fn for_each(&self, space: Space, mut each: impl FnMut(&Bytes, &Entry)) {
        for shard in self.shards(space) {
            shard.read().iter().for_each(|(key, entry)| each(key, entry));
        }
    }

    /// Approximate bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Sequence number of the last commit; zero if there is none.
    pub(super) fn last_seq(&self) -> u64 {
        self.last_seq.load(Ordering::Relaxed)
    }

    /// Records a commit, even one without entries.
    pub(super) fn note_seq(&self, seq: u64) {
        self.last_seq.fetch_max(seq, Ordering::Relaxed);
    }
}

/// A generation that takes no more commits.
#[derive(Debug, Clone)]
pub(super) struct Frozen {
    pub(super) generation: Arc<Generation>,
    /// Its last sequence number: that of the store once it is folded.
    pub(super) applied: u64,
    /// Bytes appended to the log when it was frozen.
    pub(super) appended: u64,
}

/// The generations that readers see.
#[derive(Debug, Clone)]
pub(super) struct Generations {
    /// Incremented with every freeze and every finished fold.
    pub(super) number: u64,
    /// Receives commits.
    pub(super) active: Arc<Generation>,
    /// Being folded into the base store, or waiting for room there.
    pub(super) frozen: Option<Frozen>,
    /// Folded last: the base store has the same entries.
    pub(super) folded: Option<Arc<Generation>>,
}

impl Generations {
    /// The entry of a key in memory.
    pub(super) fn get(&self, space: Space, key: &[u8]) -> Option<Entry> {
        let frozen = self.frozen.as_ref().map(|frozen| &frozen.generation);
        [Some(&self.active), frozen, self.folded.as_ref()]
            .into_iter()
            .flatten()
            .find_map(|generation| generation.get(space, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight_of(space: Space, payload: Payload) -> usize {
        let generation = Generation::default();
        generation.insert(space, &[0; 16], Entry::new(1, 0, payload));
        generation.bytes() - 16 - ENTRY_OVERHEAD
    }

    #[test]
    fn payloads_count_in_every_space_unless_an_item_has_the_same_bytes() {
        let bytes: Arc<[u8]> = Arc::from([7; 1000].as_slice());
        for space in SPACES {
            assert_eq!(weight_of(space, Payload::Bytes(Arc::clone(&bytes))), 1000, "{space:?}");
        }
        assert_eq!(weight_of(Space::Index, Payload::Shared(bytes)), 0);
        assert_eq!(weight_of(Space::Index, Payload::Gone), 0);
    }
}
