//! What a process remembers of prices, that there is none included, and the price of each label.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compact_str::CompactString;
use parking_lot::RwLock;
use quick_cache::{Equivalent, sync};

use super::import::Imports;
use super::{PriceSource, Priced};
use crate::bounds::{PRICE_BELIEVED_MS, PRICES_REMEMBERED};
use crate::ids::{Label, ModelId};
use crate::labels::Catalogue;

/// A model in a region on a day of UTC, borrowed, so that looking one up builds no text.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct Of<'a> {
    pub(super) model: &'a ModelId,
    pub(super) region: Option<&'a str>,
    pub(super) day: i64,
}

/// The same, owned. It hashes like an [`Of`], whose fields it has.
#[derive(Debug, Clone, Hash, PartialEq, Eq)]
struct Owned {
    model: ModelId,
    region: Option<CompactString>,
    day: i64,
}

impl Equivalent<Owned> for Of<'_> {
    fn equivalent(&self, key: &Owned) -> bool {
        self.day == key.day && *self.model == key.model && self.region == key.region.as_deref()
    }
}

/// A price, or that there is none.
pub(super) type Said = Option<Arc<Priced>>;

/// What a process remembers of prices.
#[derive(Debug)]
pub(crate) struct Cache {
    known: sync::Cache<Owned, (Said, i64)>,
    labels: HashMap<Label, Arc<Priced>>,
    imports: RwLock<Option<Arc<Imports>>>,
    epoch: AtomicU64,
}

impl Cache {
    /// A cache that knows the prices of labels and nothing else.
    pub(crate) fn new(labels: &Catalogue) -> Cache {
        let priced = |(label, def): (&Label, &crate::labels::LabelDef)| {
            let source = PriceSource::ConfigFallback;
            let priced = Priced { price: def.price?, source, version: "config".to_owned() };
            Some((label.clone(), Arc::new(priced)))
        };
        Cache {
            known: sync::Cache::new(PRICES_REMEMBERED),
            labels: labels.iter().filter_map(priced).collect(),
            imports: RwLock::default(),
            epoch: AtomicU64::new(0),
        }
    }

    /// The price of a label.
    pub(super) fn of_label(&self, label: &Label) -> Said {
        self.labels.get(label).cloned()
    }

    /// What is remembered, and not too old.
    pub(super) fn fresh(&self, of: Of<'_>, now_ms: i64) -> Option<Said> {
        let (said, read_ms) = self.known.get(&of)?;
        (now_ms.abs_diff(read_ms) < PRICE_BELIEVED_MS.unsigned_abs()).then_some(said)
    }

    /// The epoch, to be asked for before a read and handed to [`Cache::keep`] after it.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Remembers what was read, unless prices were written since `epoch`.
    pub(super) fn keep(&self, of: Of<'_>, said: Said, now_ms: i64, epoch: u64) {
        if self.epoch() == epoch {
            let region = of.region.map(CompactString::from);
            self.known
                .insert(Owned { model: of.model.clone(), region, day: of.day }, (said, now_ms));
        }
        if self.epoch() != epoch {
            self.known.remove(&of);
        }
    }

    /// What is remembered of imports.
    pub(super) fn imports(&self) -> Option<Arc<Imports>> {
        self.imports.read().clone()
    }

    /// Remembers the imports, unless prices were written since `epoch`.
    pub(super) fn keep_imports(&self, imports: &Arc<Imports>, epoch: u64) {
        let mut known = self.imports.write();
        if self.epoch() == epoch {
            *known = Some(Arc::clone(imports));
        }
    }

    /// Forgets all prices but those of labels, and the imports they went by.
    pub(super) fn forget(&self) {
        let mut imports = self.imports.write();
        self.epoch.fetch_add(1, Ordering::SeqCst);
        *imports = None;
        self.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, RandomState};

    #[test]
    fn borrowed_keys_find_owned_ones() {
        let model = ModelId::new("m").unwrap();
        let state = RandomState::new();
        for region in [None, Some("eu-west-1"), Some("a region of a name that is not inline")] {
            let of = Of { model: &model, region, day: 7 };
            let region = region.map(CompactString::from);
            let owned = Owned { model: model.clone(), region, day: 7 };
            assert_eq!(state.hash_one(of), state.hash_one(&owned));
            assert!(of.equivalent(&owned));
        }
    }
}
