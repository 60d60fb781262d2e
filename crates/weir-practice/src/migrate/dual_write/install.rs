//! The queue for our table, in PostgreSQL.

use weir_table::Backend;

use super::super::Migration;
use super::super::entity::Entity;
use super::super::error::{Error, Result};
use super::super::row_ids;
use super::super::status::QueueStatus;

const CREATE: &str = include_str!("queue.sql");
const REMOVE: &str =
    "DROP FUNCTION IF EXISTS weir_queue() CASCADE; DROP TABLE IF EXISTS weir_missed";

impl<B: Backend> Migration<B> {
    /// Creates the queue and its triggers, in one transaction.
    pub(super) async fn install_queue(&self) -> Result<()> {
        let mut client = self.source().connect().await?;
        let transaction = client.transaction().await?;
        // Two that start at once wait for each other.
        transaction.batch_execute("SELECT pg_advisory_xact_lock(7305805)").await?;
        row_ids::prepare(&transaction).await?;
        transaction.batch_execute(CREATE).await?;
        for entity in Entity::ALL {
            let table = entity.table();
            let text = "SELECT EXISTS (SELECT 1 FROM pg_trigger \
                        WHERE tgrelid = to_regclass($1) AND tgname = 'weir_queue')";
            let is_there: bool = transaction.query_one(text, &[&table]).await?.try_get(0)?;
            if !is_there {
                let text = format!(
                    "CREATE TRIGGER weir_queue AFTER INSERT OR UPDATE OR DELETE ON {table} \
                     FOR EACH ROW EXECUTE FUNCTION weir_queue()"
                );
                transaction.batch_execute(&text).await?;
            }
        }
        Ok(transaction.commit().await?)
    }

    /// Removes the queue and its triggers, if nothing waits.
    pub(super) async fn remove_queue(&self) -> Result<()> {
        if let Some(QueueStatus { waiting, refused }) = self.queue_status().await?
            && waiting + refused > 0
        {
            return Err(Error::State(format!(
                "{} changes wait in the queue weir_missed; replay them first",
                waiting + refused
            )));
        }
        let client = self.source().client().await?;
        Ok(client.batch_execute(REMOVE).await?)
    }

    /// The queue for our table; `None` if dual-write is off.
    pub(in super::super) async fn queue_status(&self) -> Result<Option<QueueStatus>> {
        let client = self.source().client().await?;
        let text = "SELECT to_regclass('weir_missed') IS NOT NULL";
        if !client.query_one(text, &[]).await?.try_get::<_, bool>(0)? {
            return Ok(None);
        }
        let text = "SELECT count(*) FILTER (WHERE problem IS NULL), \
                    count(*) FILTER (WHERE problem IS NOT NULL) FROM weir_missed";
        let row = client.query_one(text, &[]).await?;
        let count = |position: usize| -> Result<u64> {
            Ok(u64::try_from(row.try_get::<_, i64>(position)?).unwrap_or_default())
        };
        Ok(Some(QueueStatus { waiting: count(0)?, refused: count(1)? }))
    }
}
