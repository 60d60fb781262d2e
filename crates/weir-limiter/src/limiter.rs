//! The limiter and the namespace one works in.

use std::sync::Arc;

use weir_table::clock::Clock;
use weir_table::event_ids::EventIds;
use weir_table::{Backend, Name, Store};

use crate::acquire::{Known, LeaseIds};
use crate::aggregate;
use crate::config;
use crate::error::Result;
use crate::ids::{NamespaceId, NamespaceName};
use crate::namespaces;
use crate::settings::Settings;
use crate::{lease, migrations, table};

/// Limits whose state is in a table. Cheap to clone; clones share what they remember.
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
    /// What is remembered of buckets.
    pub(crate) known: Known,
    /// What is remembered of config levels.
    pub(crate) configs: config::Cache,
    /// What is remembered of namespaces.
    pub(crate) names: namespaces::Cache,
    /// The ids of audit events.
    pub(crate) event_ids: EventIds,
    pub(crate) seal: lease::Seal,
    pub(crate) lease_ids: LeaseIds,
    /// How often shards are written, as the feed tells.
    pub(crate) pace: aggregate::Pace,
}

impl<B: Backend> Limiter<B> {
    /// Opens the limiter: makes its table where it is missing, checks and migrates its schema, registers the namespace
    /// `default`.
    ///
    /// # Errors
    /// The table has another shape, the schema is of a newer version, or the store fails.
    pub async fn open(store: Store<B>, clock: Clock, settings: Settings) -> Result<Limiter<B>> {
        let spec = table::spec(&settings.table, settings.is_shared());
        match store.verify_table(&spec).await {
            Err(weir_table::Error::NoSuchTable(_)) => store.create_table(&spec).await?,
            verified => verified?,
        }
        let limiter = Limiter::new(store, clock, settings);
        migrations::run(&limiter).await?;
        limiter.ensure_default_namespace().await?;
        Ok(limiter)
    }

    /// A limiter on a table that is known to be there, without looking at it.
    pub fn new(store: Store<B>, clock: Clock, settings: Settings) -> Limiter<B> {
        let inner = Inner {
            store,
            table: settings.table.as_str().into(),
            clock,
            known: Known::new(),
            configs: config::Cache::new(settings.config_ttl_ms),
            names: namespaces::Cache::new(),
            event_ids: EventIds::default(),
            seal: lease::Seal::new(&settings.lease_key),
            lease_ids: LeaseIds::new(),
            pace: aggregate::Pace::default(),
            settings,
        };
        Limiter { inner: Arc::new(inner) }
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        i64::try_from(self.inner.clock.now_ms()).unwrap_or(i64::MAX)
    }

    /// The table, for requests to the store.
    pub(crate) fn table(&self) -> Name {
        self.inner.table.clone()
    }

    pub(crate) fn store(&self) -> &Store<B> {
        &self.inner.store
    }

    /// How the cache of config levels did.
    #[must_use]
    pub fn cache_statistics(&self) -> config::CacheStatistics {
        self.inner.configs.statistics(self.now_ms())
    }

    /// How it was set up.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }
}

/// A namespace of a limiter: everything about limits is done in one. Cheap to clone.
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
    /// Its opaque id.
    #[must_use]
    pub fn id(&self) -> &NamespaceId {
        &self.id
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &NamespaceName {
        &self.name
    }
}
