//! The config levels that a process remembers, missing ones included.
//!
//! Entries are never dropped for their age: an old one is read again when needed, and still tells what to do when the
//! store cannot be reached. A read in progress while a level is written must not restore the old level, so every write
//! advances an epoch, and a read from an earlier epoch is not cached.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync;
use weir_table::Name;

use super::LevelConfig;
use super::level::{LevelKey, LevelRef};
use crate::bounds::CONFIGS_MAX;
use crate::error::Error;

/// A level as stored; none if it does not exist.
pub(crate) type StoredLevel = Option<Result<Arc<LevelConfig>, UnknownAttribute>>;

/// An attribute of a level that this version does not know, or whose value it cannot enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownAttribute(pub(crate) Name);

impl UnknownAttribute {
    /// The error for a level that has the attribute.
    pub(crate) fn of(&self, level: LevelRef<'_>) -> Error {
        Error::UnknownAttribute { item: level.to_string(), attribute: self.0.to_string() }
    }
}

/// The statistics of the config cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStatistics {
    /// Levels found in the cache.
    pub hits: u64,
    /// Levels found in the cache as missing; included in `hits`.
    pub negative_hits: u64,
    /// Levels read from the store.
    pub misses: u64,
    /// Cached levels.
    pub entries: u64,
    /// Age of the oldest cached level, in milliseconds.
    pub oldest_ms: Option<i64>,
    /// How long a cached level is valid, in milliseconds.
    pub ttl_ms: i64,
}

/// The config levels that a process remembers.
#[derive(Debug)]
pub(crate) struct ConfigCache {
    ttl_ms: i64,
    levels: sync::Cache<LevelKey, Entry>,
    epoch: AtomicU64,
    hits: AtomicU64,
    negative_hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug, Clone)]
struct Entry {
    level: StoredLevel,
    read_ms: i64,
}

impl ConfigCache {
    /// An empty cache whose entries are valid for `ttl_ms`.
    pub(crate) fn new(ttl_ms: i64) -> ConfigCache {
        ConfigCache {
            ttl_ms,
            levels: sync::Cache::new(CONFIGS_MAX),
            epoch: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            negative_hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The statistics.
    pub(crate) fn statistics(&self, now_ms: i64) -> CacheStatistics {
        let oldest = self.levels.iter().map(|(_, entry)| entry.read_ms).min();
        CacheStatistics {
            hits: self.hits.load(Ordering::Relaxed),
            negative_hits: self.negative_hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            entries: self.levels.len() as u64,
            oldest_ms: oldest.map(|read_ms| now_ms.saturating_sub(read_ms).max(0)),
            ttl_ms: self.ttl_ms,
        }
    }

    /// The levels that are cached and still valid.
    pub(crate) fn fresh(
        &self,
        levels: &[LevelRef<'_>; 4],
        now_ms: i64,
    ) -> [Option<StoredLevel>; 4] {
        levels.map(|level| {
            let entry = self.levels.get(&level).filter(|entry| self.is_fresh(entry, now_ms));
            entry.map(|entry| entry.level)
        })
    }

    /// The distance counts in both directions, or an entry would be valid for ever after the clock was set back.
    fn is_fresh(&self, entry: &Entry, now_ms: i64) -> bool {
        now_ms.abs_diff(entry.read_ms) < self.ttl_ms.max(0).unsigned_abs()
    }

    /// A level as it was last read, however long ago.
    pub(crate) fn last_read(&self, level: LevelRef<'_>) -> StoredLevel {
        self.levels.peek(&level)?.level
    }

    /// Records the hits and misses of a lookup.
    pub(crate) fn record_lookup(&self, found: &[Option<StoredLevel>; 4]) {
        let number = |wanted: fn(&Option<StoredLevel>) -> bool| {
            found.iter().filter(|level| wanted(level)).count() as u64
        };
        for (counter, by) in [
            (&self.hits, number(Option::is_some)),
            (&self.negative_hits, number(|level| matches!(level, Some(None)))),
            (&self.misses, number(Option::is_none)),
        ] {
            if by > 0 {
                counter.fetch_add(by, Ordering::Relaxed);
            }
        }
    }

    /// The present epoch. Take it before a read or a write, and pass it to [`ConfigCache::insert`] or [`ConfigCache::on_write`].
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Caches a level that was read, unless a level was written since `epoch`.
    pub(crate) fn insert(&self, at: LevelRef<'_>, level: StoredLevel, read_ms: i64, epoch: u64) {
        if self.epoch() != epoch {
            return;
        }
        self.levels.insert(at.to_key(), Entry { level, read_ms });
        if self.epoch() != epoch {
            self.levels.remove(&at);
        }
    }

    /// Caches a level that was written, unless there was another write since `epoch`: their order is unknown.
    pub(crate) fn on_write(&self, at: LevelRef<'_>, level: StoredLevel, now_ms: i64, epoch: u64) {
        let is_alone = self.epoch.fetch_add(1, Ordering::SeqCst) == epoch;
        self.levels.remove(&at);
        if is_alone {
            self.insert(at, level, now_ms, epoch.wrapping_add(1));
        }
    }

    /// Drops a level.
    pub(crate) fn invalidate(&self, at: LevelRef<'_>) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.levels.remove(&at);
    }

    /// Drops the levels that satisfy `predicate`.
    pub(crate) fn invalidate_all(&self, predicate: impl Fn(&LevelKey) -> bool) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.levels.retain(|level, _| !predicate(level));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{EntityId, NamespaceId, Resource};

    struct Ids(NamespaceId, EntityId, Resource);

    fn ids() -> Ids {
        Ids(
            NamespaceId::new("abcdefghijk").unwrap(),
            EntityId::new("user-1").unwrap(),
            Resource::new("gpt-4").unwrap(),
        )
    }

    fn level_config(version: u64) -> StoredLevel {
        Some(Ok(Arc::new(LevelConfig { version, ..LevelConfig::default() })))
    }

    #[test]
    fn a_level_is_valid_for_its_ttl_and_cached_longer() {
        let Ids(ns, entity, resource) = &ids();
        let levels = LevelRef::lookup_order(ns, entity, resource);
        let cache = ConfigCache::new(60_000);
        cache.insert(levels[0], level_config(1), 1_000, cache.epoch());
        cache.insert(levels[1], None, 1_000, cache.epoch());
        assert_eq!(cache.fresh(&levels, 60_999), [Some(level_config(1)), Some(None), None, None]);
        assert_eq!(cache.fresh(&levels, 61_000), [None, None, None, None]);
        assert_eq!(cache.last_read(levels[0]), level_config(1));
        let entries = cache.statistics(61_000);
        assert_eq!((entries.entries, entries.oldest_ms), (2, Some(60_000)));
    }

    #[test]
    fn a_clock_that_was_set_back_makes_levels_stale() {
        let Ids(ns, entity, resource) = &ids();
        let levels = LevelRef::lookup_order(ns, entity, resource);
        let cache = ConfigCache::new(60_000);
        cache.insert(levels[0], level_config(1), 1_000_000, cache.epoch());
        assert_eq!(cache.fresh(&levels, 999_000)[0], Some(level_config(1)));
        assert_eq!(cache.fresh(&levels, 0)[0], None);
    }

    #[test]
    fn a_read_that_a_write_overtook_is_not_cached() {
        let Ids(ns, entity, resource) = &ids();
        let [level, ..] = LevelRef::lookup_order(ns, entity, resource);
        let cache = ConfigCache::new(60_000);
        let read = cache.epoch();
        cache.on_write(level, level_config(2), 5, cache.epoch());
        cache.insert(level, level_config(1), 4, read);
        assert_eq!(cache.last_read(level), level_config(2));
    }

    #[test]
    fn of_two_concurrent_writes_neither_is_cached() {
        let Ids(ns, entity, resource) = &ids();
        let [level, ..] = LevelRef::lookup_order(ns, entity, resource);
        let cache = ConfigCache::new(60_000);
        let (one, other) = (cache.epoch(), cache.epoch());
        cache.on_write(level, level_config(2), 5, one);
        cache.on_write(level, level_config(1), 5, other);
        assert_eq!(cache.last_read(level), None);
    }
}
