//! The keeper: the store it works on, the time, and what it was set up to.

use std::sync::Arc;

use weir_table::clock::Clock;
use weir_table::event_ids::EventIds;
use weir_table::{Backend, Store};

use crate::error::Result;
use crate::labels::Catalogue;
use crate::meters::{Meters, MetersRead};
use crate::notices::{HookCache, Told};
use crate::prices::Book;
use crate::settings::Settings;
use crate::table::Tables;
use crate::{config, credentials, prices, profiles};

/// Budgets whose state is in tables. Cheap to clone; clones share what they remember.
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
    book: Book,
    /// What it counts of its own work.
    meters: Meters,
    /// What it remembers of webhooks.
    hooks: HookCache,
    /// Which news it knows to be told.
    told: Told,
    /// What is remembered of configurations.
    pub(crate) configs: config::cache::Cache,
    /// What is remembered of inference profiles.
    pub(crate) profiles: profiles::Cache,
    /// What is remembered of prices.
    pub(crate) prices: prices::Cache,
    pub(crate) hashing: credentials::Hashing,
    /// How often secrets were promised and fetched.
    pub(crate) counts: credentials::Counts,
    pub(crate) event_ids: EventIds,
}

impl<B: Backend> Keeper<B> {
    /// Opens the keeper: reads its price book, makes its tables where they are missing.
    ///
    /// # Errors
    /// A table has another shape, the price book cannot be read, or the store fails.
    pub async fn open(store: Store<B>, clock: Clock, settings: Settings) -> Result<Keeper<B>> {
        let keeper = Keeper::new(store, clock, settings)?;
        for spec in keeper.tables().specs() {
            match keeper.store().verify_table(&spec).await {
                Err(weir_table::Error::NoSuchTable(_)) => {
                    keeper.store().create_table(&spec).await?;
                }
                verified => verified?,
            }
        }
        Ok(keeper)
    }

    /// A keeper on tables that are known to be there, without looking at them.
    ///
    /// # Errors
    /// The price book cannot be read.
    pub fn new(store: Store<B>, clock: Clock, settings: Settings) -> Result<Keeper<B>> {
        let inner = Inner {
            store,
            clock,
            meters: Meters::default(),
            hooks: HookCache::new(),
            told: Told::new(),
            book: Book::shipped()?,
            configs: config::cache::Cache::new(settings.config_ttl_ms),
            profiles: profiles::Cache::new(settings.config_ttl_ms),
            prices: prices::Cache::new(&settings.labels),
            hashing: credentials::Hashing::new(settings.bcrypt_cost, settings.bcrypt_at_once),
            counts: credentials::Counts::default(),
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

    /// Milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        i64::try_from(self.inner.clock.now_ms()).unwrap_or(i64::MAX)
    }

    /// How it was set up.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The names of its tables.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.inner.settings.tables
    }

    /// The labels there are.
    #[must_use]
    pub fn labels(&self) -> &Catalogue {
        &self.inner.settings.labels
    }

    /// What this instance did since its start.
    #[must_use]
    pub fn meters_read(&self) -> MetersRead {
        self.inner.meters.read()
    }

    pub(crate) fn meters(&self) -> &Meters {
        &self.inner.meters
    }

    pub(crate) fn hooks(&self) -> &HookCache {
        &self.inner.hooks
    }

    pub(crate) fn told(&self) -> &Told {
        &self.inner.told
    }

    /// The price book.
    #[must_use]
    pub fn book(&self) -> &Book {
        &self.inner.book
    }
}
