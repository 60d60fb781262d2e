//! Administrators cancel jobs and put failed ones back into the queue.

use weir_table::Backend;

use crate::audit::{AuditAction, NewAuditEvent};
use crate::error::{Error, Result};
use crate::jobs::items::FieldChanges;
use crate::jobs::transition::{Decision, Transition, decide};
use crate::jobs::work::without_lease;
use crate::jobs::{Job, JobRef};
use crate::practice::Practice;

/// Attempts to change a job while other requests change it.
const TRIES_MAX: u32 = 4;

impl<B: Backend> Practice<B> {
    /// Puts a failed job back into the queue, at the place of its creation. Its attempts are counted anew.
    ///
    /// # Errors
    /// The job does not exist or has not failed, the actor is invalid, or the store fails.
    pub async fn retry_job(&self, job: &JobRef, actor: &str) -> Result<Job> {
        let changes = FieldChanges::error(None);
        self.administer_job(job, Transition::Retry, &changes, actor).await
    }

    /// Cancels a job that has not ended; its worker is refused from now on. A repetition changes nothing.
    ///
    /// # Errors
    /// The job does not exist or has ended otherwise, the actor is invalid, or the store fails.
    pub async fn cancel_job(&self, job: &JobRef, actor: &str) -> Result<Job> {
        let changes = FieldChanges::default();
        self.administer_job(job, Transition::Cancel, &changes, actor).await
    }

    async fn administer_job(
        &self,
        job: &JobRef,
        transition: Transition,
        changes: &FieldChanges,
        actor: &str,
    ) -> Result<Job> {
        let action = match transition {
            Transition::Retry => AuditAction::JobRetried,
            _ => AuditAction::JobCancelled,
        };
        for _ in 0..TRIES_MAX {
            let stored = self.stored_job(job).await?;
            let to = match decide(stored.status()?, stored.lease.beat.fence, transition) {
                Decision::Move(to) => to,
                decision => {
                    return match decision.refusal(job) {
                        Some(refusal) => Err(refusal),
                        None => self.whole_job(&stored).await,
                    };
                }
            };
            let now_ms = self.now_ms();
            let subject = format!("job {job}");
            let event = NewAuditEvent { action, subject, actor, detail: None };
            let mut after = stored.changed(to, changes, now_ms);
            let mut writes = self.move_job(&stored, &after)?.to_vec();
            writes.push(self.audit_write(event, now_ms)?);
            let fence = stored.lease.beat.fence;
            if stored.lease.lease.is_some() {
                writes.push(self.end_lease(job, fence));
            } else if transition == Transition::Retry && fence > 0 {
                writes.push(self.reset_attempts(job, fence));
                after.lease.attempts = 0;
            }
            if self.transact(writes).await?.is_applied() {
                self.leases().forget(job);
                return self.whole_job(&without_lease(after)).await;
            }
        }
        Err(Error::Contended)
    }
}
