//! A bounded cache of items read from the base store. Missing items are cached too.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::keys::Bytes;

/// Estimated size of an item, for sizing the cache's table.
const EXPECTED_ITEM: u64 = 512;
/// Overhead of an entry in bytes.
const OVERHEAD: u64 = 128;

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<Bytes, Option<Arc<[u8]>>> for Weight {
    fn weight(&self, key: &Bytes, value: &Option<Arc<[u8]>>) -> u64 {
        key.len() as u64 + OVERHEAD + value.as_ref().map_or(0, |bytes| bytes.len() as u64)
    }
}

/// Encoded items by key.
#[derive(Debug)]
pub(super) struct ItemCache {
    cache: Cache<Bytes, Option<Arc<[u8]>>, Weight>,
}

impl ItemCache {
    /// A cache of at most about `bytes`.
    pub(super) fn new(bytes: u64) -> ItemCache {
        let estimated = usize::try_from(bytes / EXPECTED_ITEM).unwrap_or(usize::MAX).max(16);
        ItemCache { cache: Cache::with_weighter(estimated, bytes, Weight) }
    }

    /// The cached item; `Some(None)` if it is known to be missing.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<Arc<[u8]>>> {
        self.cache.get(key)
    }

    /// Replaces the cached item, if there is one.
    pub(super) fn refresh(&self, key: &Bytes, item: Option<Arc<[u8]>>) {
        if self.cache.peek(key).is_some() {
            self.cache.insert(key.clone(), item);
        }
    }

    /// Caches an item, or that it is missing.
    pub(super) fn insert(&self, key: Bytes, item: Option<Arc<[u8]>>) {
        self.cache.insert(key, item);
    }
}
