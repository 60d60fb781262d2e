//! The task of a job that follows a feed: reads windows of changes, and does full passes that are owed.
//!
//! When the feed was trimmed, the job's lease is taken with a note that a full pass is owed; under
//! the lease the feed begins anew, then comes the pass. An instance that dies in between leaves the
//! note, and another one does the pass. Reading needs no lease of the job, because the feed has its
//! own, shard by shard.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::backoff::{backoff, spread};
use super::context::{Context, Started};
use super::erased::{AnyFeedJob, Boxed};
use super::failure::{Failure, Result};
use super::job::Done;
use super::lease::Lease;
use super::leased::{self, Leased, Terms};
use super::mailbox::{Mailbox, RunResult, Wakeup};
use super::reader::{Read, Reader};
use super::record::Outcome;
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
    /// When to look next whether a full pass is owed.
    check_at: Instant,
    checked: bool,
    /// Why the last full pass failed, while it is owed.
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

    /// Follows the feed until the driver stops, then gives its shards back.
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

    /// Does an owed pass and reads. Returns how long to wait then.
    async fn step(&mut self, wakeup: Wakeup) -> Duration {
        if Instant::now() >= self.check_at {
            self.check_pass().await;
        }
        let started = self.context.start();
        let (ran, wait) = match self.read().await {
            End::Ended(Ok(Read::Trimmed)) => {
                let (ran, wait) = self.pass(true).await;
                // However long the pass has to wait, the feed that begins anew is read.
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
        // The reader survives being cut off anywhere: what it believes is checked by conditions.
        let work = self.reader.read(context, job, &self.status, lost);
        let work = Box::pin(work);
        guarded(work, deadline, context.phase.clone(), pending()).await
    }

    /// Reading ended well, though the job may have a `fault`. Looks at a feed with nothing new are not counted as runs,
    /// unless somebody requested or they end a failure.
    async fn succeeded(
        &mut self,
        started: Started,
        done: &Done,
        requested: bool,
        fault: Option<&Failure>,
    ) {
        self.failed_in_row = 0;
        let failure = fault.or(self.pass_failed.as_ref());
        let is_news = requested || self.status.last_outcome() != Some(Outcome::Ok);
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

    /// Looks whether a full pass is owed, and does it.
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

    /// Does a full pass under the job's lease, after the feed was begun anew if it was trimmed.
    async fn pass(&mut self, trimmed: bool) -> (RunResult, Duration) {
        let started = self.context.start();
        let (context, job) = (&self.context, self.job.as_ref());
        // So that the table knows of no fewer runs than we do.
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
