//! Writes records back to PostgreSQL: those that differ, in one transaction. If PostgreSQL refuses one of them, each is
//! written alone, so that the others arrive.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::{Client, Transaction};
use weir_table::Backend;

use super::Migration;
use super::entity::Entity;
use super::error::{Error, Result};
use super::record::Record;
use super::record_key::RecordKey;
use super::select::Lock;
use crate::import::{Imported, OnDifference, Step, step};

/// Records that are written in one transaction.
pub(super) const TOGETHER: usize = 100;

/// Counts of records by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct WriteCounts {
    /// New rows.
    pub inserted: u64,
    /// Rows that differed.
    pub updated: u64,
    /// Rows that were the same.
    pub unchanged: u64,
    /// Rows that were changed later, or wait in the queue for our table.
    pub kept: u64,
    /// Records that PostgreSQL refused.
    pub refused: u64,
}

/// The result of writing back.
#[derive(Debug, Clone, Default)]
pub(super) struct WrittenBack {
    pub(super) counts: BTreeMap<Entity, WriteCounts>,
    /// Records that PostgreSQL refused, and why.
    pub(super) refused: Vec<(RecordKey, String)>,
    /// Records that were inserted because others refer to them, and that have not been met yet. They are counted already.
    parents: BTreeSet<RecordKey>,
}

/// The records that one transaction has written.
#[derive(Debug, Default)]
struct Batch {
    counts: BTreeMap<Entity, WriteCounts>,
    parents: Vec<RecordKey>,
}

/// The writer, and the rows that it may overwrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WriteBackMode {
    pub(super) on: OnDifference,
    /// Count, and write nothing.
    pub(super) dry_run: bool,
    /// Whether the queue for our table ignores these writes.
    pub(super) is_echo: bool,
    /// Whether rows that wait in that queue stay as they are.
    pub(super) skips_queued: bool,
}

impl<B: Backend> Migration<B> {
    /// Writes records that differ from their rows.
    pub(super) async fn write_back(
        &self,
        client: &mut Client,
        records: &[(RecordKey, Record)],
        mode: WriteBackMode,
        into: &mut WrittenBack,
    ) -> Result<()> {
        for some in records.chunks(TOGETHER) {
            match self.write_together(client, some, mode, &into.parents).await {
                Ok(batch) => into.add(some, batch),
                Err(error) if error.is_of_record() => {
                    for one in some {
                        let alone = std::slice::from_ref(one);
                        match self.write_together(client, alone, mode, &into.parents).await {
                            Ok(batch) => into.add(alone, batch),
                            Err(error) if error.is_of_record() => into.refuse(&one.0, &error),
                            Err(error) => return Err(error),
                        }
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn write_together(
        &self,
        client: &mut Client,
        records: &[(RecordKey, Record)],
        mode: WriteBackMode,
        counted: &BTreeSet<RecordKey>,
    ) -> Result<Batch> {
        let transaction = client.transaction().await?;
        if mode.is_echo {
            transaction.batch_execute("SET LOCAL weir.applier = 'on'").await?;
        }
        let keys: Vec<RecordKey> = records.iter().map(|(key, _)| key.clone()).collect();
        let lock = if mode.dry_run { Lock::No } else { Lock::ForUpdate };
        let found = self.load_rows(&transaction, &keys, lock).await?;
        let mut batch = Batch::default();
        for (key, record) in records {
            let counts = batch.counts.entry(key.entity()).or_default();
            let row = found.get(key);
            let stored = row.map(|(_, stored)| {
                (stored.is_same(record), stored.updated_s().unwrap_or(i64::MIN))
            });
            let step = step(stored, record.updated_s().unwrap_or_default(), mode.on);
            match (step, row) {
                (Step::Done(Imported::Unchanged), _) if counted.contains(key) => {}
                (Step::Done(Imported::Unchanged), _) => counts.unchanged += 1,
                (Step::Done(_), _) => counts.kept += 1,
                (Step::Write, Some((row, _)))
                    if mode.skips_queued && is_queued(&transaction, key.entity(), *row).await? =>
                {
                    counts.kept += 1;
                }
                (Step::Write, row) => {
                    if !mode.dry_run {
                        let row = row.map(|(row, _)| *row);
                        self.upsert(&transaction, record, row, &mut batch.parents).await?;
                    }
                    *if row.is_some() { &mut counts.updated } else { &mut counts.inserted } += 1;
                }
            }
        }
        transaction.commit().await?;
        Ok(batch)
    }
}

/// Whether a row waits in the queue for our table. Rows are locked, so none joins it meanwhile.
pub(super) async fn is_queued(
    transaction: &Transaction<'_>,
    entity: Entity,
    row: i64,
) -> Result<bool> {
    let text = "SELECT EXISTS (SELECT 1 FROM weir_missed WHERE entity = $1 AND row_id = $2)";
    Ok(transaction.query_one(text, &[&entity.table(), &row]).await?.try_get(0)?)
}

impl WrittenBack {
    /// Adds what became of `records`, and of those that had to be inserted before them.
    fn add(&mut self, records: &[(RecordKey, Record)], batch: Batch) {
        for (entity, more) in &batch.counts {
            let sum = self.counts.entry(*entity).or_default();
            sum.inserted += more.inserted;
            sum.updated += more.updated;
            sum.unchanged += more.unchanged;
            sum.kept += more.kept;
        }
        for (key, _) in records {
            self.parents.remove(key);
        }
        for key in batch.parents {
            self.counts.entry(key.entity()).or_default().inserted += 1;
            self.parents.insert(key);
        }
    }

    /// Notes a record that PostgreSQL refused.
    pub(super) fn refuse(&mut self, key: &RecordKey, error: &Error) {
        self.counts.entry(key.entity()).or_default().refused += 1;
        if self.refused.len() < crate::bounds::DIFFERENCES_MAX {
            self.refused.push((key.clone(), error.to_string()));
        }
    }

    /// Rows that were inserted or updated.
    pub(super) fn written(&self) -> u64 {
        self.counts.values().map(|counts| counts.inserted + counts.updated).sum()
    }
}
