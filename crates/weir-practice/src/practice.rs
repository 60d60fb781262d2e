//! The practice service: its store, object storage, clock and settings.

use std::sync::Arc;

use weir_calendar::Day;
use weir_table::clock::Clock;
use weir_table::event_ids::EventIds;
use weir_table::{Backend, Get, Item, Key, Name, Store};

use crate::day::day_of;
use crate::error::Result;
use crate::jobs::observe::LeaseObserver;
use crate::objects::Objects;
use crate::plans::PlanHints;
use crate::settings::Settings;
use crate::table;
use crate::usage::ClockWatch;

/// Users, plans, problems, runs and jobs, stored in a table. Cheap to clone.
pub struct Practice<B> {
    inner: Arc<Inner<B>>,
}

impl<B> Clone for Practice<B> {
    fn clone(&self) -> Self {
        Practice { inner: Arc::clone(&self.inner) }
    }
}

impl<B> std::fmt::Debug for Practice<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let table = &self.inner.settings.table;
        f.debug_struct("Practice").field("table", table).finish_non_exhaustive()
    }
}

struct Inner<B> {
    store: Store<B>,
    objects: Objects,
    clock: Clock,
    settings: Settings,
    event_ids: EventIds,
    leases: LeaseObserver,
    plan_hints: PlanHints,
    clock_watch: ClockWatch,
}

impl<B: Backend> Practice<B> {
    /// Opens the service, and creates the table and the default plans if they are missing.
    ///
    /// # Errors
    /// The table has another schema, a setting is out of its bounds, or the store fails.
    pub async fn open(
        store: Store<B>,
        objects: Objects,
        clock: Clock,
        settings: Settings,
    ) -> Result<Practice<B>> {
        let practice = Practice::new(store, objects, clock, settings)?;
        practice.store().ensure_table(&table::spec(practice.table())).await?;
        practice.seed_plans().await?;
        Ok(practice)
    }

    /// The service on an existing table, which is not verified.
    ///
    /// # Errors
    /// A setting is out of its bounds.
    pub fn new(
        store: Store<B>,
        objects: Objects,
        clock: Clock,
        settings: Settings,
    ) -> Result<Practice<B>> {
        settings.check()?;
        let inner = Inner {
            store,
            objects,
            clock,
            settings,
            event_ids: EventIds::default(),
            leases: LeaseObserver::default(),
            plan_hints: PlanHints::default(),
            clock_watch: ClockWatch::default(),
        };
        Ok(Practice { inner: Arc::new(inner) })
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store<B> {
        &self.inner.store
    }

    /// The object storage.
    #[must_use]
    pub fn objects(&self) -> &Objects {
        &self.inner.objects
    }

    /// The current time, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        i64::try_from(self.inner.clock.now_ms()).unwrap_or(i64::MAX)
    }

    /// The day of an instant in the time zone of the deployment.
    #[must_use]
    pub fn day_of(&self, at_ms: i64) -> Day {
        day_of(&self.settings().zone, at_ms)
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

    /// The generator of ids.
    #[must_use]
    pub fn event_ids(&self) -> &EventIds {
        &self.inner.event_ids
    }

    /// The leases of jobs that this process has seen.
    pub(crate) fn leases(&self) -> &LeaseObserver {
        &self.inner.leases
    }

    pub(crate) fn plan_hints(&self) -> &PlanHints {
        &self.inner.plan_hints
    }

    pub(crate) fn clock_watch(&self) -> &ClockWatch {
        &self.inner.clock_watch
    }

    /// Reads an item, strongly consistent.
    ///
    /// # Errors
    /// The store fails.
    pub async fn item(&self, key: Key) -> Result<Option<Item>> {
        Ok(self.store().get(&Get::new(self.table().clone(), key)).await?)
    }
}
