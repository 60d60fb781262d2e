//! What a process remembers of configurations in force.
//!
//! A read that was under way while a configuration was written must not bring the old one back, so every write moves an
//! epoch, and what was read in an earlier one is not kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::{Equivalent, sync};

use super::Effective;
use crate::bounds::CONFIGS_REMEMBERED;
use crate::ids::{AppId, OrgId};

/// An org or an app of it, borrowed, so that looking one up builds no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Whose<'a> {
    pub(crate) org: &'a OrgId,
    pub(crate) app: Option<&'a AppId>,
}

/// The same, owned. It hashes like a [`Whose`], whose fields it has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Owned {
    org: OrgId,
    app: Option<AppId>,
}

impl Equivalent<Owned> for Whose<'_> {
    fn equivalent(&self, key: &Owned) -> bool {
        *self.org == key.org && self.app == key.app.as_ref()
    }
}

#[derive(Debug, Clone)]
struct Entry {
    effective: Arc<Effective>,
    read_ms: i64,
    /// When something else comes into force.
    until_ms: i64,
}

/// What a process remembers of configurations.
#[derive(Debug)]
pub(crate) struct Cache {
    ttl_ms: i64,
    known: sync::Cache<Owned, Entry>,
    epoch: AtomicU64,
}

impl Cache {
    /// An empty cache that believes a configuration for `ttl_ms`.
    pub(crate) fn new(ttl_ms: i64) -> Cache {
        let known = sync::Cache::new(CONFIGS_REMEMBERED);
        Cache { ttl_ms, known, epoch: AtomicU64::new(0) }
    }

    /// What is remembered, and not too old.
    pub(crate) fn fresh(&self, whose: Whose<'_>, now_ms: i64) -> Option<Arc<Effective>> {
        let entry = self.known.get(&whose)?;
        // Age counts in both directions, or a clock put back would make it be believed for ever.
        let is_young = now_ms.abs_diff(entry.read_ms) < self.ttl_ms.max(0).unsigned_abs();
        (is_young && now_ms < entry.until_ms).then_some(entry.effective)
    }

    /// The epoch, to be asked for before a read and handed to [`Cache::keep`] after it.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Remembers what was read at `now_ms` and holds until `until_ms`, unless something was written since `epoch`.
    pub(crate) fn keep(
        &self,
        whose: Whose<'_>,
        effective: &Arc<Effective>,
        (now_ms, until_ms): (i64, i64),
        epoch: u64,
    ) {
        if self.epoch() != epoch {
            return;
        }
        let owned = Owned { org: whose.org.clone(), app: whose.app.cloned() };
        let entry = Entry { effective: Arc::clone(effective), read_ms: now_ms, until_ms };
        self.known.insert(owned, entry);
        if self.epoch() != epoch {
            self.known.remove(&whose);
        }
    }

    /// Forgets an org with all its apps.
    pub(crate) fn forget(&self, org: &OrgId) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.known.retain(|key, _| key.org != *org);
    }
}
