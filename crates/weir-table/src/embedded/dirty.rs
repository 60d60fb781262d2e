//! What has been committed but not yet folded into the store: ordered, in memory, bounded.
//!
//! Writers fill the active generation. A checkpoint freezes it, starts an empty one and folds the
//! frozen one into the store. Readers look into the active one, then the frozen one, then the store.
//! The last folded one is kept as well, for point reads: what is written often is always in memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;

use super::keys::{Bytes, KeyRange};
use super::partial::Warm;

/// Shards of a space, one a bucket: shards in order are keys in order, and their maps stay shallow.
const SHARDS: usize = 256;
/// What a map entry costs beside its bytes; an estimate, on the large side.
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
    /// Tables, tokens and other facts about the store.
    Meta,
}

/// All spaces.
pub(super) const SPACES: [Space; 4] = [Space::Items, Space::Index, Space::Ttl, Space::Meta];

impl Space {
    /// Where the bucket byte stands in a key, or none when the space is not sharded.
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

/// What a key holds, encoded. Items are kept encoded too: decoded they take several times the memory,
/// and decoding one costs no more than the copy that a writer makes of it.
#[derive(Debug, Clone)]
pub(super) enum Payload {
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// Nothing: the key was removed.
    Gone,
}

impl Payload {
    /// The bytes that are stored, or none when the key was removed.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Payload::Bytes(bytes) => Some(bytes),
            Payload::Gone => None,
        }
    }
}

/// A committed value and the commit it came with.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The commit's sequence.
    pub(super) seq: u64,
    /// The last commit it rests on that was promised to survive a power cut; zero when none was.
    pub(super) synced: u64,
    /// The value.
    pub(super) payload: Payload,
    /// What the last update read of it, so that the next one need not.
    pub(super) warm: Option<Warm>,
}

impl Entry {
    /// A value, as a commit wrote it.
    pub(super) fn new(seq: u64, synced: u64, payload: Payload) -> Entry {
        Entry { seq, synced, payload, warm: None }
    }

    /// Bytes it takes, as an entry of `space`.
    fn weight(&self, space: Space) -> usize {
        let payload = match &self.payload {
            // An index that holds whole items shares them with the item space.
            Payload::Bytes(_) if space == Space::Index => 0,
            payload => payload.bytes().map_or(0, <[u8]>::len),
        };
        payload + self.warm.as_ref().map_or(0, Warm::weight)
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

    /// Puts an entry in place of what the key holds.
    pub(super) fn insert(&self, space: Space, key: &[u8], entry: Entry) {
        let Some(shard) = self.shards(space).get(space.shard(key)) else {
            return;
        };
        let weight = entry.weight(space);
        self.last_seq.fetch_max(entry.seq, Ordering::Relaxed);
        let mut map = shard.write();
        if let Some(slot) = map.get_mut(key) {
            let old = std::mem::replace(slot, entry);
            drop(map);
            self.bytes.fetch_add(weight, Ordering::Relaxed);
            self.bytes.fetch_sub(old.weight(space), Ordering::Relaxed);
            return;
        }
        map.insert(key.to_vec(), entry);
        drop(map);
        self.bytes.fetch_add(key.len() + weight + ENTRY_OVERHEAD, Ordering::Relaxed);
    }

    /// Lets `change` alter what the key holds here, if it holds something.
    pub(super) fn alter<T>(
        &self,
        space: Space,
        key: &[u8],
        change: impl FnOnce(&mut Entry) -> T,
    ) -> Option<T> {
        let mut map = self.shards(space).get(space.shard(key))?.write();
        let entry = map.get_mut(key)?;
        let before = entry.weight(space);
        let changed = change(entry);
        let (seq, after) = (entry.seq, entry.weight(space));
        drop(map);
        self.last_seq.fetch_max(seq, Ordering::Relaxed);
        self.bytes.fetch_add(after, Ordering::Relaxed);
        self.bytes.fetch_sub(before, Ordering::Relaxed);
        Some(changed)
    }

    /// What the key holds here.
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

    /// The shards that can hold keys of `range`.
    fn shard_span(&self, space: Space, range: &KeyRange) -> (usize, usize) {
        let all = (0, self.shards(space).len().saturating_sub(1));
        let Some(at) = space.bucket_at() else {
            return all;
        };
        match (range.low.get(..at), range.high.get(..at)) {
            // Both ends are below one table (or index): its buckets are in order.
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

    /// Roughly what the generation holds in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The last commit in it; zero when there is none.
    pub(super) fn last_seq(&self) -> u64 {
        self.last_seq.load(Ordering::Relaxed)
    }

    /// Counts a commit that has entries of its own elsewhere.
    pub(super) fn note_seq(&self, seq: u64) {
        self.last_seq.fetch_max(seq, Ordering::Relaxed);
    }
}

/// The generations readers look into.
#[derive(Debug, Clone)]
pub(super) struct Generations {
    /// Grows by one with every swap and every finished fold.
    pub(super) number: u64,
    /// Where commits go.
    pub(super) active: Arc<Generation>,
    /// What is being folded into the store.
    pub(super) frozen: Option<Arc<Generation>>,
    /// What was folded last: the store holds the same.
    pub(super) folded: Option<Arc<Generation>>,
}

impl Generations {
    /// What the key holds in memory.
    pub(super) fn get(&self, space: Space, key: &[u8]) -> Option<Entry> {
        [Some(&self.active), self.frozen.as_ref(), self.folded.as_ref()]
            .into_iter()
            .flatten()
            .find_map(|generation| generation.get(space, key))
    }
}
