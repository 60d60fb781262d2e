//! The item of a job's lease: who holds it, the fencing number, the beat, and the newest progress step.
//!
//! | attribute | value |
//! |---|---|
//! | `fen` | fencing number: how often the job was claimed |
//! | `try` | how often the job was claimed since it was submitted or retried |
//! | `beat` | raised by every write to the lease, so that others see that the worker lives, or has ended the job |
//! | `wrk`, `len`, `unt` | worker, length and end of the lease; absent while nobody holds it |
//! | `pms`, `psec`, `pcnt` | position of the newest progress step; the second it was counted in, and the count |
//! | `step` | the newest progress step |
//!
//! The item is in the list of leases while a worker holds the job. It stays when the job ends: the fencing number must grow.

use weir_table::expr::{Condition, Update, attr, set};
use weir_table::{Item, Key, Write};

use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::item::TYPE;
use crate::jobs::observe::Beat;
use crate::jobs::progress::{ProgressState, ProgressStep};
use crate::jobs::{Claim, JobRef, Lease};
use crate::keys::{GSI2, IndexKey, List};
use crate::kinds::EntityType;
use crate::{Practice, keys};

const FENCE: &str = "fen";
const ATTEMPTS: &str = "try";
const BEAT: &str = "beat";
const WORKER: &str = "wrk";
const LENGTH: &str = "len";
const UNTIL: &str = "unt";
const STEP_MS: &str = "pms";
const STEP_SECOND: &str = "psec";
const STEP_COUNT: &str = "pcnt";
const STEP: &str = "step";

/// The item of a lease. A job that was never claimed has none; its fencing number is 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LeaseItem {
    pub(super) beat: Beat,
    /// Claims since the job was submitted or retried.
    pub(super) attempts: u64,
    pub(super) lease: Option<Lease>,
    pub(super) progress: ProgressState,
    pub(super) last_step: Option<ProgressStep>,
}

/// Key of the item with the lease of a job.
pub(super) fn key(job: &JobRef) -> Key {
    List::lease(0, job.job_type, &job.id).key
}

impl LeaseItem {
    pub(super) fn read(item: Option<&Item>) -> Result<LeaseItem> {
        let Some(item) = item else { return Ok(LeaseItem::default()) };
        let number = |name: &str| item.i64(name).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let beat = Beat { fence: number(FENCE), number: number(BEAT) };
        let lease = match item.s(WORKER) {
            None => None,
            Some(worker) => Some(Lease {
                worker: worker.parse()?,
                fence: beat.fence,
                lease_ms: item.i64(LENGTH).ok_or_else(|| damaged(item, LENGTH))?,
                until_ms: item.i64(UNTIL).ok_or_else(|| damaged(item, UNTIL))?,
            }),
        };
        let progress = ProgressState {
            last_ms: item.i64(STEP_MS),
            second: item.i64(STEP_SECOND).unwrap_or_default(),
            count: u32::try_from(number(STEP_COUNT)).unwrap_or(u32::MAX),
        };
        let last_step = item.get(STEP).and_then(ProgressStep::from_value);
        Ok(LeaseItem { beat, attempts: number(ATTEMPTS), lease, progress, last_step })
    }

    /// The lease, if the worker with this fencing number holds it.
    ///
    /// # Errors
    /// The worker does not hold it.
    pub(super) fn held_by(&self, job: &JobRef, fence: u64) -> Result<&Lease> {
        let lost = |problem: String| Error::LeaseLost { job: job.to_string(), problem };
        if self.beat.fence != fence {
            let now = self.beat.fence;
            return Err(lost(format!("its fencing number is {fence}, that of the job {now}")));
        }
        self.lease.as_ref().ok_or_else(|| lost("the job has ended".to_owned()))
    }

    /// The lease of a worker who claims the job now.
    pub(super) fn claimed(&self, claim: &Claim, lease_ms: i64, now_ms: i64) -> Lease {
        let until_ms = now_ms.saturating_add(lease_ms);
        Lease { worker: claim.worker.clone(), fence: self.beat.fence + 1, lease_ms, until_ms }
    }
}

fn damaged(item: &Item, name: &str) -> Error {
    let key = keys::key_of(item).map_or_else(String::new, |key| key.to_string());
    Error::damaged(format!("the item {key:?}"), format!("{name} is missing or invalid"))
}

/// The worker with this fencing number holds the lease.
pub(super) fn is_held(fence: u64) -> Condition {
    if faults::is(Fault::FenceUnchecked) {
        return attr(WORKER).exists();
    }
    attr(FENCE).eq(fence).and(attr(WORKER).exists())
}

/// Nothing has happened to the lease since this beat.
fn is_unchanged(beat: Beat) -> Condition {
    match beat.fence {
        0 => attr(FENCE).absent(),
        fence => attr(FENCE).eq(fence).and(attr(BEAT).eq(beat.number)),
    }
}

/// The lease goes on until its new end.
fn extended(job: &JobRef, lease: &Lease) -> Update {
    let entry = List::lease(lease.until_ms, job.job_type, &job.id);
    entry.index.join().set(LENGTH, lease.lease_ms).set(UNTIL, lease.until_ms).add(BEAT, 1)
}

/// The lease is given back.
fn ended() -> Update {
    let update = IndexKey::leave(GSI2).remove(WORKER).remove(LENGTH).remove(UNTIL);
    if faults::is(Fault::EndedTakenOver) { update } else { update.add(BEAT, 1) }
}

impl<B: weir_table::Backend> Practice<B> {
    fn lease_update(&self, job: &JobRef, update: Update, when: Condition) -> Write {
        Write::update(self.table().clone(), key(job), update).when(when)
    }

    /// A worker takes the lease, if it is as it was read.
    pub(super) fn take_lease(&self, job: &JobRef, before: &LeaseItem, lease: &Lease) -> Write {
        let update = extended(job, lease)
            .set(TYPE, EntityType::ListEntry.as_str())
            .set(FENCE, lease.fence)
            .set(ATTEMPTS, before.attempts + 1)
            .set(WORKER, lease.worker.as_str());
        self.lease_update(job, update, is_unchanged(before.beat))
    }

    /// The worker who holds the lease extends it. A nearly full disk accepts that: the work would be lost otherwise.
    pub(super) fn extend_lease(&self, job: &JobRef, lease: &Lease) -> Write {
        self.lease_update(job, extended(job, lease), is_held(lease.fence)).essential()
    }

    /// The worker who holds the lease extends it and records a progress step, if no other step came between.
    pub(super) fn record_step(
        &self,
        job: &JobRef,
        last_ms: Option<i64>,
        lease: &Lease,
        (progress, step): (ProgressState, &ProgressStep),
    ) -> Write {
        let is_next = match last_ms {
            Some(last_ms) => attr(STEP_MS).eq(last_ms),
            None => attr(STEP_MS).absent(),
        };
        let update = extended(job, lease)
            .set(STEP_MS, progress.last_ms.unwrap_or_default())
            .set(STEP_SECOND, progress.second)
            .set(STEP_COUNT, progress.count)
            .set(STEP, step.to_value());
        self.lease_update(job, update, is_held(lease.fence).and(is_next))
    }

    /// The worker with this fencing number, if it holds the lease, gives it back. The beat grows, so that nobody who read
    /// the lease before takes it over. A nearly full disk accepts the end of a job.
    pub(super) fn end_lease(&self, job: &JobRef, fence: u64) -> Write {
        self.lease_update(job, ended(), is_held(fence)).essential()
    }

    /// Nobody holds the lease any more, if nothing has happened to it since this beat.
    pub(super) fn end_abandoned_lease(&self, job: &JobRef, beat: Beat) -> Write {
        self.lease_update(job, ended(), is_unchanged(beat)).essential()
    }

    /// Attempts are counted anew. The fencing number stays.
    pub(super) fn reset_attempts(&self, job: &JobRef, fence: u64) -> Write {
        self.lease_update(job, set(ATTEMPTS, 0), attr(FENCE).eq(fence))
    }
}
