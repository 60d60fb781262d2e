//! The ids of namespaces, which a process remembers for a minute.
//!
//! A missing name is not remembered, so a new namespace can be used everywhere at once.

use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync;

use crate::bounds::{NAMESPACE_TTL_MS, NAMESPACES_MAX};
use crate::ids::{NamespaceId, NamespaceName};

/// Names and their ids.
#[derive(Debug)]
pub(crate) struct NamespaceCache {
    ids: sync::Cache<NamespaceName, (NamespaceId, i64)>,
    /// How often an entry was dropped. A read that began before is not cached afterwards.
    invalidations: AtomicU64,
}

/// When a read of the store began.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadStart {
    invalidations: u64,
    at_ms: i64,
}

impl NamespaceCache {
    /// An empty cache.
    pub(crate) fn new() -> NamespaceCache {
        NamespaceCache { ids: sync::Cache::new(NAMESPACES_MAX), invalidations: AtomicU64::new(0) }
    }

    /// The id of a name, if it was read less than a minute ago.
    pub(super) fn id(&self, name: &NamespaceName, now_ms: i64) -> Option<NamespaceId> {
        let (id, read_ms) = self.ids.get(name)?;
        (0..NAMESPACE_TTL_MS).contains(&now_ms.saturating_sub(read_ms)).then_some(id)
    }

    /// Marks the start of a read. Call it before reading the store.
    pub(super) fn start_read(&self, now_ms: i64) -> ReadStart {
        ReadStart { invalidations: self.invalidations.load(Ordering::Acquire), at_ms: now_ms }
    }

    /// Caches an id, unless an entry was dropped since the read began.
    pub(super) fn insert(&self, name: &NamespaceName, id: &NamespaceId, start: ReadStart) {
        if self.invalidations.load(Ordering::Acquire) != start.invalidations {
            return;
        }
        self.ids.insert(name.clone(), (id.clone(), start.at_ms));
        // An entry may have been dropped between the check and the insertion.
        if self.invalidations.load(Ordering::Acquire) != start.invalidations {
            self.ids.remove(name);
        }
    }

    /// Drops a name.
    pub(super) fn invalidate(&self, name: &NamespaceName) {
        self.invalidations.fetch_add(1, Ordering::AcqRel);
        self.ids.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_cached_for_a_minute_and_not_after_invalidation() {
        let cache = NamespaceCache::new();
        let name = NamespaceName::new("a").unwrap();
        let id = NamespaceId::new("abcdefghijk").unwrap();
        assert_eq!(cache.id(&name, 0), None);
        cache.insert(&name, &id, cache.start_read(1_000));
        assert_eq!(cache.id(&name, 1_000), Some(id.clone()));
        assert_eq!(cache.id(&name, 60_999), Some(id.clone()));
        assert_eq!(cache.id(&name, 61_000), None);
        assert_eq!(cache.id(&name, 999), None, "the clock was set back");
        let start = cache.start_read(2_000);
        cache.invalidate(&name);
        cache.insert(&name, &id, start);
        assert_eq!(cache.id(&name, 2_000), None);
    }
}
