//! Recomputes counters from the log, as the program of the source counts: by a query that returns no items.

use weir_calendar::Day;
use weir_table::expr::attr;
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Write};

use crate::audit::{AuditAction, NewAuditEvent};
use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::item::{COUNT, data};
use crate::keys;
use crate::kinds::Action;
use crate::plans::count_of;
use crate::practice::Practice;

/// Whether a verification corrects what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair<'a> {
    /// The recount only reports.
    No,
    /// The recount corrects counters, and the audit log names this actor.
    By(&'a str),
}

/// A counter that differs from its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountDifference {
    /// The action.
    pub action: Action,
    /// Value of the counter.
    pub counted: u64,
    /// Number of log items.
    pub logged: u64,
}

/// The result of a recount.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recount {
    /// Counters that differ from their log.
    pub differences: Vec<CountDifference>,
    /// Whether the counters were corrected.
    pub repaired: bool,
}

impl<B: Backend> Practice<B> {
    /// How often a user did an action on a day, by the log.
    ///
    /// # Errors
    /// The store fails.
    pub async fn logged_count(&self, user: &UserId, day: Day, action: Action) -> Result<u64> {
        let filter = data("act").eq(action.as_str());
        let mut query = self.log_query(user, day).filter(filter).count_only();
        let mut count = 0_u64;
        loop {
            let page = self.store().query(&query).await?;
            count = count.saturating_add(page.count);
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => return Ok(count),
            }
        }
    }

    /// Compares a user's counters of a day with the log, and corrects them if asked to. Safe while requests come in.
    ///
    /// # Errors
    /// The store fails.
    pub async fn recount(&self, user: &UserId, day: Day, repair: Repair<'_>) -> Result<Recount> {
        let mut recount = Recount::default();
        for action in Action::ALL {
            if let Some(difference) = self.recount_action(user, day, *action, repair).await? {
                recount.differences.push(difference);
                recount.repaired = repair != Repair::No;
            }
        }
        Ok(recount)
    }

    async fn recount_action(
        &self,
        user: &UserId,
        day: Day,
        action: Action,
        repair: Repair<'_>,
    ) -> Result<Option<CountDifference>> {
        let key = keys::action_count(user, day, action);
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let counted = count_of(self.item(key.clone()).await?.as_ref());
            let logged = self.logged_count(user, day, action).await?;
            // The log was read while the counter stood still; otherwise a request came in between.
            if count_of(self.item(key.clone()).await?.as_ref()) != counted {
                continue;
            }
            if counted == logged {
                return Ok(None);
            }
            let difference = CountDifference { action, counted, logged };
            let Repair::By(actor) = repair else { return Ok(Some(difference)) };
            if self.correct_count(user, day, difference, actor).await? {
                return Ok(Some(difference));
            }
        }
        Err(Error::Contended)
    }

    /// False when a request was counted meanwhile.
    async fn correct_count(
        &self,
        user: &UserId,
        day: Day,
        difference: CountDifference,
        actor: &str,
    ) -> Result<bool> {
        let CountDifference { action, counted, logged } = difference;
        let now_ms = self.now_ms();
        let update = self.counter_update(day, now_ms).set(COUNT, logged);
        let is_same = match counted {
            0 => attr(COUNT).absent().or(attr(COUNT).eq(0)),
            counted => attr(COUNT).eq(counted),
        };
        let key = keys::action_count(user, day, action);
        let event = NewAuditEvent {
            action: AuditAction::CountersRecomputed,
            subject: format!("user {user}"),
            actor,
            detail: Some(format!("{action} on {day}: {counted} to {logged}")),
        };
        let writes = vec![
            Write::update(self.table().clone(), key, update).when(is_same),
            self.audit_write(event, now_ms)?,
        ];
        Ok(self.transact(writes).await?.is_applied())
    }
}
