//! Reads everything that can be read of a damaged store into a new one.
//!
//! 1. Declarations of tables come from the base store, or from the log where the base store's cannot be read.
//! 2. Commits that follow the base store are replayed into its copy, around the gaps of the log.
//! 3. Items are copied bucket by bucket, around blocks that cannot be read. Index and expiry entries are built anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::damage::{Damage, Effect};
use super::verify::with_cause;
use crate::embedded::base::Base;
use crate::embedded::catalog::{Catalog, DROPPED_PREFIX, TABLE_PREFIX, Table, table_key};
use crate::embedded::change::{self, Before, ItemChange};
use crate::embedded::checkpoint;
use crate::embedded::dirty::{Generation, Space};
use crate::embedded::keys::KeyRange;
use crate::embedded::log::inspect::{self, Inspected};
use crate::embedded::{raw, read};
use crate::error::{Error, Result};

/// Memory for replayed commits that are not yet folded.
const DIRTY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Entries loaded in one batch.
const LOAD_CHUNK: usize = 10_000;
/// Keys of the base store's own, which a new one has already.
const OWN_KEYS: &[u8] = b"applied";

/// What was read of a damaged store.
#[derive(Debug, Default)]
pub(super) struct Salvaged {
    pub(super) seq: u64,
    pub(super) tables: u64,
    pub(super) items: u64,
    pub(super) replayed: u64,
    pub(super) losses: Vec<Damage>,
    /// Items and changes in the log of tables that are not declared, by the table's id.
    undeclared: BTreeMap<u32, (u64, u64)>,
}

/// A damaged store.
pub(super) struct Source<'a> {
    /// The data folder.
    pub(super) dir: &'a Path,
    /// A copy of its base store, in which unreadable keyspaces are empty.
    pub(super) base: Base,
    pub(super) applied: u64,
    pub(super) has_meta: bool,
}

type Entries = Vec<(Space, Vec<u8>, Vec<u8>)>;

impl Source<'_> {
    /// Reads everything into the new base store `to`. Calls `progress` with bytes of the log that were read.
    pub(super) fn read_into(&self, to: &Base, progress: &dyn Fn(u64)) -> Result<Salvaged> {
        let mut salvaged = Salvaged::default();
        let mut catalog = self.declarations(&mut salvaged)?;
        let log = self.replay(&mut catalog, &mut salvaged, progress)?;
        salvaged.seq = log.last_seq.max(self.applied);
        let mut target = Target { base: to, entries: Entries::new() };
        let dropped = self.copy_meta(&catalog, &mut target)?;
        for name in catalog.names() {
            if let Some(table) = catalog.find(&name) {
                self.copy_items(table, &mut target, &mut salvaged)?;
                salvaged.tables += 1;
            }
        }
        self.count_undeclared(&catalog, &dropped, &mut salvaged)?;
        target.finish(salvaged.seq)?;
        Ok(salvaged)
    }

    fn lost(&self, part: &str, what: impl Into<String>) -> Damage {
        Damage::new(&self.dir.join(part), Effect::Lost, what)
    }

    /// The tables as of `applied`.
    fn declarations(&self, salvaged: &mut Salvaged) -> Result<Catalog> {
        let mut logged = Catalog::default();
        let note = |header: &crate::embedded::log::record::Header, body: &[u8]| {
            if header.seq <= self.applied || !self.has_meta {
                let parsed = raw::parse(body).map(|body| body.meta).unwrap_or_default();
                // A declaration that cannot be read is reported if the base store has none either.
                for (key, value) in parsed {
                    let _ = logged.apply(key, value);
                }
            }
            Ok(())
        };
        inspect::inspect(&self.dir.join("log"), note, |_| {})?;
        if !self.has_meta {
            let what =
                "the base store's metadata is unreadable: tables are those that the log declares";
            salvaged.losses.push(self.lost("store", what));
            return Ok(logged);
        }
        let mut catalog = Catalog::default();
        let all = KeyRange { low: Vec::new(), high: vec![0xff; 8] };
        let mut unreadable = Vec::new();
        let failure = self.base.walk(Space::Meta, &all, |key, value| {
            if catalog.apply(key, Some(value)).is_err() {
                unreadable
                    .push(String::from_utf8_lossy(key.get(1..).unwrap_or_default()).into_owned());
            }
            Ok(())
        })?;
        if let Some(error) = failure {
            salvaged.losses.push(self.lost("store", with_cause(&error)));
        }
        for name in unreadable {
            match logged.find(&name).and_then(|table| encode(table)) {
                Some(value) if catalog.apply(&table_key(&name), Some(&value)).is_ok() => {}
                _ => {
                    let what = format!("the declaration of table {name:?} cannot be read");
                    salvaged.losses.push(self.lost("store", what));
                }
            }
        }
        Ok(catalog)
    }

    /// Replays the log after `applied` into the copy of the base store.
    fn replay(
        &self,
        catalog: &mut Catalog,
        salvaged: &mut Salvaged,
        progress: &dyn Fn(u64),
    ) -> Result<Inspected> {
        let mut generation = Generation::default();
        let mut unreadable = Vec::new();
        let each = |header: &crate::embedded::log::record::Header, body: &[u8]| {
            if header.seq <= self.applied {
                return Ok(());
            }
            match checkpoint::replay(catalog, &generation, header, body) {
                Ok(()) => salvaged.replayed += 1,
                Err(error) => unreadable.push(with_cause(&error)),
            }
            for id in raw::parse(body).iter().flat_map(|body| &body.changes).filter_map(table_of) {
                if catalog.by_id(id).is_none() {
                    salvaged.undeclared.entry(id).or_default().1 += 1;
                }
            }
            if generation.bytes() > DIRTY_BYTES_MAX {
                self.base.fold(&generation, header.seq)?;
                generation = Generation::default();
            }
            Ok(())
        };
        let log = inspect::inspect(&self.dir.join("log"), each, progress)?;
        self.base.fold(&generation, log.last_seq.max(self.applied))?;
        let gaps = log.gaps.iter().map(|gap| Damage::of_gap(gap, &log, self.applied));
        salvaged.losses.extend(gaps.filter(|damage| damage.effect == Effect::Lost));
        if log.first_seq > self.applied + 1 {
            let what = format!(
                "commits {} to {} are neither in the base store nor in the log",
                self.applied + 1,
                log.first_seq - 1
            );
            salvaged.losses.push(self.lost("log", what));
        }
        salvaged.losses.extend(unreadable.into_iter().map(|what| self.lost("log", what)));
        Ok(log)
    }

    /// Copies tokens and the marks of dropped tables, and declares the tables. Returns the ids of dropped tables.
    fn copy_meta(&self, catalog: &Catalog, target: &mut Target<'_>) -> Result<BTreeSet<u32>> {
        let mut dropped = BTreeSet::new();
        let all = KeyRange { low: Vec::new(), high: vec![0xff; 8] };
        // A failure was reported when the declarations were read.
        let _failure = self.base.walk(Space::Meta, &all, |key, value| {
            if key.first() == Some(&TABLE_PREFIX) || key.starts_with(OWN_KEYS) {
                return Ok(());
            }
            if let Some((&DROPPED_PREFIX, id)) = key.split_first() {
                dropped.extend(id.try_into().map(u32::from_be_bytes));
            }
            target.put(Space::Meta, key.to_vec(), value.to_vec())
        })?;
        for name in catalog.names() {
            if let Some(value) = catalog.find(&name).and_then(|table| encode(table)) {
                target.put(Space::Meta, table_key(&name), value)?;
            }
        }
        Ok(dropped)
    }

    fn copy_items(
        &self,
        table: &Arc<Table>,
        target: &mut Target<'_>,
        salvaged: &mut Salvaged,
    ) -> Result<()> {
        let mut undecodable = 0u64;
        for bucket in 0..=u8::MAX {
            let mut prefix = table.id.to_be_bytes().to_vec();
            prefix.push(bucket);
            let failure =
                self.base.walk(Space::Items, &KeyRange::of_prefix(prefix), |key, value| {
                    match read::decode(Arc::from(value)) {
                        Ok(image) => {
                            salvaged.items += 1;
                            target.put_item(table, key, image)
                        }
                        Err(_) => {
                            undecodable += 1;
                            Ok(())
                        }
                    }
                })?;
            if let Some(error) = failure {
                let name = &table.spec.name;
                let what = format!("some items of table {name:?}: {}", with_cause(&error));
                salvaged.losses.push(self.lost("store", what));
            }
        }
        if undecodable > 0 {
            let what = format!("{undecodable} items of table {:?} are malformed", table.spec.name);
            salvaged.losses.push(self.lost("store", what));
        }
        Ok(())
    }

    /// Counts items whose table is not declared, which no one could read.
    fn count_undeclared(
        &self,
        catalog: &Catalog,
        dropped: &BTreeSet<u32>,
        salvaged: &mut Salvaged,
    ) -> Result<()> {
        let names = catalog.names();
        let mut ids: Vec<u32> =
            names.iter().filter_map(|name| catalog.find(name)).map(|table| table.id).collect();
        ids.sort_unstable();
        let counts = &mut salvaged.undeclared;
        let mut low = Vec::new();
        for id in ids.into_iter().map(Some).chain([None]) {
            let high = id.map_or_else(|| vec![0xff; 4], |id| id.to_be_bytes().to_vec());
            let range = KeyRange { low: std::mem::take(&mut low), high };
            // A part that cannot be read adds nothing here: the table file is reported by its checksum.
            let _failure = self.base.walk(Space::Items, &range, |key, _| {
                if let Some(id) = key.get(..4).and_then(|id| id.try_into().ok()) {
                    counts.entry(u32::from_be_bytes(id)).or_default().0 += 1;
                }
                Ok(())
            })?;
            low = id.map_or_else(Vec::new, |id| id.saturating_add(1).to_be_bytes().to_vec());
        }
        let counts = std::mem::take(counts).into_iter().filter(|(id, _)| !dropped.contains(id));
        for (id, (items, changes)) in counts {
            let what = format!(
                "{items} items and {changes} later changes of table number {id}, whose declaration is lost"
            );
            salvaged.losses.push(self.lost("store", what));
        }
        Ok(())
    }
}

fn table_of(change: &raw::RawChange<'_>) -> Option<u32> {
    change.table_id().ok()
}

fn encode(table: &Table) -> Option<Vec<u8>> {
    serde_json::to_vec(table).ok()
}

/// The new base store.
struct Target<'a> {
    base: &'a Base,
    entries: Entries,
}

impl Target<'_> {
    fn put(&mut self, space: Space, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.entries.push((space, key, value));
        if self.entries.len() >= LOAD_CHUNK {
            self.base.load(std::mem::take(&mut self.entries), None)?;
        }
        Ok(())
    }

    /// Puts an item with its index and expiry entries.
    fn put_item(&mut self, table: &Arc<Table>, key: &[u8], image: change::Image) -> Result<()> {
        let bytes = image.bytes.to_vec();
        let change = ItemChange {
            table: Arc::clone(table),
            key: key.to_vec(),
            old: Before::Nothing,
            new: Some(image),
            expired: false,
        };
        let mut result = self.put(Space::Items, key.to_vec(), bytes);
        change::side_entries(&change, |(space, place, payload)| {
            if let (Ok(()), Some(bytes)) = (&result, payload.bytes()) {
                result = self.put(space, place, bytes.to_vec());
            }
        });
        result
    }

    fn finish(self, seq: u64) -> Result<()> {
        self.base.load(self.entries, Some(seq))?;
        self.base.persist()
    }
}

/// Whether opening failed because of damage, so that another attempt with less may succeed.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error, Error::Corrupt { .. })
}
