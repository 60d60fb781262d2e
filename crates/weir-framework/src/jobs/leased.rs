//! A run under a lease, from the first look at the job's item to the note of how it ended.
//!
//! 1. Look at the item. Another instance has the job, or it is not due: wait.
//! 2. Take the lease, on condition that the item is as it was seen.
//! 3. Run, and renew the lease meanwhile. When it is lost, the run is asked to stop and then dropped,
//!    at the latest when the lease would be over.
//! 4. Write down how it ended, which gives the lease back.

use std::time::Duration;

use tokio::sync::watch;

use super::backoff::{backoff, spread};
use super::context::Started;
use super::erased::Boxed;
use super::failure::{Failure, Result};
use super::job::Done;
use super::lease::{Held, Lease};
use super::mailbox::RunResult;
use super::plan::{Step, plan};
use super::record::Record;
use super::run::{End, guarded};
use super::run_context::Phase;
use super::status::StatusCell;
use super::writes::Finish;

/// How often another instance may be faster before we wait for our next run_context.
const TAKE_TRIES: u32 = 3;

/// How a job is run under its lease.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// How long after a good run the next is due.
    pub(super) every: Duration,
    /// How long a run may take.
    pub(super) deadline: Duration,
    /// Run though it is not due.
    pub(super) requested: bool,
    /// Note that a full pass is owed.
    pub(super) owe: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Leased {
    /// Another instance runs the job; look again after this long.
    Elsewhere(String, Duration),
    /// It is not due; look again after this long.
    NotDue(Duration),
    /// The store failed before the run began.
    Fault(Failure),
    /// It ran; look again after this long.
    Completed(RunResult, Duration),
}

/// Runs `work` if this instance may. `work` is given the signal that its lease was lost.
pub(super) async fn run<'a>(
    lease: &mut Lease,
    status: &StatusCell,
    terms: Terms,
    work: impl FnOnce(watch::Receiver<bool>) -> Boxed<'a, Result<Done>>,
) -> Leased {
    let taken = match take(lease, status, terms).await {
        Ok(taken) => taken,
        Err(error) => return Leased::Fault(error.into()),
    };
    let (held, record) = match taken {
        Taken::Ours(held, record) => (held, record),
        Taken::Not(leased) => return leased,
    };
    let context = lease.context.clone();
    if *context.phase.borrow() != Phase::Serving {
        lease.release(held).await;
        return Leased::Completed(RunResult::Stopping, Duration::ZERO);
    }
    let started = context.start();
    status.running(started.at_ms, Some(&context.instance));
    let (lose, lost) = watch::channel(false);
    let losing = async {
        let over_at = lease.keep(held).await;
        lose.send_replace(true);
        tokio::time::sleep_until(over_at).await;
    };
    let end = guarded(work(lost), terms.deadline, context.phase.clone(), losing).await;
    match end {
        // Also when the lease was lost: the note is refused if another instance has it.
        End::Ended(result) => ended(lease, status, terms, held, &record, started, result).await,
        End::CutOff => {
            lease.release(held).await;
            Leased::Completed(RunResult::Stopping, Duration::ZERO)
        }
        End::Lost => {
            let failure = Failure::new("the lease was lost during the run");
            let wait = context.settings.lease_poll;
            tracing::warn!(job = lease.job, error = %failure, "a job failed");
            status.fault(&failure);
            status.resting(context.later_ms(wait));
            Leased::Completed(RunResult::Failed(failure), wait)
        }
    }
}

enum Taken {
    Ours(Held, Record),
    Not(Leased),
}

async fn take(lease: &mut Lease, status: &StatusCell, terms: Terms) -> weir_table::Result<Taken> {
    let context = lease.context.clone();
    for _ in 0..TAKE_TRIES {
        let (record, unchanged) = lease.read().await?;
        status.restore(&record);
        let now_ms = context.now_ms();
        match plan(&record, &context.instance, now_ms, unchanged, terms.requested) {
            Step::LeasedBy(owner, left) => {
                status.waiting_for(&owner);
                let wait = left.min(spread(context.settings.lease_poll));
                return Ok(Taken::Not(Leased::Elsewhere(owner, wait)));
            }
            Step::NotDue(left) => {
                status.resting(record.due_ms);
                return Ok(Taken::Not(Leased::NotDue(spread(left))));
            }
            Step::Take => {}
        }
        if let Some((held, record)) = lease.take(&record, terms.owe).await? {
            return Ok(Taken::Ours(held, record));
        }
    }
    Ok(Taken::Not(Leased::NotDue(context.settings.lease_poll)))
}

async fn ended(
    lease: &Lease,
    status: &StatusCell,
    terms: Terms,
    held: Held,
    before: &Record,
    started: Started,
    result: Result<Done>,
) -> Leased {
    let settings = &lease.context.settings;
    let failed_in_row = match &result {
        Ok(_) => 0,
        Err(_) => before.failed_in_row.saturating_add(1),
    };
    let due_in = match &result {
        Ok(done) if done.more => settings.rest,
        Ok(_) => terms.every,
        Err(_) => backoff(failed_in_row, settings),
    };
    let is_complete = result.as_ref().is_ok_and(|done| !done.more);
    let ended = lease.context.ended(started, &result);
    let finish = Finish {
        ended: &ended,
        failed_in_row,
        due_in,
        pass: Some(before.passes_owed).filter(|owed| *owed > 0 && is_complete),
    };
    let wait = match lease.end(held, &finish).await {
        Some(record) => {
            status.restore(&record);
            due_in
        }
        // The table says who has the job now, or will.
        None => {
            status.ended(&ended);
            settings.lease_poll
        }
    };
    status.resting(lease.context.later_ms(wait));
    let ran = match result {
        Ok(done) => RunResult::Done(done),
        Err(failure) => {
            tracing::warn!(job = lease.job, error = %failure, "a job failed");
            RunResult::Failed(failure)
        }
    };
    Leased::Completed(ran, spread(wait))
}
