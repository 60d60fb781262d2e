//! What a process remembers of namespaces: the ids of names, for a minute.
//!
//! A name that is not there is not remembered, so that a new namespace can be used at once everywhere.

use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync;

use crate::bounds::{NAMESPACE_TTL_MS, NAMESPACES_MAX};
use crate::ids::{NamespaceId, NamespaceName};

/// Names and their ids.
#[derive(Debug)]
pub struct Cache {
    ids: sync::Cache<NamespaceName, (NamespaceId, i64)>,
    /// How often something was forgotten. An answer that was asked for before is not remembered after.
    forgotten: AtomicU64,
}

/// The moment a question to the store began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    forgotten: u64,
    at_ms: i64,
}

impl Cache {
    /// Nothing remembered.
    #[must_use]
    pub fn new() -> Cache {
        Cache { ids: sync::Cache::new(NAMESPACES_MAX), forgotten: AtomicU64::new(0) }
    }

    /// The id of a name, if it was learned less than a minute ago.
    pub(super) fn id(&self, name: &NamespaceName, now_ms: i64) -> Option<NamespaceId> {
        let (id, learned_ms) = self.ids.get(name)?;
        (0..NAMESPACE_TTL_MS).contains(&now_ms.saturating_sub(learned_ms)).then_some(id)
    }

    /// To be called before the store is asked.
    pub(super) fn asking(&self, now_ms: i64) -> Asked {
        Asked { forgotten: self.forgotten.load(Ordering::Acquire), at_ms: now_ms }
    }

    /// Remembers an answer, unless something was forgotten since it was asked for.
    pub(super) fn learn(&self, name: &NamespaceName, id: &NamespaceId, asked: Asked) {
        if self.forgotten.load(Ordering::Acquire) != asked.forgotten {
            return;
        }
        self.ids.insert(name.clone(), (id.clone(), asked.at_ms));
        // Whoever forgot between the look and the insert may have done so before the insert.
        if self.forgotten.load(Ordering::Acquire) != asked.forgotten {
            self.ids.remove(name);
        }
    }

    /// Forgets a name.
    pub(super) fn forget(&self, name: &NamespaceName) {
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        self.ids.remove(name);
    }
}

impl Default for Cache {
    fn default() -> Cache {
        Cache::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_believed_for_a_minute_and_never_after_it_was_forgotten() {
        let cache = Cache::new();
        let name = NamespaceName::new("a").unwrap();
        let id = NamespaceId::new("abcdefghijk").unwrap();
        assert_eq!(cache.id(&name, 0), None);
        cache.learn(&name, &id, cache.asking(1_000));
        assert_eq!(cache.id(&name, 1_000), Some(id.clone()));
        assert_eq!(cache.id(&name, 60_999), Some(id.clone()));
        assert_eq!(cache.id(&name, 61_000), None);
        assert_eq!(cache.id(&name, 999), None, "the clock was set back");
        let asked = cache.asking(2_000);
        cache.forget(&name);
        cache.learn(&name, &id, asked);
        assert_eq!(cache.id(&name, 2_000), None);
    }
}
