//! A worker reports on the job it holds: it lives, it is done, it failed.

use weir_table::{Backend, Get};

use crate::error::{Error, Result};
use crate::jobs::items::{FieldChanges, StoredJob, TEXTS};
use crate::jobs::lease::{self, LeaseItem};
use crate::jobs::observe::Beat;
use crate::jobs::transition::{Decision, Transition, decide};
use crate::jobs::{Completion, Job, JobRef, Lease, check};
use crate::practice::Practice;

/// Attempts to end a job while other requests change it.
const TRIES_MAX: u32 = 4;

impl<B: Backend> Practice<B> {
    /// Extends the lease of the worker with this fencing number, by its length or by another one.
    ///
    /// # Errors
    /// The worker no longer holds the job, the job does not exist, the lease is out of its bounds, or the store fails.
    pub async fn heartbeat_job(
        &self,
        job: &JobRef,
        fence: u64,
        lease_ms: Option<i64>,
    ) -> Result<Lease> {
        let read = self.lease_item(job).await?;
        let before = read.held_by(job, fence)?;
        let lease_ms = check::lease_ms(lease_ms, before.lease_ms)?;
        let until_ms = self.now_ms().saturating_add(lease_ms);
        let lease = Lease { lease_ms, until_ms, ..before.clone() };
        let written = self.write(self.extend_lease(job, &lease)).await?;
        let after = LeaseItem::read(written.item())?;
        after.held_by(job, fence)?;
        self.leases().observe(job, after.beat, lease_ms, self.now_ms());
        Ok(lease)
    }

    /// Ends a job well. A repetition by the same worker changes nothing.
    ///
    /// # Errors
    /// The worker no longer holds the job, the job does not exist, the result is invalid, or the store fails.
    pub async fn complete_job(
        &self,
        job: &JobRef,
        fence: u64,
        completion: &Completion,
    ) -> Result<Job> {
        check::completion(job.job_type, completion)?;
        let changes = match (&completion.generator_code, &completion.problem) {
            (Some(code), _) => {
                FieldChanges::generator(self.encode_text("generator_code", code.clone()).await?)
            }
            (None, Some(problem)) => FieldChanges::problem(problem),
            (None, None) => FieldChanges::error(None),
        };
        self.end_job(job, Transition::Complete(fence), &changes).await
    }

    /// Ends a job with an error. A repetition by the same worker changes nothing.
    ///
    /// # Errors
    /// The worker no longer holds the job, the job does not exist, the message is empty or too long, or the store fails.
    pub async fn fail_job(&self, job: &JobRef, fence: u64, error_message: &str) -> Result<Job> {
        check::error_message(error_message)?;
        let changes = FieldChanges::error(Some(error_message));
        self.end_job(job, Transition::Fail(fence), &changes).await
    }

    async fn end_job(
        &self,
        job: &JobRef,
        transition: Transition,
        changes: &FieldChanges,
    ) -> Result<Job> {
        for _ in 0..TRIES_MAX {
            let stored = self.stored_job(job).await?;
            let fence = stored.lease.beat.fence;
            let to = match decide(stored.status()?, fence, transition) {
                Decision::Move(to) => to,
                decision => {
                    return match decision.refusal(job) {
                        Some(refusal) => Err(refusal),
                        None => self.whole_job(&stored).await,
                    };
                }
            };
            let mut after = stored.changed(to, changes, self.now_ms());
            let fitted = self.fit_job(job, after.item).await?;
            after.item = fitted.item.clone();
            let dropped = self.dropped(&stored.item, Some(&after.item), TEXTS);
            let mut writes = self.move_job(&stored, &after)?.to_vec();
            writes.push(self.end_lease(job, fence));
            writes.extend(fitted.unmark(self.table()).chain(self.marks(&dropped)));
            if self.transact(writes).await?.is_applied() {
                self.leases().forget(job);
                self.discard(&dropped).await;
                return self.whole_job(&without_lease(after)).await;
            }
            self.discard(fitted.objects()).await;
        }
        Err(Error::Contended)
    }

    /// Reads the item with the lease of a job.
    pub(super) async fn lease_item(&self, job: &JobRef) -> Result<LeaseItem> {
        let found = self.store().get(&Get::new(self.table().clone(), lease::key(job))).await?;
        let read = LeaseItem::read(found.as_ref())?;
        if read.beat == Beat::default() {
            // A job that was never claimed has no item of its lease; nor has one that does not exist.
            self.job_status(job).await?;
        }
        Ok(read)
    }
}

pub(super) fn without_lease(mut stored: StoredJob) -> StoredJob {
    stored.lease.lease = None;
    stored
}
