//! Writes to PostgreSQL what only our table has, or has newer. Rows that were changed later in PostgreSQL stay.

use weir_table::Backend;

use super::Migration;
use super::entity::Entity;
use super::error::Result;
use super::record_key::RecordKey;
use super::row_ids;
use super::select::has_bookkeeping;
use super::write_back::{TOGETHER, WriteBackMode, WriteCounts, WrittenBack};
use crate::import::OnDifference;

/// How to roll back.
#[derive(Debug, Clone, Copy, Default)]
pub struct RollbackOptions {
    /// Count, and write nothing.
    pub dry_run: bool,
}

/// The result of a rollback.
#[derive(Debug, Clone, Default)]
pub struct RollbackReport {
    /// The outcomes of the records of each table.
    pub tables: Vec<(Entity, WriteCounts)>,
    /// Records that PostgreSQL refused, and why; the first of them only if there are many.
    pub refused: Vec<(RecordKey, String)>,
}

impl RollbackReport {
    /// Rows that were inserted or updated, or would be.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.tables.iter().map(|(_, counts)| counts.inserted + counts.updated).sum()
    }
}

impl<B: Backend> Migration<B> {
    /// Writes back all records that differ. `progress` gets the number of records compared so far.
    ///
    /// # Errors
    /// Either side fails. The same call again changes only what is left.
    pub async fn rollback(
        &self,
        options: RollbackOptions,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<RollbackReport> {
        let mut client = self.source().connect().await?;
        if !options.dry_run && !has_bookkeeping(&client).await? {
            row_ids::prepare(&client).await?;
        }
        let mode = WriteBackMode {
            on: OnDifference::ReplaceUnlessNewer,
            dry_run: options.dry_run,
            is_echo: true,
            skips_queued: self.queue_status().await?.is_some(),
        };
        let mut written = WrittenBack::default();
        let mut scan = self.scan(self.usage_since_ms());
        let mut done = 0;
        while let Some(page) = self.next_page(&mut scan).await? {
            for some in page.chunks(TOGETHER) {
                let mut records = Vec::with_capacity(some.len());
                for (key, item) in some {
                    if !self.is_spare_default(key, item).await? {
                        records.extend(self.read_item(item).await?);
                    }
                }
                records.sort_by(|(left, _), (right, _)| left.cmp(right));
                self.write_back(&mut client, &records, mode, &mut written).await?;
                done += some.len() as u64;
                progress(done);
            }
        }
        Ok(RollbackReport {
            tables: written.counts.into_iter().collect(),
            refused: written.refused,
        })
    }
}
