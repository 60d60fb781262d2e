//! The rows that a record refers to. One that PostgreSQL lacks is inserted first, and added to `written`.

use tokio_postgres::Transaction;
use weir_table::Backend;

use super::Migration;
use super::error::{Error, Result};
use super::record_key::RecordKey;
use super::row_ids::row_ids;
use crate::ids::{PlanId, ProblemRef, UserId};

impl<B: Backend> Migration<B> {
    /// The row of a plan.
    pub(super) async fn plan_row(
        &self,
        transaction: &Transaction<'_>,
        plan: PlanId,
        written: &mut Vec<RecordKey>,
    ) -> Result<Option<i64>> {
        self.parent_row(transaction, RecordKey::Plan(plan), written).await
    }

    /// The row of a user; `None` if the user was deleted on both sides.
    pub(super) async fn user_row(
        &self,
        transaction: &Transaction<'_>,
        user: &UserId,
        written: &mut Vec<RecordKey>,
    ) -> Result<Option<i64>> {
        self.parent_row(transaction, RecordKey::User(user.clone()), written).await
    }

    /// The row of the problem of a test case.
    pub(super) async fn problem_row(
        &self,
        transaction: &Transaction<'_>,
        at: &ProblemRef,
        written: &mut Vec<RecordKey>,
    ) -> Result<i64> {
        let row = self.parent_row(transaction, RecordKey::Problem(at.clone()), written).await?;
        row.ok_or_else(|| Error::Refused {
            message: format!("the problem {at} does not exist"),
            is_data: true,
        })
    }

    /// The row of a problem that a client has named by its id in PostgreSQL; `None` if there is none.
    pub(super) async fn number_row(
        &self,
        transaction: &Transaction<'_>,
        id: Option<&str>,
    ) -> Result<Option<i64>> {
        let Some(id) = id.and_then(|id| id.parse::<i64>().ok()) else { return Ok(None) };
        let found = transaction.query_opt("SELECT id FROM problems WHERE id = $1", &[&id]).await?;
        Ok(found.map(|row| row.try_get(0)).transpose()?)
    }

    async fn parent_row(
        &self,
        transaction: &Transaction<'_>,
        key: RecordKey,
        written: &mut Vec<RecordKey>,
    ) -> Result<Option<i64>> {
        let keys = std::slice::from_ref(&key);
        if let Some(row) = row_ids(transaction, keys).await?.remove(&key) {
            let text = format!("SELECT id FROM {} WHERE id = $1", key.entity().table());
            if transaction.query_opt(&text, &[&row]).await?.is_some() {
                return Ok(Some(row));
            }
        }
        match self.load(keys).await?.remove(&key) {
            // A user refers to a plan, which refers to nothing.
            Some(record) => {
                let row = Box::pin(self.upsert(transaction, &record, None, written)).await?;
                written.push(key);
                Ok(Some(row))
            }
            None => Ok(None),
        }
    }
}
