//! Writes changes of our table to PostgreSQL. The position in the feed moves after PostgreSQL has committed, so a change is
//! applied at least once.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::Client;
use weir_table::feed::Change;
use weir_table::{Backend, KeyValue};

use super::super::Migration;
use super::super::error::Result;
use super::super::record_key::RecordKey;
use super::super::write_back::{TOGETHER, WriteBackMode, WrittenBack};
use super::forget::WhenQueued;
use super::{DualWrite, DualWriteReport};
use crate::import::OnDifference;

/// Changes that are read at once.
const READ_MAX: usize = 500;
/// Records of a window, unless an earlier attempt began with more.
const WINDOW_RECORDS: usize = 2_000;
/// Windows of a run.
const WINDOWS_MAX: usize = 1_000;

/// Over whatever PostgreSQL has: what it has newer waits in the queue for our table.
pub(super) const APPLY: WriteBackMode =
    WriteBackMode { on: OnDifference::Replace, dry_run: false, is_echo: true, skips_queued: true };

/// Records that changed, and whether the last change was an expiry.
type Dirty = BTreeMap<RecordKey, bool>;

impl<B: Backend> DualWrite<B> {
    pub(super) async fn apply_feed(&mut self, report: &mut DualWriteReport) -> Result<()> {
        let mut client = None;
        for _ in 0..WINDOWS_MAX {
            let found = self.consumer.next_window(READ_MAX, &BTreeSet::new()).await?;
            let Some(mut window) = found else { break };
            let mut dirty = Dirty::new();
            loop {
                let changes = self.consumer.read(&mut window, READ_MAX).await?;
                if changes.is_empty() {
                    break;
                }
                changes.iter().for_each(|change| add(&mut dirty, change));
                if dirty.len() >= WINDOW_RECORDS && window.is_open() {
                    break;
                }
            }
            if !dirty.is_empty() {
                let client = match &mut client {
                    Some(client) => client,
                    none => none.insert(self.migration.source().connect().await?),
                };
                self.migration.apply(client, dirty, report).await?;
            }
            self.consumer.commit(window, Vec::new()).await?;
        }
        Ok(())
    }
}

impl<B: Backend> Migration<B> {
    async fn apply(
        &self,
        client: &mut Client,
        dirty: Dirty,
        report: &mut DualWriteReport,
    ) -> Result<()> {
        let keys: Vec<RecordKey> = dirty.keys().cloned().collect();
        let mut gone = Vec::new();
        for some in keys.chunks(TOGETHER) {
            let mut loaded = self.load(some).await?;
            let mut records = Vec::with_capacity(some.len());
            for key in some {
                match loaded.remove(key) {
                    Some(record) => records.push((key.clone(), record)),
                    None => gone.push(key.clone()),
                }
            }
            let mut written = WrittenBack::default();
            self.write_back(client, &records, APPLY, &mut written).await?;
            report.applied += written.written();
            report.refused_by_postgres.extend(written.refused);
        }
        gone.retain(|key| !dirty.get(key).copied().unwrap_or_default());
        self.forget_rows(client, &gone, report).await
    }

    /// Deletes the rows of records that our table no longer has. Others go on when PostgreSQL refuses one.
    async fn forget_rows(
        &self,
        client: &mut Client,
        gone: &[RecordKey],
        report: &mut DualWriteReport,
    ) -> Result<()> {
        let mut written = WrittenBack::default();
        // Those that refer to others go first.
        for key in gone.iter().rev() {
            match self.forget_row(client, key, WhenQueued::of(key)).await {
                Ok(is_changed) => report.applied += u64::from(is_changed),
                Err(error) if error.is_of_record() => written.refuse(key, &error),
                Err(error) => return Err(error),
            }
        }
        report.refused_by_postgres.extend(written.refused);
        Ok(())
    }
}

fn add(dirty: &mut Dirty, change: &Change) {
    let partition = change.key.partition.to_value();
    let sort = change.key.sort.as_ref().map(KeyValue::to_value);
    let sort = sort.as_ref().and_then(|sort| sort.as_s());
    let key =
        partition.as_s().zip(sort).and_then(|(partition, sort)| RecordKey::parse(partition, sort));
    if let Some(key) = key {
        dirty.insert(key, change.expired);
    }
}
