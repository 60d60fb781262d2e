//! What a process remembers of inference profiles, absent ones included.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::{Equivalent, sync};

use super::Profile;
use crate::bounds::PROFILES_REMEMBERED;
use crate::ids::{AppId, Label, OrgId};

type Whose<'a> = (&'a OrgId, &'a AppId, &'a Label);

#[derive(Debug, Clone, Hash, PartialEq, Eq)]
struct Owned(OrgId, AppId, Label);

/// Hashes like an [`Owned`], whose fields it has.
#[derive(Hash)]
struct Borrowed<'a>(&'a OrgId, &'a AppId, &'a Label);

impl Equivalent<Owned> for Borrowed<'_> {
    fn equivalent(&self, key: &Owned) -> bool {
        (self.0, self.1, self.2) == (&key.0, &key.1, &key.2)
    }
}

type Said = Option<Arc<Profile>>;

/// What a process remembers of profiles.
#[derive(Debug)]
pub(crate) struct Cache {
    ttl_ms: i64,
    known: sync::Cache<Owned, (Said, i64)>,
    epoch: AtomicU64,
}

impl Cache {
    pub(crate) fn new(ttl_ms: i64) -> Cache {
        let known = sync::Cache::new(PROFILES_REMEMBERED);
        Cache { ttl_ms, known, epoch: AtomicU64::new(0) }
    }

    pub(super) fn fresh(&self, (org, app, label): Whose<'_>, now_ms: i64) -> Option<Said> {
        let (said, read_ms) = self.known.get(&Borrowed(org, app, label))?;
        let is_young = now_ms.abs_diff(read_ms) < self.ttl_ms.max(0).unsigned_abs();
        is_young.then_some(said)
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Remembers what was read, unless something was written since `epoch`.
    pub(super) fn keep(&self, (org, app, label): Whose<'_>, said: Said, now_ms: i64, epoch: u64) {
        if self.epoch() == epoch {
            let owned = Owned(org.clone(), app.clone(), label.clone());
            self.known.insert(owned, (said, now_ms));
        }
        if self.epoch() != epoch {
            self.known.remove(&Borrowed(org, app, label));
        }
    }

    pub(super) fn forget(&self, (org, app, label): Whose<'_>) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.known.remove(&Borrowed(org, app, label));
    }
}
