//! The per-process cache of prices, unknown ones included, and the prices of labels.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compact_str::CompactString;
use parking_lot::RwLock;
use quick_cache::{Equivalent, sync};

use super::ResolvedPrice;
use super::import_list::ImportList;
use super::vendors::Vendors;
use crate::bounds::{PRICE_TTL_MS, PRICES_CACHED_MAX};
use crate::catalog::ModelCatalog;
use crate::ids::{Label, ModelId, Vendor};

/// A borrowed key: a model in a region on a UTC day. A lookup allocates nothing.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct PriceKey<'a> {
    pub(super) model: &'a ModelId,
    pub(super) vendor: Option<&'a Vendor>,
    pub(super) label_vendor: Option<&'a Vendor>,
    pub(super) region: Option<&'a str>,
    pub(super) day: i64,
}

/// The owned key. It has the same fields as [`PriceKey`], so both hash alike.
#[derive(Debug, Clone, Hash, PartialEq, Eq)]
struct OwnedPriceKey {
    model: ModelId,
    vendor: Option<Vendor>,
    label_vendor: Option<Vendor>,
    region: Option<CompactString>,
    day: i64,
}

impl Equivalent<OwnedPriceKey> for PriceKey<'_> {
    fn equivalent(&self, owned: &OwnedPriceKey) -> bool {
        self.day == owned.day
            && *self.model == owned.model
            && self.vendor == owned.vendor.as_ref()
            && self.label_vendor == owned.label_vendor.as_ref()
            && self.region == owned.region.as_deref()
    }
}

/// A cached price; `None` when the price is unknown, an error when it needs the name of a vendor.
pub(super) type CachedPrice = Result<Option<Arc<ResolvedPrice>>, Vendors>;

/// Prices by model, region and day.
#[derive(Debug)]
pub(crate) struct PriceCache {
    entries: sync::Cache<OwnedPriceKey, (CachedPrice, i64)>,
    labels: HashMap<Label, Arc<ResolvedPrice>>,
    imports: RwLock<Option<Arc<ImportList>>>,
    epoch: AtomicU64,
}

impl PriceCache {
    /// A cache with only the prices of labels.
    pub(crate) fn new(labels: &ModelCatalog) -> PriceCache {
        let priced = |(label, def): (&Label, &crate::catalog::ModelDefinition)| {
            Some((label.clone(), Arc::new(ResolvedPrice::from_label(def.price?))))
        };
        PriceCache {
            entries: sync::Cache::new(PRICES_CACHED_MAX),
            labels: labels.iter().filter_map(priced).collect(),
            imports: RwLock::default(),
            epoch: AtomicU64::new(0),
        }
    }

    /// The price of a label.
    pub(super) fn label_price(&self, label: &Label) -> Option<Arc<ResolvedPrice>> {
        self.labels.get(label).cloned()
    }

    /// A cached price that has not expired.
    pub(super) fn get(&self, key: PriceKey<'_>, now_ms: i64) -> Option<CachedPrice> {
        let (price, read_ms) = self.entries.get(&key)?;
        (now_ms.abs_diff(read_ms) < PRICE_TTL_MS.unsigned_abs()).then_some(price)
    }

    /// The current epoch: read it before a store read, and pass it to [`PriceCache::insert`] after.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Caches what was read, unless prices were written since `epoch`.
    pub(super) fn insert(&self, key: PriceKey<'_>, price: CachedPrice, now_ms: i64, epoch: u64) {
        if self.epoch() == epoch {
            let owned = OwnedPriceKey {
                model: key.model.clone(),
                vendor: key.vendor.cloned(),
                label_vendor: key.label_vendor.cloned(),
                region: key.region.map(CompactString::from),
                day: key.day,
            };
            self.entries.insert(owned, (price, now_ms));
        }
        if self.epoch() != epoch {
            self.entries.remove(&key);
        }
    }

    /// The cached list of imports.
    pub(super) fn imports(&self) -> Option<Arc<ImportList>> {
        self.imports.read().clone()
    }

    /// Caches the list of imports, unless prices were written since `epoch`.
    pub(super) fn insert_imports(&self, imports: &Arc<ImportList>, epoch: u64) {
        let mut cached = self.imports.write();
        if self.epoch() == epoch {
            *cached = Some(Arc::clone(imports));
        }
    }

    /// Drops all prices but those of labels, and the list of imports they depend on.
    pub(super) fn invalidate(&self) {
        let mut imports = self.imports.write();
        self.epoch.fetch_add(1, Ordering::SeqCst);
        *imports = None;
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, RandomState};

    #[test]
    fn borrowed_keys_find_owned_ones() {
        let model = ModelId::new("m").unwrap();
        let openai = Vendor::new("openai").unwrap();
        let state = RandomState::new();
        for region in [None, Some("eu-west-1"), Some("a region of a name that is not inline")] {
            let (vendor, label_vendor) = (Some(&openai), None);
            let key = PriceKey { model: &model, vendor, label_vendor, region, day: 7 };
            let region = region.map(CompactString::from);
            let vendor = Some(openai.clone());
            let owned =
                OwnedPriceKey { model: model.clone(), vendor, label_vendor: None, region, day: 7 };
            assert_eq!(state.hash_one(key), state.hash_one(&owned));
            assert!(key.equivalent(&owned));
        }
    }
}
