//! The tables of a store and their ids. An id is never reused.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::codec::Malformed;
use crate::spec::TableSpec;

/// Prefix of the meta keys of tables.
pub(super) const TABLE_PREFIX: u8 = b'c';
/// Prefix of the meta keys of dropped tables whose items are yet to be removed.
pub(super) const DROPPED_PREFIX: u8 = b'd';
/// Prefix of the meta keys of idempotency tokens.
pub(super) const TOKEN_PREFIX: u8 = b't';

/// A table.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Table {
    /// The table's id, the prefix of its keys.
    pub(super) id: u32,
    /// The table's schema.
    pub(super) spec: TableSpec,
}

/// All tables.
#[derive(Debug, Default, Clone)]
pub(super) struct Catalog {
    by_name: HashMap<String, Arc<Table>>,
    by_id: BTreeMap<u32, Arc<Table>>,
    next_id: u32,
}

impl Catalog {
    /// The table called `name`.
    pub(super) fn find(&self, name: &str) -> Option<&Arc<Table>> {
        self.by_name.get(name)
    }

    /// The table with this id.
    pub(super) fn by_id(&self, id: u32) -> Option<&Arc<Table>> {
        self.by_id.get(&id)
    }

    /// The names of all tables, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.by_name.keys().cloned().collect();
        names.sort();
        names
    }

    /// The id that the next table gets.
    pub(super) fn next_id(&self) -> u32 {
        self.next_id.max(1)
    }

    /// Applies an entry of the meta space; entries of other kinds are ignored.
    pub(super) fn apply(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Malformed> {
        match (key.split_first(), value) {
            (Some((&TABLE_PREFIX, _)), Some(value)) => {
                let table: Table = serde_json::from_slice(value)
                    .map_err(|_| Malformed("a table declaration that cannot be read"))?;
                self.next_id = self.next_id.max(table.id + 1);
                let table = Arc::new(table);
                self.by_id.insert(table.id, Arc::clone(&table));
                self.by_name.insert(table.spec.name.clone(), table);
            }
            (Some((&TABLE_PREFIX, name)), None) => {
                let name = String::from_utf8_lossy(name);
                if let Some(table) = self.by_name.remove(name.as_ref()) {
                    self.by_id.remove(&table.id);
                }
            }
            (Some((&DROPPED_PREFIX, id)), Some(_)) => {
                let id =
                    id.try_into().map(u32::from_be_bytes).map_err(|_| Malformed("a table id"))?;
                self.next_id = self.next_id.max(id + 1);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The meta key of a table.
pub(super) fn table_key(name: &str) -> Vec<u8> {
    [&[TABLE_PREFIX], name.as_bytes()].concat()
}

/// The meta key of a dropped table.
pub(super) fn dropped_key(id: u32) -> Vec<u8> {
    [[DROPPED_PREFIX].as_slice(), &id.to_be_bytes()].concat()
}

/// The meta key of an idempotency token.
pub(super) fn token_key(token: &str) -> Vec<u8> {
    [&[TOKEN_PREFIX], token.as_bytes()].concat()
}
