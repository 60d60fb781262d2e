//! What a process remembers of config levels, absent ones included.
//!
//! Entries are never dropped for their age: an old one is read anew where it matters, and still tells what to do
//! when the store cannot be reached. A read that was under way while a level was written must not bring the old level
//! back, so every write moves an epoch, and what was read in an earlier one is not kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync;

use super::LevelConfig;
use super::level::{LevelKey, LevelRef};
use crate::bounds::CONFIGS_MAX;

/// What a level says; nothing when there is no such level.
pub(crate) type Said = Option<Arc<LevelConfig>>;

/// How the cache did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStatistics {
    /// Levels answered from memory.
    pub hits: u64,
    /// Of these, levels known to be absent.
    pub negative_hits: u64,
    /// Levels read from the store.
    pub misses: u64,
    /// Levels remembered.
    pub entries: u64,
    /// Age of the oldest remembered level.
    pub oldest_ms: Option<i64>,
    /// How long a level is believed.
    pub ttl_ms: i64,
}

/// What a process remembers of config levels.
#[derive(Debug)]
pub struct Cache {
    ttl_ms: i64,
    levels: sync::Cache<LevelKey, Entry>,
    epoch: AtomicU64,
    hits: AtomicU64,
    negative_hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug, Clone)]
struct Entry {
    said: Said,
    read_ms: i64,
}

impl Cache {
    /// An empty cache that believes a level for `ttl_ms`.
    #[must_use]
    pub fn new(ttl_ms: i64) -> Cache {
        Cache {
            ttl_ms,
            levels: sync::Cache::new(CONFIGS_MAX),
            epoch: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            negative_hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// How it did.
    #[must_use]
    pub fn statistics(&self, now_ms: i64) -> CacheStatistics {
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

    /// What each level says, as far as it is remembered and not too old.
    pub(crate) fn fresh(&self, levels: &[LevelRef<'_>; 4], now_ms: i64) -> [Option<Said>; 4] {
        levels.map(|level| {
            let entry = self.levels.get(&level).filter(|entry| self.is_fresh(entry, now_ms));
            entry.map(|entry| entry.said)
        })
    }

    /// Age counts in both directions, or a clock put back would make a level be believed for ever.
    fn is_fresh(&self, entry: &Entry, now_ms: i64) -> bool {
        now_ms.abs_diff(entry.read_ms) < self.ttl_ms.max(0).unsigned_abs()
    }

    /// What a level said when it was last seen, however long ago.
    pub(crate) fn last_seen(&self, level: LevelRef<'_>) -> Said {
        self.levels.peek(&level)?.said
    }

    /// Counts an answer: what was remembered is a hit, the rest was read.
    pub(crate) fn count(&self, found: &[Option<Said>; 4]) {
        let number = |wanted: fn(&Option<Said>) -> bool| {
            found.iter().filter(|said| wanted(said)).count() as u64
        };
        for (counter, by) in [
            (&self.hits, number(Option::is_some)),
            (&self.negative_hits, number(|said| matches!(said, Some(None)))),
            (&self.misses, number(Option::is_none)),
        ] {
            if by > 0 {
                counter.fetch_add(by, Ordering::Relaxed);
            }
        }
    }

    /// The epoch, to be asked for before a read or a write and handed to [`Cache::keep`] or [`Cache::written`] after it.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Remembers what was read, unless something was written since `epoch`.
    pub(crate) fn keep(&self, level: LevelRef<'_>, said: Said, read_ms: i64, epoch: u64) {
        if self.epoch() != epoch {
            return;
        }
        self.levels.insert(level.to_key(), Entry { said, read_ms });
        if self.epoch() != epoch {
            self.levels.remove(&level);
        }
    }

    /// A level was written: remembers what it says now, unless another write came between, which may have been before or
    /// after this one.
    pub(crate) fn written(&self, level: LevelRef<'_>, said: Said, now_ms: i64, epoch: u64) {
        let alone = self.epoch.fetch_add(1, Ordering::SeqCst) == epoch;
        self.levels.remove(&level);
        if alone {
            self.keep(level, said, now_ms, epoch.wrapping_add(1));
        }
    }

    /// Forgets a level.
    pub(crate) fn forget(&self, level: LevelRef<'_>) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.levels.remove(&level);
    }

    /// Forgets the levels that are `doomed`.
    pub(crate) fn forget_all(&self, doomed: impl Fn(&LevelKey) -> bool) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.levels.retain(|level, _| !doomed(level));
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

    fn said(version: u64) -> Said {
        Some(Arc::new(LevelConfig { version, ..LevelConfig::default() }))
    }

    #[test]
    fn a_level_is_believed_for_its_time_and_remembered_longer() {
        let Ids(ns, entity, resource) = &ids();
        let levels = LevelRef::asked(ns, entity, resource);
        let cache = Cache::new(60_000);
        cache.keep(levels[0], said(1), 1_000, cache.epoch());
        cache.keep(levels[1], None, 1_000, cache.epoch());
        assert_eq!(cache.fresh(&levels, 60_999), [Some(said(1)), Some(None), None, None]);
        assert_eq!(cache.fresh(&levels, 61_000), [None, None, None, None]);
        assert_eq!(cache.last_seen(levels[0]), said(1));
        let entries = cache.statistics(61_000);
        assert_eq!((entries.entries, entries.oldest_ms), (2, Some(60_000)));
    }

    #[test]
    fn a_clock_that_was_put_back_makes_levels_old() {
        let Ids(ns, entity, resource) = &ids();
        let levels = LevelRef::asked(ns, entity, resource);
        let cache = Cache::new(60_000);
        cache.keep(levels[0], said(1), 1_000_000, cache.epoch());
        assert_eq!(cache.fresh(&levels, 999_000)[0], Some(said(1)));
        assert_eq!(cache.fresh(&levels, 0)[0], None);
    }

    #[test]
    fn a_read_that_a_write_overtook_is_not_kept() {
        let Ids(ns, entity, resource) = &ids();
        let [level, ..] = LevelRef::asked(ns, entity, resource);
        let cache = Cache::new(60_000);
        let read = cache.epoch();
        cache.written(level, said(2), 5, cache.epoch());
        cache.keep(level, said(1), 4, read);
        assert_eq!(cache.last_seen(level), said(2));
    }

    #[test]
    fn of_two_writes_at_once_neither_is_believed() {
        let Ids(ns, entity, resource) = &ids();
        let [level, ..] = LevelRef::asked(ns, entity, resource);
        let cache = Cache::new(60_000);
        let (one, other) = (cache.epoch(), cache.epoch());
        cache.written(level, said(2), 5, one);
        cache.written(level, said(1), 5, other);
        assert_eq!(cache.last_seen(level), None);
    }
}
