//! Creating and deleting tables: commits of entries in the meta space.

use std::sync::Arc;

use super::catalog::{Catalog, Table, dropped_key, table_key};
use super::change::MetaChange;
use super::engine::{Barrier, Engine};
use crate::error::{Error, Result};
use crate::request::Durability;
use crate::spec::TableSpec;

impl Engine {
    /// Creates a table; an existing one is left unchanged.
    pub(super) async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        let _one_at_a_time = self.altering.lock().await;
        if self.find_table(&spec.name).is_some() {
            return Ok(());
        }
        let id = self.catalog.read().next_id();
        let table = serde_json::to_vec(&Table { id, spec: spec.clone() })
            .map_err(|source| Error::backend("writing a table's declaration", source))?;
        self.disk_space.check(|| false)?;
        let entry = MetaChange { key: table_key(&spec.name), value: Some(Arc::from(table)) };
        self.alter(vec![entry]).await
    }

    /// Deletes a table. Its items are unreachable at once and removed by later checkpoints.
    pub(super) async fn delete_table(&self, name: &str) -> Result<()> {
        let _one_at_a_time = self.altering.lock().await;
        let table = self.table(name)?;
        self.disk_space.check(|| true)?;
        let gone = MetaChange { key: table_key(name), value: None };
        let dropped = MetaChange { key: dropped_key(table.id), value: Some(Arc::from(*b"")) };
        self.alter(vec![gone, dropped]).await
    }

    async fn alter(&self, entries: Vec<MetaChange>) -> Result<()> {
        let barrier = {
            let gate = self.generations.read();
            let mut catalog = Catalog::clone(&self.catalog.read());
            for entry in &entries {
                catalog
                    .apply(&entry.key, entry.value.as_deref())
                    .map_err(|source| Error::backend("updating the catalog", source))?;
            }
            let now_ms = self.options.clock.now_ms();
            let nothing = Barrier::default();
            let barrier =
                self.publish(&gate, &[], &entries, Durability::Synced, nothing, now_ms)?;
            *self.catalog.write() = Arc::new(catalog);
            barrier
        };
        self.wait_durable(barrier).await
    }

    /// The names of all tables, sorted.
    pub(super) fn table_names(&self) -> Vec<String> {
        self.catalog.read().names()
    }
}
