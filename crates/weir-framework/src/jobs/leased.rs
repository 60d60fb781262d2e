//! A run under a lease, from reading the job's item to recording its end.
//!
//! 1. Read the item. Wait if another instance has the job or it is not due.
//! 2. Take the lease, on condition that the item is unchanged.
//! 3. Run, and renew the lease meanwhile. If the lease is lost, the run gets a signal to stop and is dropped
//!    when the lease would expire, at the latest.
//! 4. Record the end of the run, which releases the lease.

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

/// Attempts to take the lease against faster instances before waiting for the next time.
const TAKE_TRIES: u32 = 3;

/// The parameters of a run under a lease.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Time from a successful run to the next.
    pub(super) every: Duration,
    /// Maximum duration of a run.
    pub(super) deadline: Duration,
    /// Run even if the job is not due.
    pub(super) requested: bool,
    /// Record that a full pass is due.
    pub(super) owe: bool,
}

/// The result of an attempt to run.
#[derive(Debug)]
pub(super) enum Leased {
    /// Another instance runs the job; check again after this time.
    Elsewhere(String, Duration),
    /// The job is not due; check again after this time.
    NotDue(Duration),
    /// The store failed before the run started.
    Fault(Failure),
    /// The job ran; check again after this time.
    Completed(RunResult, Duration),
}

/// Runs `work` if this instance gets the lease. `work` receives a signal when the lease is lost.
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
        // Also when the lease was lost: the write is refused if another instance has the lease.
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
        // The table shows which instance has the job.
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
