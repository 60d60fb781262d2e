//! The audit log: which administrator changed what, and when. An event is written in the transaction of its change and
//! retained for 90 days.

use weir_table::audit::{EventRange, checked_actor, expiry};
use weir_table::expr::attr;
use weir_table::retry::Listed;
use weir_table::{Backend, Item, Query, Write, audit_actions};

use crate::bounds::AUDIT_RETENTION_DAYS;
use crate::error::{Error, Result};
use crate::ids::EventId;
use crate::item::TYPE;
use crate::keys;
use crate::kinds::EntityType;
use crate::practice::Practice;
use crate::table::TTL;

const ACTION: &str = "action";
const SUBJECT: &str = "subject";
const ACTOR: &str = "actor";
const AT: &str = "at_ms";
const DETAIL: &str = "detail";

audit_actions! { AuditAction:
    /// A user was created.
    UserCreated = "user_created",
    /// A user was changed.
    UserUpdated = "user_updated",
    /// A user was deactivated.
    UserDeactivated = "user_deactivated",
    /// A user was moved to another plan.
    UserPlanChanged = "user_plan_changed",
    /// The personal data of a user was deleted.
    UserErased = "user_erased",
    /// The deletion of a user is finished: its runs and the details of its usage are gone.
    UserErasureFinished = "user_erasure_finished",
    /// The latest day on which a user was counted was set back.
    UsageDayReset = "usage_day_reset",
    /// A plan was created or changed.
    PlanPut = "plan_put",
    /// A plan was deleted.
    PlanDeleted = "plan_deleted",
    /// A problem was created.
    ProblemCreated = "problem_created",
    /// A problem was changed.
    ProblemUpdated = "problem_updated",
    /// A problem was published.
    ProblemPublished = "problem_published",
    /// A problem was hidden from all lists; it can be restored.
    ProblemDeleted = "problem_deleted",
    /// A deleted problem was restored.
    ProblemRestored = "problem_restored",
    /// A problem was removed for good, with its test cases.
    ProblemPurged = "problem_purged",
    /// A problem was marked for review.
    ProblemReviewRequested = "problem_review_requested",
    /// A problem was verified.
    ProblemVerified = "problem_verified",
    /// Test cases of a problem were added, replaced or deleted.
    TestCasesChanged = "test_cases_changed",
    /// The visibility of a run was changed.
    HistoryVisibilityChanged = "history_visibility_changed",
    /// A job was cancelled.
    JobCancelled = "job_cancelled",
    /// A failed job was put back into its queue.
    JobRetried = "job_retried",
    /// Counters were recomputed from what they count.
    CountersRecomputed = "counters_recomputed",
    /// Records were copied from another database.
    RecordsMigrated = "records_migrated",
}

impl AuditAction {
    /// Whether the action deletes or ends something. A nearly full disk accepts it, and so its event.
    fn is_deletion(self) -> bool {
        use AuditAction::{
            JobCancelled, PlanDeleted, ProblemDeleted, ProblemPurged, UserDeactivated, UserErased,
            UserErasureFinished,
        };
        let of_user = matches!(self, UserDeactivated | UserErased | UserErasureFinished);
        of_user || matches!(self, PlanDeleted | ProblemDeleted | ProblemPurged | JobCancelled)
    }
}

/// An audit event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// The event id: a ULID, so ids are ordered by time.
    pub id: EventId,
    /// Time of the event, in milliseconds since 1970.
    pub at_ms: i64,
    /// The action.
    pub action: AuditAction,
    /// The changed entity, like `user 12345` or `problem baekjoon/1000`.
    pub subject: String,
    /// The caller who did it.
    pub actor: String,
    /// Further details; never personal data, which must not outlive its user.
    pub detail: Option<String>,
}

/// An audit event about to be written.
#[derive(Debug, Clone)]
pub struct NewAuditEvent<'a> {
    /// The action.
    pub action: AuditAction,
    /// The changed entity, like `user 12345` or `problem baekjoon/1000`.
    pub subject: String,
    /// The caller who did it.
    pub actor: &'a str,
    /// Further details; never personal data.
    pub detail: Option<String>,
}

impl<B: Backend> Practice<B> {
    /// The write of an event, for the transaction of the change.
    ///
    /// # Errors
    /// The actor is empty, too long or has control characters.
    pub fn audit_write(&self, event: NewAuditEvent<'_>, now_ms: i64) -> Result<Write> {
        let id = EventId::next(self.event_ids(), now_ms);
        let actor = checked_actor(event.actor);
        let mut item = keys::item(keys::audit(&id))
            .with(TYPE, EntityType::Audit.as_str())
            .with(ACTION, event.action.as_str())
            .with(SUBJECT, event.subject)
            .with(ACTOR, actor.map_err(|problem| Error::invalid("actor", problem))?)
            .with(AT, now_ms)
            .with(TTL, expiry(now_ms, AUDIT_RETENTION_DAYS));
        if let Some(detail) = event.detail {
            item.set(DETAIL, detail);
        }
        let write = Write::put(self.table().clone(), item);
        Ok(if event.action.is_deletion() { write.essential() } else { write })
    }

    /// Events, of one subject or of all, as [`weir_table::Store::events`] lists them.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn audit_events(
        &self,
        subject: Option<&str>,
        range: &EventRange,
    ) -> Result<Listed<AuditEvent>> {
        let mut query = Query::partition(self.table().clone(), keys::AUDIT);
        if let Some(subject) = subject {
            query = query.filter(attr(SUBJECT).eq(subject));
        }
        Ok(self.store().events(query, keys::audit_sort, range, self.now_ms(), decode).await?)
    }
}

/// Decodes an event; `None` when a newer version wrote an action unknown here.
fn decode(item: &Item) -> Option<AuditEvent> {
    Some(AuditEvent {
        id: keys::parse_audit(item.s("SK")?)?,
        at_ms: item.i64(AT)?,
        action: AuditAction::parse(item.s(ACTION)?)?,
        subject: item.s(SUBJECT)?.to_owned(),
        actor: item.s(ACTOR)?.to_owned(),
        detail: item.s(DETAIL).map(str::to_owned),
    })
}
