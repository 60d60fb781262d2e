//! Keeps PostgreSQL and our table equal while either is written. Off unless it is asked for.
//!
//! Each direction has a durable queue that is part of the write itself, so nothing is lost when the other side is down or a
//! process is killed:
//!
//! 1. **To PostgreSQL** the queue is the change feed of our table, with its stored position (`apply`). Changes name records;
//!    what is written is the record as it is now, so a change that is applied twice changes nothing.
//! 2. **To our table** the queue is the table `weir_missed` of PostgreSQL, which triggers fill in the transaction of every
//!    write that is not ours (`replay`). An entry names a row; what is stored is the row as it is now.
//!
//! A row that waits in the second queue is not overwritten by the first: it is newer. [`DualWriter`] writes to our table, and
//! to PostgreSQL when our table is down.

mod apply;
mod forget;
mod install;
mod replay;
mod writer;

use weir_table::feed::{Consumer, POSITIONS_TABLE, Position, positions_spec};
use weir_table::{Backend, clock::Clock};

pub(super) use self::forget::is_anonymous;
pub use self::writer::{DualWriter, WrittenTo};
use super::Migration;
use super::error::{Error, Result};
use super::record_key::RecordKey;
use super::rollback::RollbackOptions;

/// The name of the consumer of our change feed.
pub const CONSUMER: &str = "practice-migrate";

/// Moves changes in both directions. One at a time is enough; several share the work.
#[derive(Debug)]
pub struct DualWrite<B> {
    migration: Migration<B>,
    consumer: Consumer<B>,
}

/// Counts of one run.
#[derive(Debug, Clone, Default)]
pub struct DualWriteReport {
    /// Changes of PostgreSQL that our table has now.
    pub replayed: u64,
    /// Changes of PostgreSQL that our table refused; they stay in the queue.
    pub refused_by_table: u64,
    /// Changes of our table that PostgreSQL has now.
    pub applied: u64,
    /// Changes of our table that PostgreSQL refused, and why.
    pub refused_by_postgres: Vec<(RecordKey, String)>,
    /// Whether the feed had been trimmed, and all records were compared instead.
    pub had_full_pass: bool,
    /// Whether changes of PostgreSQL may wait that this run had no time for.
    pub has_more: bool,
}

impl<B: Backend> DualWrite<B> {
    /// Turns dual-write on: creates the queue and its triggers in PostgreSQL, and begins to follow our change feed. What was
    /// changed before is for a backfill or a rollback. `owner` names this process.
    ///
    /// # Errors
    /// Either side fails.
    pub async fn start(migration: Migration<B>, owner: &str, clock: Clock) -> Result<DualWrite<B>> {
        migration.install_queue().await?;
        let practice = migration.practice();
        let store = practice.store();
        store.ensure_table(&positions_spec(POSITIONS_TABLE)).await?;
        let table = practice.table().to_string();
        let mut consumer = Consumer::new(
            store.clone(),
            table,
            CONSUMER,
            owner,
            POSITIONS_TABLE,
            Position::Latest,
            clock,
        )?;
        // The position of a new consumer is stored now; a window of an old one is read again.
        consumer.next_window(1, &std::collections::BTreeSet::new()).await?;
        Ok(DualWrite { migration, consumer })
    }

    /// Moves what waits in both queues, so much of it that neither direction waits long for the other.
    ///
    /// # Errors
    /// Either side fails; then nothing is lost, and the next run continues.
    pub async fn run_once(&mut self) -> Result<DualWriteReport> {
        let mut report = DualWriteReport::default();
        let replayed = self.migration.replay().await?;
        report.replayed = replayed.replayed;
        report.refused_by_table = replayed.refused;
        report.has_more = !replayed.is_empty;
        match self.apply_feed(&mut report).await {
            Err(error) if is_trimmed(&error) => self.full_pass(&mut report).await?,
            applied => applied?,
        }
        Ok(report)
    }

    /// Compares all records, because changes are missing from the feed.
    async fn full_pass(&mut self, report: &mut DualWriteReport) -> Result<()> {
        self.consumer.restart_from_latest().await?;
        let written =
            self.migration.rollback(RollbackOptions { dry_run: false }, &mut |_| {}).await?;
        report.applied += written.written();
        report.refused_by_postgres.extend(written.refused);
        report.had_full_pass = true;
        Ok(())
    }

    /// Lets another process follow the feed at once.
    ///
    /// # Errors
    /// The store fails; the lease expires.
    pub async fn release(&mut self) -> Result<()> {
        Ok(self.consumer.release().await?)
    }

    /// Turns dual-write off: removes the triggers and the queue, if it is empty.
    ///
    /// # Errors
    /// Changes wait in the queue, or PostgreSQL fails.
    pub async fn stop(migration: &Migration<B>) -> Result<()> {
        migration.remove_queue().await
    }
}

fn is_trimmed(error: &Error) -> bool {
    let Error::Practice(crate::Error::Store(error)) = error else { return false };
    matches!(error, weir_table::Error::Trimmed)
}
