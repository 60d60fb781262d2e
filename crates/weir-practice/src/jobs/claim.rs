//! Workers claim jobs: one by its id, or the next of a type.
//!
//! The next job is one whose worker is gone, else the oldest pending one. The lists that offer candidates may lag and other
//! workers take them at the same time, so a worker tries several; each claim is a conditional write that one worker wins.

use weir_table::{Backend, Get, Query};

use crate::bounds::CLAIM_CANDIDATES_MAX;
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::jobs::items::{FieldChanges, StoredJob};
use crate::jobs::lease::{self, LeaseItem};
use crate::jobs::observe::Beat;
use crate::jobs::transition::{Decision, Transition, decide};
use crate::jobs::{Claim, Claimed, JobRef, Lease, check};
use crate::keys::{self, GSI2, List};
use crate::kinds::{JobStatus, JobType};
use crate::list::distinct;
use crate::practice::Practice;

/// Attempts to claim one job that other writers change meanwhile.
const TRIES_MAX: u32 = 4;
/// Entries of a list that are read for candidates; the first ones may be claimed already.
const ENTRIES_MAX: u32 = 100;
/// Pages of leases that one look reads: all leases of a large deployment, so that each is seen at least twice before it ends.
const LEASE_PAGES_MAX: u32 = 50;

impl<B: Backend> Practice<B> {
    /// Claims a job that is pending, or whose worker is gone.
    ///
    /// # Errors
    /// The job does not exist, another worker holds it, or it has ended; the lease is out of its bounds; the store fails.
    pub async fn claim_job(&self, job: &JobRef, claim: &Claim) -> Result<Claimed> {
        let lease_ms = check::lease_ms(claim.lease_ms, self.settings().job_lease_ms)?;
        for _ in 0..TRIES_MAX {
            let stored = self.stored_job(job).await?;
            let decision = self.may_claim(&stored)?;
            if let Some(refusal) = decision.clone().refusal(job) {
                return Err(refusal);
            }
            if let Some(claimed) = self.try_claim(&stored, &decision, claim, lease_ms).await? {
                return Ok(claimed);
            }
        }
        Err(Error::Contended)
    }

    /// Claims the next job of a type; `None` if none was free. A busy queue may have none for a worker that loses every
    /// race, so a worker asks again.
    ///
    /// # Errors
    /// The lease is out of its bounds, or the store fails.
    pub async fn claim_next_job(
        &self,
        job_type: JobType,
        claim: &Claim,
    ) -> Result<Option<Claimed>> {
        let lease_ms = check::lease_ms(claim.lease_ms, self.settings().job_lease_ms)?;
        self.observe_leases(job_type).await?;
        let max = CLAIM_CANDIDATES_MAX as usize;
        let abandoned = self.leases().abandoned(job_type).into_iter().take(max).collect();
        if let Some(claimed) = self.claim_first(abandoned, claim, lease_ms).await? {
            return Ok(Some(claimed));
        }
        let pending = self.pending_jobs(job_type).await?;
        self.claim_first(pending, claim, lease_ms).await
    }

    /// Reads leases, so that this process sees which ones are over; returns how many are. A job whose workers died too often
    /// fails. [`Practice::claim_next_job`] does it too; a server also calls this every second, so that no lease waits for a worker to ask.
    ///
    /// # Errors
    /// The store fails.
    pub async fn observe_leases(&self, job_type: JobType) -> Result<usize> {
        let now_ms = self.now_ms();
        if let Some(mut cursor) = self.leases().start_scan(job_type, now_ms) {
            for _ in 0..LEASE_PAGES_MAX {
                cursor = self.observe_page(job_type, cursor).await?;
                if cursor.is_none() {
                    break;
                }
            }
            self.leases().end_scan(job_type, cursor);
        }
        Ok(self.leases().abandoned(job_type).len())
    }

    /// Reads a page of leases; returns the cursor of the next one.
    async fn observe_page(
        &self,
        job_type: JobType,
        cursor: Option<String>,
    ) -> Result<Option<String>> {
        let query = Query::partition(self.table().clone(), List::JobLeases(job_type).partition());
        let page = self.store().page(query.index(GSI2), ENTRIES_MAX, cursor).await?;
        let jobs = distinct(page.items.iter().filter_map(job_of_entry));
        let gets: Vec<Get> =
            jobs.iter().map(|job| Get::new(self.table().clone(), lease::key(job))).collect();
        let found = match gets.is_empty() {
            true => Vec::new(),
            false => self.store().batch_get(&gets).await?,
        };
        for (job, item) in jobs.iter().zip(&found) {
            let read = LeaseItem::read(item.as_ref())?;
            match &read.lease {
                Some(lease) => {
                    let is_over = self.saw_lease(job, read.beat, lease);
                    if is_over && self.is_exhausted(&read) {
                        self.fail_exhausted(job).await?;
                    }
                }
                None => self.leases().forget(job),
            }
        }
        Ok(page.cursor)
    }

    fn saw_lease(&self, job: &JobRef, beat: Beat, lease: &Lease) -> bool {
        self.leases().observe(job, beat, lease.lease_ms, self.now_ms())
    }

    /// The oldest pending jobs.
    async fn pending_jobs(&self, job_type: JobType) -> Result<Vec<JobRef>> {
        let list = List::JobsOfStatus(job_type, JobStatus::Pending);
        let query = Query::partition(self.table().clone(), list.partition()).index(GSI2);
        let page = self.store().page(query, ENTRIES_MAX, None).await?;
        Ok(page.items.iter().filter_map(job_of_entry).collect())
    }

    /// Claims the first of the candidates that is free.
    async fn claim_first(
        &self,
        candidates: Vec<JobRef>,
        claim: &Claim,
        lease_ms: i64,
    ) -> Result<Option<Claimed>> {
        let mut tries = 0;
        for jobs in candidates.chunks(CLAIM_CANDIDATES_MAX as usize) {
            for candidate in self.free_jobs(jobs).await? {
                if tries == CLAIM_CANDIDATES_MAX {
                    return Ok(None);
                }
                tries += 1;
                let Some(stored) = self.find_job(&candidate).await? else { continue };
                let decision = self.may_claim(&stored)?;
                if let Some(claimed) = self.try_claim(&stored, &decision, claim, lease_ms).await? {
                    return Ok(Some(claimed));
                }
            }
        }
        Ok(None)
    }

    /// Leaves out jobs that are not free, in one read without their texts: a list that lags offers many.
    async fn free_jobs(&self, jobs: &[JobRef]) -> Result<Vec<JobRef>> {
        let stored = self.stored_summaries(jobs.to_vec()).await?;
        let mut free = Vec::with_capacity(stored.len());
        for job in stored {
            match self.may_claim(&job)? {
                Decision::Move(_) | Decision::TakeOver | Decision::GiveUp => free.push(job.job),
                _ if job.lease.lease.is_none() => self.leases().forget(&job.job),
                _ => {}
            }
        }
        Ok(free)
    }

    fn may_claim(&self, stored: &StoredJob) -> Result<Decision> {
        let (status, beat) = (stored.status()?, stored.lease.beat);
        // A job that the program of the source is processing has no lease; it gets the usual time.
        let lease_ms =
            stored.lease.lease.as_ref().map_or(self.settings().job_lease_ms, |it| it.lease_ms);
        let is_lease_over = status == JobStatus::Processing
            && (self.leases().is_over(&stored.job, beat)
                || self.leases().observe(&stored.job, beat, lease_ms, self.now_ms()));
        let is_exhausted = self.is_exhausted(&stored.lease);
        Ok(decide(status, beat.fence, Transition::Claim { is_lease_over, is_exhausted }))
    }

    fn is_exhausted(&self, lease: &LeaseItem) -> bool {
        let is_exhausted = lease.attempts >= u64::from(self.settings().job_attempts_max);
        is_exhausted && !faults::is(Fault::AttemptsUnbounded)
    }

    /// Fails a job whose workers died too often, unless it has changed since its lease was read.
    async fn fail_exhausted(&self, job: &JobRef) -> Result<()> {
        let Some(stored) = self.find_job(job).await? else { return Ok(()) };
        if self.may_claim(&stored)? == Decision::GiveUp {
            self.give_up(&stored).await?;
        }
        Ok(())
    }

    /// Fails the job if nothing has happened to it since it was read.
    async fn give_up(&self, stored: &StoredJob) -> Result<()> {
        let attempts = stored.lease.attempts;
        let message = format!(
            "the job was claimed {attempts} times, and every worker stopped without a result"
        );
        let changes = FieldChanges::error(Some(&message));
        let after = stored.changed(JobStatus::Failed, &changes, self.now_ms());
        let moved = self.move_job(stored, &after)?.into_iter();
        let end = self.end_abandoned_lease(&stored.job, stored.lease.beat);
        if self.transact(moved.chain([end]).collect()).await?.is_applied() {
            self.leases().forget(&stored.job);
        }
        Ok(())
    }

    /// Claims the job if it is as it was read; `None` if it is not, or if it fails instead.
    async fn try_claim(
        &self,
        stored: &StoredJob,
        decision: &Decision,
        claim: &Claim,
        lease_ms: i64,
    ) -> Result<Option<Claimed>> {
        // The texts first: a claim whose worker gets no job would wait for a lease.
        let Some(texts) = self.job_texts(stored).await? else { return Ok(None) };
        let now_ms = self.now_ms();
        let (job, beat) = (&stored.job, stored.lease.beat);
        let lease = stored.lease.claimed(claim, lease_ms, now_ms);
        let take = self.take_lease(job, &stored.lease, &lease);
        let mut after = stored.clone();
        let is_claimed = match decision {
            Decision::TakeOver if stored.lease.lease.is_some() => {
                self.write(take).await?.is_applied()
            }
            // Without a lease nothing but the job itself tells that it has ended meanwhile.
            Decision::TakeOver => {
                let is_same = self.check_status(stored)?;
                self.transact(vec![is_same, take]).await?.is_applied()
            }
            Decision::Move(to) => {
                after = stored.changed(*to, &FieldChanges::default(), now_ms);
                let moved = self.move_job(stored, &after)?;
                self.transact(moved.into_iter().chain([take]).collect()).await?.is_applied()
            }
            Decision::GiveUp => {
                self.give_up(stored).await?;
                false
            }
            _ => false,
        };
        if !is_claimed {
            return Ok(None);
        }
        let beat = Beat { fence: lease.fence, number: beat.number + 1 };
        self.saw_lease(job, beat, &lease);
        after.lease.beat = beat;
        after.lease.attempts += 1;
        after.lease.lease = Some(lease.clone());
        Ok(Some(Claimed { job: texts.with(after.summary()?), lease }))
    }
}

fn job_of_entry(entry: &weir_table::Item) -> Option<JobRef> {
    let (job_type, id) = keys::parse_job(entry.s("PK")?)?;
    Some(JobRef { job_type, id })
}
