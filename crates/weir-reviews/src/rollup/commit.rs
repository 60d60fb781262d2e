//! Writes a day: what changed, what is gone, and its new version.

use std::collections::BTreeMap;

use weir_calendar::Day;
use weir_table::expr::attr;
use weir_table::retry::TransactOptions;
use weir_table::{Backend, Item, Store, Write};

use super::RollupTable;
use super::day_rollup::DayRollup;
use super::items::{VERSION, sort_key};
use super::keys::{self, Level, Part};
use super::read::{stored_day, sum_repositories, sum_summaries};
use super::writes::mark_write;
use crate::bounds::{ROLLUP_COMMIT_BYTES_MAX, ROLLUP_COMMIT_ITEMS_MAX};
use crate::error::Result;

/// The result of a pass over a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// The day equals its sources, after so many items were put and deleted.
    Committed {
        /// Items put.
        put: u64,
        /// Items deleted.
        deleted: u64,
    },
    /// Another pass was faster.
    Contended,
}

/// Computes a day from its sources, and writes what changed.
pub(super) async fn roll_up<B: Backend>(
    store: &Store<B>,
    table: &RollupTable,
    level: &Level,
    day: Day,
    now_ms: i64,
) -> Result<Pass> {
    // The version is read before the sources, so a pass that read them later has another one.
    let stored = stored_day(store, table, level, day).await?;
    let sum = match level {
        Level::Repository(owner, repo) => sum_summaries(store, table, owner, repo, day).await?,
        Level::All => sum_repositories(store, table, day).await?,
    };
    let changes = Changes::new(table, level, day, stored, &sum)?;
    let (put, deleted) = (changes.put.len() as u64, changes.deleted.len() as u64);
    let is_committed = changes.commit(store, table, level, day, now_ms).await?;
    Ok(if is_committed { Pass::Committed { put, deleted } } else { Pass::Contended })
}

/// The difference between what is stored of a day and what should be.
struct Changes {
    version: Option<i64>,
    put: Vec<Item>,
    deleted: Vec<Item>,
}

impl Changes {
    fn new(
        table: &RollupTable,
        level: &Level,
        day: Day,
        mut stored: BTreeMap<String, Item>,
        sum: &DayRollup,
    ) -> Result<Changes> {
        let is_version = |sk: &String| keys::parse_part(level, sk) == Some(Part::Version);
        let version_key = stored.keys().find(|sk| is_version(sk)).cloned();
        let version =
            version_key.and_then(|sk| stored.remove(&sk)).and_then(|item| item.i64(VERSION));
        let mut put = Vec::new();
        for item in table.day_items(level, day, sum)? {
            if stored.remove(sort_key(&item)?).as_ref() != Some(&item) {
                put.push(item);
            }
        }
        Ok(Changes { version, put, deleted: stored.into_values().collect() })
    }

    /// Writes the changes with the new version; false if another pass was faster. More than a transaction takes are
    /// written in several, each with a version of its own.
    async fn commit<B: Backend>(
        self,
        store: &Store<B>,
        table: &RollupTable,
        level: &Level,
        day: Day,
        now_ms: i64,
    ) -> Result<bool> {
        let mut version = self.version;
        for mut writes in self.transactions(table)? {
            let next = version.unwrap_or(0).saturating_add(1);
            if !writes.is_empty() && *level != Level::All {
                writes.push(mark_write(&Level::All, day, table, now_ms));
            }
            writes.push(raise(table, level, day, version, next));
            // A power cut that undoes this also undoes what follows in the log, and that is where the marks are cleared.
            let writes = writes.into_iter().map(Write::flushed).collect();
            // The token of the transaction makes a lost response harmless; a lost race is a refused version.
            let options = TransactOptions::default();
            if !store.transact_with_retry(writes, options).await?.is_applied() {
                return Ok(false);
            }
            version = Some(next);
        }
        Ok(true)
    }

    /// The changes in parts that fit in a transaction; one empty part if there are none.
    fn transactions(self, table: &RollupTable) -> Result<Vec<Vec<Write>>> {
        let mut parts = vec![Vec::new()];
        let mut bytes = 0;
        let sized =
            self.put.into_iter().map(|item| (item.size(), Write::put(table.name.clone(), item)));
        let mut writes: Vec<(usize, Write)> = sized.collect();
        for item in &self.deleted {
            writes.push((item.size(), Write::delete(table.name.clone(), key_of(item)?)));
        }
        for (size, write) in writes {
            let is_full =
                parts.last().is_some_and(|part: &Vec<Write>| part.len() >= ROLLUP_COMMIT_ITEMS_MAX);
            if is_full || bytes + size > ROLLUP_COMMIT_BYTES_MAX {
                parts.push(Vec::new());
                bytes = 0;
            }
            bytes += size;
            if let Some(part) = parts.last_mut() {
                part.push(write);
            }
        }
        Ok(parts)
    }
}

/// Raises the version of a day, if it is still the one that was read.
fn raise(table: &RollupTable, level: &Level, day: Day, read: Option<i64>, next: i64) -> Write {
    let item = table.item(keys::part(level, day, &Part::Version), "ROLLUP_VERSION", day);
    let condition = match read {
        Some(version) => attr(VERSION).eq(version),
        None => attr(VERSION).absent(),
    };
    Write::put(table.name.clone(), item.with(VERSION, next)).when(condition)
}

/// The key of a stored item.
pub(super) fn key_of(item: &Item) -> Result<weir_table::Key> {
    let pk = item.s("PK").unwrap_or_default();
    Ok(weir_table::Key::new(pk, sort_key(item)?))
}
