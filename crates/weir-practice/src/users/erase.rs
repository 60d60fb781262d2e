//! Deletes users.
//!
//! 1. One transaction removes the user's personal data, releases the email address and the Google id, and puts the user into
//!    the list of deletions that are not finished. From then on the user does not exist for anyone. The id stays taken.
//! 2. A job removes what is left in the usage log and in its archive, month by month, and notes each. One that is killed goes
//!    on with the month it was at; doing one twice is safe.
//! 3. The job deletes the user's runs ([`erase_runs`](super::erase_runs)), until the index has shown none for long enough. Then
//!    the deletion is finished, which the audit log has with the number of runs.
//!
//! Counters and rollups stay: they have the id and numbers, nothing personal.

use weir_calendar::Day;
use weir_table::expr::{attr, set};
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Query, Write};

use super::erase_runs::RunsLeft;
use crate::audit::{AuditAction, NewAuditEvent};
use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::ids::UserId;
use crate::item::{COUNT, Data, entity, field, secs};
use crate::keys;
use crate::kinds::EntityType;
use crate::practice::Practice;

/// The actor of the job in the audit log.
const ACTOR: &str = "practice-erasure";
/// Days that are cleaned before they are noted.
const DAYS_AT_ONCE: i64 = 30;
/// The next day to clean.
const NEXT_DAY: &str = "day";

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErasureReport {
    /// Days of users that were cleaned.
    pub days: u64,
    /// Runs of users that were deleted.
    pub runs: u64,
    /// Users of whom nothing is found any more, and whose deletion is finished when that stays so for an hour.
    pub waiting: u64,
    /// Users whose deletion is finished.
    pub finished: u64,
    /// Whether there is more to do.
    pub more: bool,
}

impl ErasureReport {
    /// How much was done.
    pub(super) fn steps(&self) -> u64 {
        self.days.saturating_add(self.runs)
    }
}

impl<B: Backend> Practice<B> {
    /// Deletes a user: the personal data at once, its runs and the details of its usage log by
    /// [`Practice::continue_erasures`].
    ///
    /// # Errors
    /// The user does not exist, or the store fails.
    pub async fn erase_user(&self, id: &UserId, actor: &str) -> Result<()> {
        let now_ms = self.now_ms();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let old = self.stored_user(id).await?;
            let event = (AuditAction::UserErased, actor);
            let writes = self.user_writes(Some(&old), None, event, now_ms)?;
            let first = self.first_day_to_clean(now_ms);
            let data = Data::new().with(NEXT_DAY, first.compact());
            let marker = entity(keys::erasure(id), EntityType::Erasure, data, secs(now_ms));
            let marker = Write::put(self.table().clone(), marker);
            if self.commit_user(writes, vec![marker], old.user.plan).await? {
                return Ok(());
            }
        }
        Err(Error::Contended)
    }

    /// Goes on with deletions that are not finished: about so many days and runs of users. A deletion takes several calls,
    /// over more than an hour.
    ///
    /// # Errors
    /// The store or the object storage fails; the next run continues.
    pub async fn continue_erasures(&self, steps_max: u64) -> Result<ErasureReport> {
        let mut report = ErasureReport::default();
        let query = Query::partition(self.table().clone(), keys::ERASURES);
        let page = self.store().query(&query).await?;
        for marker in &page.items {
            self.continue_erasure(marker, steps_max, &mut report).await?;
            if report.more {
                return Ok(report);
            }
        }
        report.more = page.cursor.is_some();
        Ok(report)
    }

    async fn continue_erasure(
        &self,
        marker: &Item,
        steps_max: u64,
        report: &mut ErasureReport,
    ) -> Result<()> {
        let wrong = || Error::damaged("the list of deletions", "a key is invalid");
        let user = UserId::new(marker.s("SK").ok_or_else(wrong)?).map_err(|_| wrong())?;
        let next = Day::from_compact(Fields::of(marker)?.text(NEXT_DAY)?);
        let mut day = next.ok_or_else(wrong)?;
        let last = self.last_counted_day(&user).await?;
        while day <= last {
            if report.steps() >= steps_max {
                report.more = true;
                return Ok(());
            }
            let days: Vec<Day> = (0..DAYS_AT_ONCE).map(|number| day.plus_days(number)).collect();
            self.clean_days(&user, &days).await?;
            report.days += DAYS_AT_ONCE.unsigned_abs();
            day = day.plus_days(DAYS_AT_ONCE);
            let update = set(field(NEXT_DAY), day.compact());
            let note =
                Write::update(self.table().clone(), keys::erasure(&user), update).essential();
            self.write(note.when(attr("PK").exists())).await?;
        }
        match self.erase_runs(&user, marker, steps_max, report).await? {
            RunsLeft::Some => report.more = true,
            RunsLeft::Unknown => report.waiting += 1,
            RunsLeft::None => report.finished += u64::from(self.finish_erasure(&user).await?),
        }
        Ok(())
    }

    /// False when another instance has finished the deletion.
    async fn finish_erasure(&self, user: &UserId) -> Result<bool> {
        let (key, now_ms) = (keys::erasure(user), self.now_ms());
        let Some(marker) = self.item(key.clone()).await? else { return Ok(false) };
        let runs = marker.i64(COUNT).unwrap_or_default();
        let event = NewAuditEvent {
            action: AuditAction::UserErasureFinished,
            subject: format!("user {user}"),
            actor: ACTOR,
            detail: Some(format!("{runs} runs were deleted")),
        };
        let writes = vec![
            Write::delete(self.table().clone(), key).when(attr("PK").exists()),
            self.audit_write(event, now_ms)?,
        ];
        Ok(self.transact(writes).await?.is_applied())
    }

    /// The oldest day that a rollup or a log can be of, with a day for time zones.
    fn first_day_to_clean(&self, now_ms: i64) -> Day {
        let settings = self.settings();
        let days = i64::from(settings.usage_days.max(settings.rollup_days));
        self.day_of(now_ms).plus_days(-days - 1)
    }
}
