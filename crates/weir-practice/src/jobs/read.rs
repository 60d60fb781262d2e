//! Reads jobs: one with its texts, lists without them.

use weir_table::retry::{Listed, TRIES_MAX, pause};
use weir_table::{Backend, Query};

use crate::bounds::JOBS_PER_PAGE_MAX;
use crate::error::{Error, Result};
use crate::jobs::{Job, JobRef, JobSummary};
use crate::keys::{self, GSI2, List};
use crate::kinds::{JobStatus, JobType};
use crate::list::PageRequest;
use crate::practice::Practice;

impl<B: Backend> Practice<B> {
    /// A job with its texts.
    ///
    /// # Errors
    /// The job does not exist, or the store fails.
    pub async fn job(&self, job: &JobRef) -> Result<Job> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let stored = self.stored_job(job).await?;
            if let Some(texts) = self.job_texts(&stored).await? {
                return Ok(texts.with(stored.summary()?));
            }
        }
        Err(Error::damaged(format!("the job {job}"), "an object with its text is missing"))
    }

    /// Jobs of a type, or those in one status, newest first; at most 50 on a page. The index may lag: jobs that have
    /// another status by now are left out, so a page may be short while there are more.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn jobs(
        &self,
        job_type: JobType,
        status: Option<JobStatus>,
        page: &PageRequest,
    ) -> Result<Listed<JobSummary>> {
        let list = status.map_or(List::Jobs(job_type), |one| List::JobsOfStatus(job_type, one));
        let query = Query::partition(self.table().clone(), list.partition()).reverse();
        let is_listed = |job: &JobSummary| status.is_none_or(|status| job.status == status);
        self.summaries(query, page, is_listed).await
    }

    /// Jobs whose lease has ended by this clock, the longest ago first: their workers are probably gone. Each is claimed
    /// again once a process has seen nothing of its worker for a lease.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn stalled_jobs(
        &self,
        job_type: JobType,
        page: &PageRequest,
    ) -> Result<Listed<JobSummary>> {
        let now_ms = self.now_ms();
        let list = List::JobLeases(job_type).partition();
        let query = Query::partition(self.table().clone(), list);
        let mut listed = self.summaries(query, page, |job| job.lease.is_some()).await?;
        // Leases are in the order of their ends, so none that follows a running one has ended.
        if listed.items.iter().any(|job| !job.is_stalled(now_ms)) {
            listed.cursor = None;
        }
        listed.items.retain(|job| job.is_stalled(now_ms));
        Ok(listed)
    }

    async fn summaries(
        &self,
        query: Query,
        page: &PageRequest,
        is_listed: impl Fn(&JobSummary) -> bool,
    ) -> Result<Listed<JobSummary>> {
        let limit = page.limit.min(JOBS_PER_PAGE_MAX);
        let found = self.store().page(query.index(GSI2), limit, page.cursor.clone()).await?;
        let entries = found.items.iter().filter_map(|entry| entry.s("PK"));
        let jobs = entries.filter_map(keys::parse_job);
        let jobs = jobs.map(|(job_type, id)| JobRef { job_type, id }).collect();
        let stored = self.stored_summaries(jobs).await?;
        let summaries = stored.iter().map(|stored| stored.summary());
        let mut items = summaries.collect::<Result<Vec<JobSummary>>>()?;
        items.retain(is_listed);
        Ok(Listed { items, cursor: found.cursor })
    }
}
