//! A writer for applications that are on their way: it writes to our table, and to PostgreSQL when our table is down. What
//! the other side misses is in its queue.

use std::collections::HashSet;

use parking_lot::Mutex;
use weir_table::Backend;

use super::super::Migration;
use super::super::error::{Error, Result};
use super::super::record::Record;
use super::super::record_key::RecordKey;
use super::super::write_back::{WriteBackMode, WrittenBack};
use crate::import::OnDifference;

/// The side that has a write, and will hand it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenTo {
    /// Our table; its change feed brings it to PostgreSQL.
    Table,
    /// PostgreSQL; its queue brings it to our table.
    Postgres,
}

/// Writes records to one side or the other.
#[derive(Debug)]
pub struct DualWriter<B> {
    migration: Migration<B>,
    /// Records that this process wrote to PostgreSQL, and our table may not have yet.
    behind: Mutex<HashSet<RecordKey>>,
}

impl<B: Backend> DualWriter<B> {
    /// A writer. Dual-write is on already ([`DualWrite::start`](super::DualWrite::start)).
    #[must_use]
    pub fn new(migration: Migration<B>) -> DualWriter<B> {
        DualWriter { migration, behind: Mutex::default() }
    }

    /// Writes a record as it is now, whatever is stored.
    ///
    /// # Errors
    /// A field is invalid, or both sides fail; then nothing is written, as far as anyone knows.
    pub async fn put(&self, record: &Record) -> Result<WrittenTo> {
        record.check()?;
        let key = record.key(&self.migration.practice().settings().zone);
        if self.catch_up(&key).await {
            match self.migration.import(vec![(0, record.clone())], OnDifference::Replace).await {
                Ok(result) => {
                    return match result.refused.into_iter().next() {
                        Some((_, error)) => Err(error.into()),
                        None => Ok(WrittenTo::Table),
                    };
                }
                Err(error) if error.is_unavailable() => {}
                Err(error) => return Err(error),
            }
        }
        self.put_to_postgres(&key, record).await
    }

    /// Whether our table has everything that this process wrote of a record. Otherwise an entry of the queue would come after
    /// a later write.
    async fn catch_up(&self, key: &RecordKey) -> bool {
        if !self.behind.lock().contains(key) {
            return true;
        }
        let is_current = self.migration.replay().await.is_ok_and(|replayed| replayed.is_empty);
        if is_current {
            self.behind.lock().clear();
        }
        is_current
    }

    async fn put_to_postgres(&self, key: &RecordKey, record: &Record) -> Result<WrittenTo> {
        let mut client = self.migration.source().connect().await?;
        let mode = WriteBackMode {
            on: OnDifference::Replace,
            dry_run: false,
            is_echo: false,
            skips_queued: false,
        };
        let mut written = WrittenBack::default();
        // Noted before it is written: the answer may be lost.
        self.behind.lock().insert(key.clone());
        let records = [(key.clone(), record.clone())];
        self.migration.write_back(&mut client, &records, mode, &mut written).await?;
        match written.refused.into_iter().next() {
            Some((_, message)) => Err(Error::Refused { message, is_data: true }),
            None => Ok(WrittenTo::Postgres),
        }
    }
}
