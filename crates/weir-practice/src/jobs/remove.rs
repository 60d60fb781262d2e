//! Deletes jobs that have ended, with their objects and their progress.

use weir_table::limits::BATCH_WRITE_MAX;
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Query, Write};

use crate::audit::{AuditAction, NewAuditEvent};
use crate::error::{Error, Result};
use crate::item::data;
use crate::jobs::JobRef;
use crate::jobs::items::{STATUS, StoredJob, TEXTS};
use crate::keys::{self, List, PROGRESS_PREFIX};
use crate::kinds::JobStatus;
use crate::practice::Practice;

impl<B: Backend> Practice<B> {
    /// Deletes a job that has ended. Its id can be used again; its fencing numbers are not. Progress steps that are not
    /// removed because the request is killed expire.
    ///
    /// # Errors
    /// The job does not exist or has not ended, the actor is invalid, or the store fails.
    pub async fn delete_job(&self, job: &JobRef, actor: &str) -> Result<()> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let stored = self.stored_job(job).await?;
            let status = stored.status()?;
            if matches!(status, JobStatus::Pending | JobStatus::Processing) {
                return Err(Error::conflict(format!("the job is {status}; cancel it first")));
            }
            if self.remove_job(&stored, status, actor).await? {
                return self.remove_progress(job).await;
            }
        }
        Err(Error::Contended)
    }

    /// False when another writer was faster.
    async fn remove_job(&self, stored: &StoredJob, status: JobStatus, actor: &str) -> Result<bool> {
        let (job, now_ms) = (&stored.job, self.now_ms());
        let (action, subject) = (AuditAction::JobDeleted, format!("job {job}"));
        let event = NewAuditEvent { action, subject, actor, detail: None };
        let dropped = self.dropped(&stored.item, None, TEXTS);
        let table = self.table();
        let is_same = data(STATUS).eq(status.as_str());
        let entry = List::JobsOfStatus(job.job_type, status).job(0, job.job_type, &job.id);
        let mut writes = vec![
            Write::delete(table.clone(), keys::job(job.job_type, &job.id)).when(is_same),
            Write::delete(table.clone(), entry.key),
            self.audit_write(event, now_ms)?,
        ];
        if stored.lease.beat.fence > 0 {
            writes.push(self.forget_step(job, stored.lease.beat));
        }
        writes.extend(self.marks(&dropped));
        if !self.transact(writes).await?.is_applied() {
            return Ok(false);
        }
        self.discard(&dropped).await;
        Ok(true)
    }

    async fn remove_progress(&self, job: &JobRef) -> Result<()> {
        let partition = keys::job_partition(job.job_type, &job.id);
        let query = Query::partition(self.table().clone(), partition).begins_with(PROGRESS_PREFIX);
        let mut query = query.project(["PK", "SK"]);
        loop {
            let page = self.store().query(&query).await?;
            let steps = page.items.iter().filter_map(keys::key_of);
            let deletes: Vec<Write> =
                steps.map(|key| Write::delete(self.table().clone(), key)).collect();
            for some in deletes.chunks(BATCH_WRITE_MAX) {
                self.store().batch_write(some.to_vec()).await?;
            }
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => return Ok(()),
            }
        }
    }
}
