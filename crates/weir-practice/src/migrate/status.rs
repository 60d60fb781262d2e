//! How far a migration is.

use weir_table::Backend;

use super::Migration;
use super::backfill::Counts;
use super::entity::Entity;
use super::error::Result;
use super::select::has_bookkeeping;

/// How far a table is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntityStatus {
    /// The table.
    pub entity: Entity,
    /// Rows in PostgreSQL; of usage those that have not expired.
    pub rows: u64,
    /// The last row that was copied.
    pub last_id: i64,
    /// Rows after it.
    pub left: u64,
    /// The outcomes of the rows so far.
    pub counts: Counts,
    /// Whether a run has copied all rows that there were.
    pub is_done: bool,
}

/// The queue in PostgreSQL for what our table has missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct QueueStatus {
    /// Changes that wait.
    pub waiting: u64,
    /// Changes that our table refused.
    pub refused: u64,
}

/// How far a migration is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// How far each table is copied.
    pub tables: Vec<EntityStatus>,
    /// The queue for our table; `None` if dual-write is off.
    pub queue: Option<QueueStatus>,
    /// Whether records were written back to PostgreSQL with new ids.
    pub has_ids: bool,
}

impl<B: Backend> Migration<B> {
    /// How far the migration is.
    ///
    /// # Errors
    /// Either side fails.
    pub async fn status(&self) -> Result<Status> {
        let since_ms = self.usage_since_ms();
        let mut tables = Vec::new();
        for entity in Entity::ALL {
            let checkpoint = self.checkpoint(entity).await?.unwrap_or_default();
            tables.push(EntityStatus {
                entity,
                rows: self.source().count(entity, 0, since_ms).await?,
                last_id: checkpoint.last_id,
                left: self.source().count(entity, checkpoint.last_id, since_ms).await?,
                counts: checkpoint.counts,
                is_done: checkpoint.is_done,
            });
        }
        let client = self.source().client().await?;
        let has_ids = has_bookkeeping(&*client).await?;
        Ok(Status { tables, queue: self.queue_status().await?, has_ids })
    }
}
