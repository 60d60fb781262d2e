//! Making and deleting tables: commits like any other, of facts in the meta space.

use std::sync::Arc;

use super::catalog::{Catalog, Table, dropped_key, table_key};
use super::change::MetaChange;
use super::engine::{Engine, Rests};
use crate::error::{Error, Result};
use crate::request::Durability;
use crate::spec::TableSpec;

impl Engine {
    /// Makes a table; one that exists is left as it is.
    pub(super) async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        let _one_at_a_time = self.altering.lock().await;
        if self.find_table(&spec.name).is_some() {
            return Ok(());
        }
        let id = self.catalog.read().next_id();
        let table = serde_json::to_vec(&Table { id, spec: spec.clone() })
            .map_err(|source| Error::backend("writing a table's declaration", source))?;
        let fact = MetaChange { key: table_key(&spec.name), value: Some(Arc::from(table)) };
        self.alter(vec![fact]).await
    }

    /// Deletes a table. Its items are no longer reachable at once, and removed with time.
    pub(super) async fn delete_table(&self, name: &str) -> Result<()> {
        let _one_at_a_time = self.altering.lock().await;
        let table = self.table(name)?;
        let gone = MetaChange { key: table_key(name), value: None };
        let dropped = MetaChange { key: dropped_key(table.id), value: Some(Arc::from(*b"")) };
        self.alter(vec![gone, dropped]).await
    }

    async fn alter(&self, facts: Vec<MetaChange>) -> Result<()> {
        let rests = {
            let gate = self.generations.read();
            let mut catalog = Catalog::clone(&self.catalog.read());
            for fact in &facts {
                catalog
                    .note(&fact.key, fact.value.as_deref())
                    .map_err(|source| Error::backend("noting a table", source))?;
            }
            let now_ms = self.options.clock.now_ms();
            let nothing = Rests::default();
            let rests = self.publish(&gate, &[], &facts, Durability::Synced, nothing, now_ms)?;
            *self.catalog.write() = Arc::new(catalog);
            rests
        };
        self.settle(rests).await
    }

    /// The names of all tables, sorted.
    pub(super) fn table_names(&self) -> Vec<String> {
        self.catalog.read().names()
    }
}
