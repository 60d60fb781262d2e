//! The task of a job that follows a feed: reads windows of changes and makes full passes when they are due.
//!
//! When the feed was trimmed, the task takes the job's lease and records that a full pass is due. Under the lease it
//! restarts the feed, then makes the pass. If the instance dies in between, the record stays and another
//! instance makes the pass. Reading needs no lease of the job, because each shard of the feed has its own.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_api::server::JobOutcome;

use super::backoff::{backoff, spread};
use super::context::{Context, Started};
use super::erased::{AnyFeedJob, Boxed};
use super::failure::{Failure, Result};
use super::job::Done;
use super::lease::Lease;
use super::leased::{self, Leased, Terms};
use super::mailbox::{Mailbox, RunResult, Wakeup};
use super::reader::{Read, Reader};
use super::run::{End, Work, guarded, rounds};
use super::run_log::RunLog;
use super::status::StatusCell;

pub(super) struct FeedTask {
    context: Arc<Context>,
    job: Box<dyn AnyFeedJob>,
    status: Arc<StatusCell>,
    mailbox: Mailbox,
    lease: Lease,
    run_log: RunLog,
    reader: Reader,
    failed_in_row: u64,
    /// Time of the next check whether a full pass is due.
    check_at: Instant,
    checked: bool,
    /// The reason why the last full pass failed, while it is due.
    pass_failed: Option<Failure>,
}

impl FeedTask {
    pub(super) fn new(
        context: Arc<Context>,
        job: Box<dyn AnyFeedJob>,
        status: Arc<StatusCell>,
        mailbox: Mailbox,
    ) -> weir_table::Result<FeedTask> {
        Ok(FeedTask {
            lease: Lease::new(Arc::clone(&context), job.name()),
            reader: Reader::new(&context, job.as_ref())?,
            context,
            job,
            status,
            mailbox,
            run_log: RunLog::default(),
            failed_in_row: 0,
            check_at: Instant::now(),
            checked: false,
            pass_failed: None,
        })
    }

    /// Follows the feed until the driver stops, then releases its shards.
    pub(super) async fn run(mut self) {
        let mut wait = Duration::ZERO;
        while let Some(wakeup) = self.mailbox.next(wait).await {
            wait = self.step(wakeup).await;
        }
        if let Err(error) = self.reader.consumer.release().await {
            tracing::warn!(job = self.job.name(), %error, "a feed's leases were not given back");
        }
        self.run_log.flush(&self.context, self.job.name()).await;
    }

    /// Makes a pass if one is due, and reads. Returns the wait until the next time.
    async fn step(&mut self, wakeup: Wakeup) -> Duration {
        if Instant::now() >= self.check_at {
            self.check_pass().await;
        }
        let started = self.context.start();
        let (ran, wait) = match self.read().await {
            End::Ended(Ok(Read::Trimmed)) => {
                let (ran, wait) = self.pass(true).await;
                // The restarted feed is read even while the pass has to wait.
                (ran, wait.min(self.every()))
            }
            End::Ended(Ok(Read::Done(done))) => {
                let wait = if done.more { self.context.settings.rest } else { self.every() };
                let fault = self.job.fault();
                self.succeeded(started, &done, wakeup.is_requested(), fault.as_ref()).await;
                (fault.map_or(RunResult::Done(done), RunResult::Failed), wait)
            }
            End::Ended(Err(failure)) => self.failed_with(started, failure).await,
            End::Lost | End::CutOff => (RunResult::Stopping, Duration::ZERO),
        };
        self.status.resting(self.context.later_ms(wait));
        wakeup.reply(ran);
        spread(wait)
    }

    fn every(&self) -> Duration {
        self.job.every().unwrap_or(self.context.settings.feed_poll)
    }

    async fn read(&mut self) -> End<Read> {
        let (_keep, lost) = watch::channel(false);
        let (context, job) = (&self.context, self.job.as_ref());
        let deadline = job.deadline().unwrap_or(context.settings.deadline);
        // The reader can be dropped at any await, because conditions guard its writes.
        let work = self.reader.read(context, job, &self.status, lost);
        let work = Box::pin(work);
        guarded(work, deadline, context.phase.clone(), pending()).await
    }

    /// Records a successful read, after which the job may still have a `fault`. A read without changes counts as a run only if
    /// it was requested or follows a failure.
    async fn succeeded(
        &mut self,
        started: Started,
        done: &Done,
        requested: bool,
        fault: Option<&Failure>,
    ) {
        self.failed_in_row = 0;
        let failure = fault.or(self.pass_failed.as_ref());
        let is_news = requested || self.status.last_outcome() != Some(JobOutcome::Ok);
        if done.items > 0 || (is_news && failure.is_none()) {
            let result = fault.map_or_else(|| Ok(done.clone()), |fault| Err(fault.clone()));
            let ended = self.context.ended(started, &result);
            self.status.ended(&ended);
            self.run_log.record(&self.context, self.job.name(), &ended).await;
        }
        if let Some(failure) = failure {
            self.status.fault(failure);
        }
    }

    async fn failed_with(&mut self, started: Started, failure: Failure) -> (RunResult, Duration) {
        let job = self.job.name();
        tracing::warn!(job, error = %failure, "a job failed");
        self.failed_in_row = self.failed_in_row.saturating_add(1);
        let ended = self.context.ended(started, &Err(failure.clone()));
        self.status.ended(&ended);
        self.run_log.record(&self.context, job, &ended).await;
        let wait = backoff(self.failed_in_row, &self.context.settings);
        (RunResult::Failed(failure), wait)
    }

    /// Makes a full pass if one is due.
    async fn check_pass(&mut self) {
        self.check_at = Instant::now() + spread(self.context.settings.pass_poll);
        match self.lease.read().await {
            Ok((record, _)) => {
                if !self.checked {
                    self.status.restore(&record);
                    self.checked = true;
                }
                if record.owes_pass() {
                    self.pass(false).await;
                } else {
                    self.pass_failed = None;
                }
            }
            Err(error) => {
                let job = self.job.name();
                tracing::warn!(job, %error, "whether a full pass is owed could not be read");
            }
        }
    }

    /// Makes a full pass under the job's lease. Restarts the feed first if it was trimmed.
    async fn pass(&mut self, trimmed: bool) -> (RunResult, Duration) {
        let started = self.context.start();
        let (context, job) = (&self.context, self.job.as_ref());
        // So that the table has as many runs as this instance has counted.
        self.run_log.flush(context, job.name()).await;
        let terms = Terms {
            every: Duration::ZERO,
            deadline: job.deadline().unwrap_or(context.settings.deadline),
            requested: false,
            owe: trimmed,
        };
        let reader = Some(&mut self.reader).filter(|_| trimmed);
        let work = |lost: watch::Receiver<bool>| -> Boxed<'_, Result<Done>> {
            Box::pin(async move {
                if let Some(reader) = reader {
                    reader.consumer.restart_from_latest().await?;
                }
                let items_max = context.settings.items_max;
                rounds(context, Work::Pass(job), items_max, terms.deadline, lost).await
            })
        };
        match leased::run(&mut self.lease, &self.status, terms, work).await {
            Leased::Elsewhere(owner, wait) => (RunResult::Elsewhere(owner), wait),
            Leased::NotDue(wait) => {
                let failure = Failure::new("a full pass is owed and will be tried again");
                (RunResult::Failed(failure), wait)
            }
            Leased::Fault(failure) => self.failed_with(started, failure).await,
            Leased::Completed(ran, wait) => {
                if !matches!(&ran, RunResult::Done(done) if !done.more) {
                    self.check_at = Instant::now() + wait;
                }
                self.pass_failed = match &ran {
                    RunResult::Failed(failure) => Some(failure.clone()),
                    RunResult::Done(_) | RunResult::Elsewhere(_) | RunResult::Stopping => None,
                };
                (ran, wait)
            }
        }
    }
}
