//! Counts and lists users that the program of the source has stored.

use weir_table::Backend;
use weir_table::retry::{TRIES_MAX, pause};

use crate::audit::AuditAction;
use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::practice::Practice;

impl<B: Backend> Practice<B> {
    /// Reserves the names of a user that the program of the source has stored, counts the user and puts it into lists, as
    /// every change of the user does. False if that was done before.
    ///
    /// # Errors
    /// The user does not exist, another user has the email address or the Google id, or the store fails.
    pub async fn adopt_user(&self, id: &UserId, actor: &str) -> Result<bool> {
        let now_ms = self.now_ms();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let old = self.stored_user(id).await?;
            if old.is_counted() {
                return Ok(false);
            }
            let event = (AuditAction::UserUpdated, actor);
            let writes = self.user_writes(Some(&old), Some(&old.user), event, now_ms)?;
            if self.commit_user(writes, Vec::new(), old.user.plan).await? {
                return Ok(true);
            }
        }
        Err(Error::Contended)
    }
}
