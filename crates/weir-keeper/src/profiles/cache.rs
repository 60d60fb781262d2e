//! The per-process cache of inference profiles, absent ones included.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::{Equivalent, sync};

use super::InferenceProfile;
use crate::bounds::PROFILES_CACHED_MAX;
use crate::ids::{AppId, Label, OrgId};

type ProfileKey<'a> = (&'a OrgId, &'a AppId, &'a Label);

#[derive(Debug, Clone, Hash, PartialEq, Eq)]
struct OwnedKey(OrgId, AppId, Label);

/// Hashes like [`OwnedKey`], because it has the same fields.
#[derive(Hash)]
struct BorrowedKey<'a>(&'a OrgId, &'a AppId, &'a Label);

impl Equivalent<OwnedKey> for BorrowedKey<'_> {
    fn equivalent(&self, key: &OwnedKey) -> bool {
        (self.0, self.1, self.2) == (&key.0, &key.1, &key.2)
    }
}

type CachedProfile = Option<Arc<InferenceProfile>>;

/// Inference profiles by org, app and label.
#[derive(Debug)]
pub(crate) struct ProfileCache {
    ttl_ms: i64,
    entries: sync::Cache<OwnedKey, (CachedProfile, i64)>,
    epoch: AtomicU64,
}

impl ProfileCache {
    pub(crate) fn new(ttl_ms: i64) -> ProfileCache {
        let entries = sync::Cache::new(PROFILES_CACHED_MAX);
        ProfileCache { ttl_ms, entries, epoch: AtomicU64::new(0) }
    }

    pub(super) fn get(
        &self,
        (org, app, label): ProfileKey<'_>,
        now_ms: i64,
    ) -> Option<CachedProfile> {
        let (profile, read_ms) = self.entries.get(&BorrowedKey(org, app, label))?;
        let is_fresh = now_ms.abs_diff(read_ms) < self.ttl_ms.max(0).unsigned_abs();
        is_fresh.then_some(profile)
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Caches what was read, unless a write happened since `epoch`.
    pub(super) fn insert(
        &self,
        (org, app, label): ProfileKey<'_>,
        profile: CachedProfile,
        now_ms: i64,
        epoch: u64,
    ) {
        if self.epoch() == epoch {
            let owned = OwnedKey(org.clone(), app.clone(), label.clone());
            self.entries.insert(owned, (profile, now_ms));
        }
        if self.epoch() != epoch {
            self.entries.remove(&BorrowedKey(org, app, label));
        }
    }

    pub(super) fn invalidate(&self, (org, app, label): ProfileKey<'_>) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.entries.remove(&BorrowedKey(org, app, label));
    }
}
