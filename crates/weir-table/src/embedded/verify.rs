//! Verifies a store: every item has its index and expiry entries, and every entry has its item.
//!
//! It reads a snapshot at one sequence number, like a backup, so writers continue meanwhile.

use std::sync::Arc;

use super::base::Snapshot;
use super::catalog::{Catalog, Table};
use super::change::{self, ItemChange};
use super::dirty::{Payload, Space};
use super::engine::Engine;
use super::keys;
use super::read;
use crate::error::{Error, Result};

/// Problems that are reported.
const PROBLEMS_MAX: usize = 100;

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Sequence number of the verified snapshot.
    pub seq: u64,
    /// Number of items checked.
    pub items: u64,
    /// Number of index entries checked.
    pub index_entries: u64,
    /// Number of expiry entries checked.
    pub ttl_entries: u64,
    /// Inconsistencies, at most 100; empty if the store is sound.
    pub problems: Vec<String>,
}

impl Verification {
    /// Whether no inconsistency was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    fn problem(&mut self, what: String) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(what);
        }
    }
}

/// A snapshot with its catalog.
pub(super) struct StoreView {
    pub(super) snapshot: Snapshot,
    pub(super) catalog: Arc<Catalog>,
}

impl Engine {
    /// Checks indexes and expiry entries against items. Blocks; the store stays in use.
    pub(super) fn verify(&self) -> Result<Verification> {
        let (view, seq) = {
            let _no_fold = self.checkpointing.lock();
            self.fold_active()?;
            let catalog = Arc::clone(&self.catalog.read());
            let snapshot = self.base.snapshot()?;
            (StoreView { snapshot, catalog }, self.base.applied()?)
        };
        let mut found = Verification { seq, ..Verification::default() };
        view.check_items(&mut found)?;
        view.check_index(&mut found)?;
        view.check_ttl(&mut found)?;
        Ok(found)
    }
}

impl StoreView {
    /// The table of a key; `None` if it was deleted.
    fn table(&self, key: &[u8]) -> Option<&Arc<Table>> {
        let id = key.get(..4)?.try_into().map(u32::from_be_bytes).ok()?;
        self.catalog.by_id(id)
    }

    /// The item at `key`, as the change that creates it.
    fn creation(&self, table: &Arc<Table>, key: &[u8]) -> Result<Option<ItemChange>> {
        let bytes = self.snapshot.get(Space::Items, key)?;
        let Some(new) = bytes.map(|bytes| read::decode(Arc::from(&*bytes))).transpose()? else {
            return Ok(None);
        };
        Ok(Some(ItemChange {
            table: Arc::clone(table),
            key: key.to_vec(),
            old: change::Before::Nothing,
            new: Some(new),
            expired: false,
        }))
    }

    pub(super) fn check_items(&self, found: &mut Verification) -> Result<()> {
        for next in self.snapshot.entries(Space::Items) {
            let (key, _) = next?;
            let Some(table) = self.table(&key) else {
                continue;
            };
            let Some(creation) = self.creation(table, &key)? else {
                continue;
            };
            found.items += 1;
            let mut outcome = Ok(());
            change::side_entries(&creation, |(space, place, payload)| {
                if outcome.is_ok() {
                    outcome = self.check_entry(&creation, space, &place, &payload, found);
                }
            });
            outcome?;
        }
        Ok(())
    }

    fn check_entry(
        &self,
        creation: &ItemChange,
        space: Space,
        place: &[u8],
        payload: &Payload,
        found: &mut Verification,
    ) -> Result<()> {
        let stored = self.snapshot.get(space, place)?;
        if stored.as_deref() != payload.bytes() {
            let state = if stored.is_some() { "differs" } else { "is missing" };
            found.problem(format!("{}: the {space:?} entry {state}", name(creation)));
        }
        Ok(())
    }

    pub(super) fn check_index(&self, found: &mut Verification) -> Result<()> {
        for next in self.snapshot.entries(Space::Index) {
            let (place, value) = next?;
            let Some(table) = self.table(&place) else {
                continue;
            };
            found.index_entries += 1;
            let entry = read::decode_item(&value)?;
            let key = keys::item(table.id, &table.spec.key_of(&entry)?);
            let is_made = self.makes(table, &key, Space::Index, &place)?;
            if !is_made {
                let table = &table.spec.name;
                found.problem(format!("{table}: an index entry {entry:?} has no item"));
            }
        }
        Ok(())
    }

    pub(super) fn check_ttl(&self, found: &mut Verification) -> Result<()> {
        for next in self.snapshot.entries(Space::Ttl) {
            let (place, _) = next?;
            let key = place
                .get(8..)
                .ok_or_else(|| Error::backend("checking expiry entries", "one is too short"))?;
            let Some(table) = self.table(key) else {
                continue;
            };
            found.ttl_entries += 1;
            if !self.makes(table, key, Space::Ttl, &place)? {
                let table = &table.spec.name;
                found.problem(format!("{table}: an expiry entry {place:?} has no item"));
            }
        }
        Ok(())
    }

    /// Whether the item at `key` has an entry at `place`.
    fn makes(&self, table: &Arc<Table>, key: &[u8], space: Space, place: &[u8]) -> Result<bool> {
        let Some(creation) = self.creation(table, key)? else {
            return Ok(false);
        };
        let mut is_made = false;
        change::side_entries(&creation, |(in_space, at, _)| {
            is_made |= in_space == space && at == place;
        });
        Ok(is_made)
    }
}

fn name(creation: &ItemChange) -> String {
    let spec = &creation.table.spec;
    let key = creation.new.as_ref().map(|new| spec.key_of(&new.item));
    match key {
        Some(Ok(key)) => format!("{} {key}", spec.name),
        _ => format!("{} {:?}", spec.name, creation.key),
    }
}
