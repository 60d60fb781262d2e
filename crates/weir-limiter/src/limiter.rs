//! The limiter, and the namespaces it works in.

use std::sync::Arc;

use weir_table::clock::Clock;
use weir_table::event_ids::EventIds;
use weir_table::{Backend, Name, Store};

use crate::acquire::BucketCache;
use crate::aggregate;
use crate::config;
use crate::error::Result;
use crate::ids::{NamespaceId, NamespaceName};
use crate::namespaces;
use crate::settings::Settings;
use crate::{lease, migrations, shared_table, table};

/// A rate limiter whose state is in a table. Cheap to clone; clones share their caches.
pub struct Limiter<B> {
    pub(crate) inner: Arc<Inner<B>>,
}

impl<B> Clone for Limiter<B> {
    fn clone(&self) -> Self {
        Limiter { inner: Arc::clone(&self.inner) }
    }
}

impl<B> std::fmt::Debug for Limiter<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limiter").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

pub(crate) struct Inner<B> {
    pub(crate) store: Store<B>,
    /// The name of the table, ready to be put into requests.
    pub(crate) table: Name,
    pub(crate) clock: Clock,
    pub(crate) settings: Settings,
    /// Buckets that this process remembers.
    pub(crate) bucket_cache: BucketCache,
    /// Config levels that this process remembers.
    pub(crate) configs: config::ConfigCache,
    /// Ids of namespaces that this process remembers.
    pub(crate) namespaces: namespaces::NamespaceCache,
    /// Generates the ids of audit events.
    pub(crate) event_ids: EventIds,
    pub(crate) lease_signer: lease::LeaseSigner,
    pub(crate) lease_ids: lease::LeaseIds,
    /// Write rates of shards, from the change feed.
    pub(crate) write_rates: aggregate::WriteRates,
}

impl<B: Backend> Limiter<B> {
    /// Opens the limiter: creates its table if it is missing, checks and migrates the schema, and registers the namespace
    /// `default`.
    ///
    /// # Errors
    /// The table has another shape, its schema is newer than this version supports, or the store fails.
    pub async fn open(store: Store<B>, clock: Clock, settings: Settings) -> Result<Limiter<B>> {
        let spec = table::spec(&settings.table, settings.is_shared());
        let ensured = store.ensure_table(&spec).await;
        let limiter = Limiter::new(store, clock, settings);
        if let Err(weir_table::Error::SpecMismatch { .. }) = &ensured {
            let found = limiter.store().spec(&spec.name).await?;
            shared_table::check_shape(&found, limiter.version_item().await?.as_ref())?;
        }
        ensured?;
        migrations::run(&limiter).await?;
        limiter.ensure_default_namespace().await?;
        Ok(limiter)
    }

    /// A limiter on an existing table, which is not checked.
    pub fn new(store: Store<B>, clock: Clock, settings: Settings) -> Limiter<B> {
        let inner = Inner {
            store,
            table: settings.table.as_str().into(),
            clock,
            bucket_cache: BucketCache::new(),
            configs: config::ConfigCache::new(settings.config_ttl_ms),
            namespaces: namespaces::NamespaceCache::new(),
            event_ids: EventIds::default(),
            lease_signer: lease::LeaseSigner::new(&settings.lease_key),
            lease_ids: lease::LeaseIds::new(),
            write_rates: aggregate::WriteRates::default(),
            settings,
        };
        Limiter { inner: Arc::new(inner) }
    }

    /// The time now, in milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        i64::try_from(self.inner.clock.now_ms()).unwrap_or(i64::MAX)
    }

    /// The name of the table, for requests to the store.
    pub(crate) fn table(&self) -> Name {
        self.inner.table.clone()
    }

    pub(crate) fn store(&self) -> &Store<B> {
        &self.inner.store
    }

    /// The statistics of the config cache.
    #[must_use]
    pub fn cache_statistics(&self) -> config::CacheStatistics {
        self.inner.configs.statistics(self.now_ms())
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }
}

/// A namespace of a limiter. All operations on limits happen in one. Cheap to clone.
#[derive(Debug)]
pub struct Namespace<B> {
    pub(crate) limiter: Limiter<B>,
    pub(crate) id: NamespaceId,
    pub(crate) name: NamespaceName,
}

impl<B> Clone for Namespace<B> {
    fn clone(&self) -> Self {
        Namespace { limiter: self.limiter.clone(), id: self.id.clone(), name: self.name.clone() }
    }
}

impl<B> Namespace<B> {
    /// The opaque id.
    #[must_use]
    pub fn id(&self) -> &NamespaceId {
        &self.id
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &NamespaceName {
        &self.name
    }
}
