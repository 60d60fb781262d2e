//! The task of a periodic job: waits, runs, waits.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::backoff::{backoff, spread};
use super::context::Context;
use super::erased::AnyPeriodic;
use super::failure::{Failure, Result};
use super::job::{Done, Placement};
use super::lease::Lease;
use super::leased::{self, Leased, Terms};
use super::mailbox::{Mailbox, RunResult, Wakeup};
use super::run::{End, Work, guarded, rounds};
use super::run_log::RunLog;
use super::status::StatusCell;

pub(super) struct PeriodicTask {
    context: Arc<Context>,
    job: Box<dyn AnyPeriodic>,
    status: Arc<StatusCell>,
    mailbox: Mailbox,
    lease: Lease,
    run_log: RunLog,
    /// A run was requested but has not started, because another instance had the lease.
    requested: bool,
    failed_in_row: u64,
}

impl PeriodicTask {
    pub(super) fn new(
        context: Arc<Context>,
        job: Box<dyn AnyPeriodic>,
        status: Arc<StatusCell>,
        mailbox: Mailbox,
    ) -> PeriodicTask {
        PeriodicTask {
            lease: Lease::new(Arc::clone(&context), job.name()),
            context,
            job,
            status,
            mailbox,
            run_log: RunLog::default(),
            requested: false,
            failed_in_row: 0,
        }
    }

    /// Runs the job until the driver stops.
    pub(super) async fn run(mut self) {
        let is_alone = self.job.placement() == Placement::OneInstance;
        if !is_alone && let Ok((record, _)) = self.lease.read().await {
            self.status.restore(&record);
        }
        let mut wait = Duration::ZERO;
        while let Some(wakeup) = self.mailbox.next(wait).await {
            wait = if is_alone { self.alone(wakeup).await } else { self.everywhere(wakeup).await };
        }
        self.run_log.flush(&self.context, self.job.name()).await;
    }

    /// Runs the job if it gets the lease. Returns the wait until the next time.
    async fn alone(&mut self, wakeup: Wakeup) -> Duration {
        self.requested |= wakeup.is_requested();
        let terms = Terms {
            every: self.job.every(),
            deadline: self.deadline(),
            requested: self.requested,
            owe: false,
        };
        let (context, job) = (&self.context, self.job.as_ref());
        let items_max = job.items_max().unwrap_or(context.settings.items_max);
        let work = |lost: watch::Receiver<bool>| -> super::erased::Boxed<'_, Result<Done>> {
            Box::pin(rounds(context, Work::Run(job), items_max, terms.deadline, lost))
        };
        match leased::run(&mut self.lease, &self.status, terms, work).await {
            Leased::Elsewhere(owner, wait) => {
                wakeup.reply(RunResult::Elsewhere(owner));
                wait
            }
            Leased::NotDue(wait) => {
                wakeup.reply(RunResult::Failed(Failure::new("other instances were faster")));
                wait
            }
            Leased::Fault(failure) => {
                self.status.fault(&failure);
                let wait = self.wait_after(Some(failure.text()));
                wakeup.reply(RunResult::Failed(failure));
                wait
            }
            Leased::Completed(ran, wait) => {
                self.requested = false;
                self.failed_in_row = 0;
                wakeup.reply(ran);
                wait
            }
        }
    }

    /// Runs the job. Returns the wait until the next time.
    async fn everywhere(&mut self, wakeup: Wakeup) -> Duration {
        let started = self.context.start();
        self.status.running(started.at_ms, None);
        let (_keep, lost) = watch::channel(false);
        let deadline = self.deadline();
        let items_max = self.job.items_max().unwrap_or(self.context.settings.items_max);
        let work = Work::Run(self.job.as_ref());
        let work = Box::pin(rounds(&self.context, work, items_max, deadline, lost));
        let phase = self.context.phase.clone();
        let End::Ended(result) = guarded(work, deadline, phase, pending()).await else {
            wakeup.reply(RunResult::Stopping);
            return Duration::ZERO;
        };
        let ended = self.context.ended(started, &result);
        self.status.ended(&ended);
        let rest = self.wait_after(ended.error.as_deref());
        self.run_log.record(&self.context, self.job.name(), &ended).await;
        let (ran, wait) = match result {
            Err(failure) => (RunResult::Failed(failure), rest),
            Ok(done) if done.more => (RunResult::Done(done), self.context.settings.rest),
            Ok(done) => (RunResult::Done(done), rest),
        };
        wakeup.reply(ran);
        wait
    }

    /// The wait after a run with this result.
    fn wait_after(&mut self, error: Option<&str>) -> Duration {
        let wait = match error {
            None => {
                self.failed_in_row = 0;
                self.job.every()
            }
            Some(error) => {
                tracing::warn!(job = self.job.name(), error, "a job failed");
                self.failed_in_row = self.failed_in_row.saturating_add(1);
                backoff(self.failed_in_row, &self.context.settings)
            }
        };
        self.status.resting(self.context.later_ms(wait));
        spread(wait)
    }

    fn deadline(&self) -> Duration {
        self.job.deadline().unwrap_or(self.context.settings.deadline)
    }
}
