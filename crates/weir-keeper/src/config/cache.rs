//! The per-process cache of effective configurations.
//!
//! A read that overlaps a write must not cache the old configuration. So every write increments an epoch, and a value
//! read in an earlier epoch is not inserted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::{Equivalent, sync};

use super::EffectiveConfig;
use crate::bounds::CONFIGS_CACHED_MAX;
use crate::ids::{AppId, OrgId};

/// A borrowed key, so that a lookup allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ConfigKey<'a> {
    pub(crate) org: &'a OrgId,
    pub(crate) app: Option<&'a AppId>,
}

/// The owned key. It has the same fields as [`ConfigKey`], so both hash alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct OwnedConfigKey {
    org: OrgId,
    app: Option<AppId>,
}

impl Equivalent<OwnedConfigKey> for ConfigKey<'_> {
    fn equivalent(&self, owned: &OwnedConfigKey) -> bool {
        *self.org == owned.org && self.app == owned.app.as_ref()
    }
}

#[derive(Debug, Clone)]
struct Entry {
    effective: Arc<EffectiveConfig>,
    read_ms: i64,
    /// When a pending change takes effect.
    until_ms: i64,
}

/// Effective configurations by org and app.
#[derive(Debug)]
pub(crate) struct ConfigCache {
    ttl_ms: i64,
    entries: sync::Cache<OwnedConfigKey, Entry>,
    epoch: AtomicU64,
}

impl ConfigCache {
    /// An empty cache key entries live for `ttl_ms`.
    pub(crate) fn new(ttl_ms: i64) -> ConfigCache {
        let entries = sync::Cache::new(CONFIGS_CACHED_MAX);
        ConfigCache { ttl_ms, entries, epoch: AtomicU64::new(0) }
    }

    /// A cached configuration that has not expired.
    pub(crate) fn get(&self, key: ConfigKey<'_>, now_ms: i64) -> Option<Arc<EffectiveConfig>> {
        let entry = self.entries.get(&key)?;
        // Age is measured in both directions, or entries would never expire after the clock is set back.
        let is_fresh = now_ms.abs_diff(entry.read_ms) < self.ttl_ms.max(0).unsigned_abs();
        (is_fresh && now_ms < entry.until_ms).then_some(entry.effective)
    }

    /// The current epoch: read it before a store read, and pass it to [`ConfigCache::insert`] after.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Caches what was read at `now_ms` and stays in force until `until_ms`, unless a write happened since `epoch`.
    pub(crate) fn insert(
        &self,
        key: ConfigKey<'_>,
        effective: &Arc<EffectiveConfig>,
        (now_ms, until_ms): (i64, i64),
        epoch: u64,
    ) {
        if self.epoch() != epoch {
            return;
        }
        let owned = OwnedConfigKey { org: key.org.clone(), app: key.app.cloned() };
        let entry = Entry { effective: Arc::clone(effective), read_ms: now_ms, until_ms };
        self.entries.insert(owned, entry);
        if self.epoch() != epoch {
            self.entries.remove(&key);
        }
    }

    /// Drops an org with all its apps.
    pub(crate) fn invalidate(&self, org: &OrgId) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.entries.retain(|key, _| key.org != *org);
    }
}
