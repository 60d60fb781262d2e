//! Deletions in our table, in PostgreSQL.

use tokio_postgres::{Client, Transaction};
use weir_table::Backend;

use super::super::Migration;
use super::super::error::Result;
use super::super::record_key::RecordKey;
use super::super::row_ids::row_ids;
use super::super::write_back::is_queued;
use crate::users::User;

/// The domain of the addresses of deleted users; no mail is ever sent there.
const ANONYMOUS_DOMAIN: &str = "@deleted.invalid";

/// Whether a user is what PostgreSQL keeps of a deleted one.
pub(in super::super) fn is_anonymous(user: &User) -> bool {
    user.email.as_str().ends_with(ANONYMOUS_DOMAIN)
}

/// The decision on a row that waits in the queue for our table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenQueued {
    /// The row stays, because its entry decides.
    Stay,
    /// The row is removed: no entry brings the record back.
    Go,
}

impl WhenQueued {
    /// For a record that our table no longer has. A deleted user is never restored, and its row may be one that our table
    /// refuses.
    pub(super) fn of(key: &RecordKey) -> WhenQueued {
        if matches!(key, RecordKey::User(_)) { WhenQueued::Go } else { WhenQueued::Stay }
    }
}

impl<B: Backend> Migration<B> {
    /// Deletes the row of a record that our table no longer has. A user becomes anonymous, so that the numbers of others
    /// stay. Returns whether a row was changed.
    pub(super) async fn forget_row(
        &self,
        client: &mut Client,
        key: &RecordKey,
        when_queued: WhenQueued,
    ) -> Result<bool> {
        let transaction = client.transaction().await?;
        transaction.batch_execute("SET LOCAL weir.applier = 'on'").await?;
        let row = row_ids(&transaction, std::slice::from_ref(key)).await?.remove(key);
        let Some(row) = row else { return Ok(false) };
        let table = key.entity().table();
        let lock = format!("SELECT id FROM {table} WHERE id = $1 FOR UPDATE");
        if transaction.query_opt(&lock, &[&row]).await?.is_none()
            || when_queued == WhenQueued::Stay && is_queued(&transaction, key.entity(), row).await?
        {
            return Ok(false);
        }
        let changed = match key {
            RecordKey::Usage { .. } => 0,
            RecordKey::User(_) => anonymise(&transaction, row).await?,
            _ => {
                let text = format!("DELETE FROM {table} WHERE id = $1");
                transaction.execute(&text, &[&row]).await?
            }
        };
        transaction.commit().await?;
        Ok(changed > 0)
    }
}

/// Removes personal data from the row of a user and from its usage log, and the plan, which could not be deleted otherwise.
/// Returns how many users were changed.
async fn anonymise(transaction: &Transaction<'_>, row: i64) -> Result<u64> {
    let details = "UPDATE usage_logs SET metadata = '{}' WHERE user_id = $1 AND metadata <> '{}'";
    transaction.execute(details, &[&row]).await?;
    let email = format!("deleted-{row}{ANONYMOUS_DOMAIN}");
    let text = "UPDATE users SET email = $2, name = '', picture_url = NULL, google_id = NULL, \
                subscription_plan_id = NULL, is_active = false, is_staff = false, \
                updated_at = now() \
                WHERE id = $1 AND (email <> $2 OR name <> '' OR is_active OR is_staff \
                OR num_nonnulls(picture_url, google_id, subscription_plan_id) > 0)";
    Ok(transaction.execute(text, &[&row, &email]).await?)
}
