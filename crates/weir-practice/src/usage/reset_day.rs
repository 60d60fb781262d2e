//! An administrator sets back the latest day of a user, which a clock that was far ahead has closed.

use weir_calendar::Day;
use weir_table::expr::{attr, set};
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Write};

use super::take::{DAY, latest_day};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::item::{UPDATED, secs};
use crate::keys;
use crate::practice::Practice;

/// The latest day of a user that was set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayReset {
    /// The latest day before.
    pub from: Day,
    /// The latest day now: today.
    pub to: Day,
}

impl<B: Backend> Practice<B> {
    /// Sets back the latest day of a user to today by the clock of this server, if a clock that was ahead has counted the user
    /// on a later day. `None` if it has not. Counters stay: today's go on where they were, so no limit is exceeded, and what
    /// was counted on the later day counts when that day comes.
    ///
    /// # Errors
    /// The user does not exist, the actor is invalid, or the store fails.
    pub async fn reset_latest_day(&self, user: &UserId, actor: &str) -> Result<Option<DayReset>> {
        self.user(user).await?;
        let now_ms = self.now_ms();
        let to = self.day_of(now_ms);
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let latest = latest_day(self.item(keys::latest_day(user)).await?.as_ref());
            let Some(from) = latest.filter(|latest| *latest > to) else { return Ok(None) };
            let event = NewAuditEvent {
                action: AuditAction::UsageDayReset,
                subject: format!("user {user}"),
                actor,
                detail: Some(format!("{from} to {to}")),
            };
            let update = set(DAY, to.compact()).set(UPDATED, secs(now_ms));
            let update = Write::update(self.table().clone(), keys::latest_day(user), update);
            let writes =
                vec![update.when(attr(DAY).eq(from.compact())), self.audit_write(event, now_ms)?];
            if self.transact(writes).await?.is_applied() {
                return Ok(Some(DayReset { from, to }));
            }
        }
        Err(Error::Contended)
    }
}
