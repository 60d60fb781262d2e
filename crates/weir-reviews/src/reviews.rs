//! The reviews: their store, object storage, clock and settings.

use std::sync::Arc;

use weir_table::clock::Clock;
use weir_table::{Backend, Get, Item, Key, Name, Store};

use crate::error::Result;
use crate::keys::ReviewRef;
use crate::raw::RawOutputs;
use crate::rollup::RollupTable;
use crate::settings::Settings;
use crate::table;

/// Which reviews a caller may reach.
type Filter = Arc<dyn Fn(&ReviewRef) -> bool + Send + Sync>;

/// Reviews of pull requests, stored in a table. Cheap to clone.
pub struct Reviews<B> {
    inner: Arc<Inner<B>>,
    filter: Option<Filter>,
}

impl<B> Clone for Reviews<B> {
    fn clone(&self) -> Self {
        Reviews { inner: Arc::clone(&self.inner), filter: self.filter.clone() }
    }
}

impl<B> std::fmt::Debug for Reviews<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reviews").field("table", &self.inner.settings.table).finish_non_exhaustive()
    }
}

struct Inner<B> {
    store: Store<B>,
    raw_outputs: RawOutputs,
    clock: Clock,
    settings: Settings,
}

impl<B: Backend> Reviews<B> {
    /// Opens the reviews, and creates the table if it is missing.
    ///
    /// # Errors
    /// The table has another schema, a setting is out of its bounds, or the store fails.
    pub async fn open(
        store: Store<B>,
        raw_outputs: RawOutputs,
        clock: Clock,
        settings: Settings,
    ) -> Result<Reviews<B>> {
        let reviews = Reviews::new(store, raw_outputs, clock, settings)?;
        reviews.store().ensure_table(&table::spec(reviews.table())).await?;
        Ok(reviews)
    }

    /// Reviews in an existing table, which is not verified.
    ///
    /// # Errors
    /// A setting is out of its bounds.
    pub fn new(
        store: Store<B>,
        raw_outputs: RawOutputs,
        clock: Clock,
        settings: Settings,
    ) -> Result<Reviews<B>> {
        settings.check()?;
        let inner = Arc::new(Inner { store, raw_outputs, clock, settings });
        Ok(Reviews { inner, filter: None })
    }

    /// The same reviews for a caller who may reach some of them. Others are missing whenever their id is named, after the
    /// same calls of the store. Lists and new reviews are not filtered.
    #[must_use]
    pub fn visible_if(
        &self,
        filter: impl Fn(&ReviewRef) -> bool + Send + Sync + 'static,
    ) -> Reviews<B> {
        Reviews { inner: Arc::clone(&self.inner), filter: Some(Arc::new(filter)) }
    }

    /// Whether the caller may reach a review.
    pub(crate) fn is_visible(&self, review: &ReviewRef) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter(review))
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

    /// The name of the table.
    #[must_use]
    pub fn table(&self) -> &Name {
        &self.inner.settings.table
    }

    /// The table as that of the rollups.
    #[must_use]
    pub fn rollup_table(&self) -> RollupTable {
        let Settings { table, rollup_days, .. } = self.settings();
        RollupTable { name: table.clone(), retention_days: *rollup_days }
    }

    /// The raw outputs of models.
    pub(crate) fn raw_outputs(&self) -> &RawOutputs {
        &self.inner.raw_outputs
    }

    /// Reads an item, strongly consistent.
    pub(crate) async fn item(&self, key: Key) -> Result<Option<Item>> {
        Ok(self.store().get(&Get::new(self.table().clone(), key)).await?)
    }
}
