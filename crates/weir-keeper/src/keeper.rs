//! The keeper: its store, clock, settings and per-process caches.

use std::sync::Arc;

use weir_table::clock::Clock;
use weir_table::event_ids::EventIds;
use weir_table::{Backend, Store};

use crate::aggregate::UnsummedTotals;
use crate::catalog::ModelCatalog;
use crate::config::ConfigCache;
use crate::credentials::SecretHasher;
use crate::error::Result;
use crate::metrics::{Metrics, MetricsSnapshot};
use crate::prices::{PriceBook, PriceCache};
use crate::profiles::ProfileCache;
use crate::settings::Settings;
use crate::table::Tables;
use crate::webhooks::{NotifiedCache, WebhookCache};

/// Budgets of orgs and apps, stored in tables. Cheap to clone; clones share their caches.
pub struct Keeper<B> {
    pub(crate) inner: Arc<Inner<B>>,
}

impl<B> Clone for Keeper<B> {
    fn clone(&self) -> Self {
        Keeper { inner: Arc::clone(&self.inner) }
    }
}

impl<B> std::fmt::Debug for Keeper<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper")
            .field("tables", &self.inner.settings.tables)
            .finish_non_exhaustive()
    }
}

pub(crate) struct Inner<B> {
    store: Store<B>,
    clock: Clock,
    settings: Settings,
    price_book: PriceBook,
    pub(crate) metrics: Metrics,
    pub(crate) unsummed: UnsummedTotals,
    pub(crate) configs: ConfigCache,
    pub(crate) profiles: ProfileCache,
    pub(crate) prices: PriceCache,
    pub(crate) webhooks: WebhookCache,
    pub(crate) notified: NotifiedCache,
    pub(crate) hasher: SecretHasher,
    pub(crate) event_ids: EventIds,
}

impl<B: Backend> Keeper<B> {
    /// Opens the keeper: parses the price book and creates missing tables.
    ///
    /// # Errors
    /// A table has another schema, the price book is invalid, or the store fails.
    pub async fn open(store: Store<B>, clock: Clock, settings: Settings) -> Result<Keeper<B>> {
        let keeper = Keeper::new(store, clock, settings)?;
        for spec in keeper.tables().specs() {
            keeper.store().ensure_table(&spec).await?;
        }
        Ok(keeper)
    }

    /// A keeper on existing tables, which it does not verify.
    ///
    /// # Errors
    /// The price book is invalid.
    pub fn new(store: Store<B>, clock: Clock, settings: Settings) -> Result<Keeper<B>> {
        let inner = Inner {
            store,
            clock,
            price_book: PriceBook::shipped()?,
            metrics: Metrics::default(),
            unsummed: UnsummedTotals::default(),
            configs: ConfigCache::new(settings.config_ttl_ms),
            profiles: ProfileCache::new(settings.config_ttl_ms),
            prices: PriceCache::new(&settings.labels),
            webhooks: WebhookCache::new(),
            notified: NotifiedCache::new(),
            hasher: SecretHasher::new(settings.bcrypt_cost, settings.bcrypt_at_once),
            event_ids: EventIds::default(),
            settings,
        };
        Ok(Keeper { inner: Arc::new(inner) })
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store<B> {
        &self.inner.store
    }

    /// The current time, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        i64::try_from(self.inner.clock.now_ms()).unwrap_or(i64::MAX)
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The table names.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.inner.settings.tables
    }

    /// The catalog of model labels.
    #[must_use]
    pub fn catalog(&self) -> &ModelCatalog {
        &self.inner.settings.labels
    }

    /// The price book shipped with this binary.
    #[must_use]
    pub fn price_book(&self) -> &PriceBook {
        &self.inner.price_book
    }

    /// Counters of this instance since it started.
    #[must_use]
    pub fn metrics(&self) -> MetricsSnapshot {
        let snapshot = self.inner.metrics.snapshot(self.inner.hasher.verifications());
        MetricsSnapshot { unsummed_totals: self.inner.unsummed.len(), ..snapshot }
    }
}
