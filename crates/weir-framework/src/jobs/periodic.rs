//! The task of a periodic job: waits, runs, waits.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::desk::{Call, Desk, Ran};
use super::erased::AnyPeriodic;
use super::failure::{Failure, Result};
use super::hub::Hub;
use super::job::{Done, Place};
use super::lease::Lease;
use super::leased::{self, Leased, Terms};
use super::pace::{backoff, spread};
use super::run::{End, Work, guarded, rounds};
use super::status::Board;
use super::tally::Tally;

pub(super) struct PeriodicTask {
    hub: Arc<Hub>,
    job: Box<dyn AnyPeriodic>,
    board: Arc<Board>,
    desk: Desk,
    lease: Lease,
    tally: Tally,
    /// Somebody wants a run, which has not begun because another instance had the lease.
    wanted: bool,
    failed_in_row: u64,
}

impl PeriodicTask {
    pub(super) fn new(
        hub: Arc<Hub>,
        job: Box<dyn AnyPeriodic>,
        board: Arc<Board>,
        desk: Desk,
    ) -> PeriodicTask {
        PeriodicTask {
            lease: Lease::new(Arc::clone(&hub), job.name()),
            hub,
            job,
            board,
            desk,
            tally: Tally::default(),
            wanted: false,
            failed_in_row: 0,
        }
    }

    /// Runs the job until the driver stops.
    pub(super) async fn live(mut self) {
        let is_alone = self.job.place() == Place::Alone;
        if !is_alone && let Ok((record, _)) = self.lease.look().await {
            self.board.saw(&record);
        }
        let mut wait = Duration::ZERO;
        while let Some(call) = self.desk.next(wait).await {
            wait = if is_alone { self.alone(call).await } else { self.everywhere(call).await };
        }
        self.tally.tell(&self.hub, self.job.name()).await;
    }

    /// Runs the job if the lease can be had. Returns how long to wait then.
    async fn alone(&mut self, call: Call) -> Duration {
        self.wanted |= call.is_wanted();
        let terms = Terms {
            every: self.job.every(),
            deadline: self.deadline(),
            asked: self.wanted,
            owe: false,
        };
        let (hub, job) = (&self.hub, self.job.as_ref());
        let items_max = job.items_max().unwrap_or(hub.settings.items_max);
        let work = |lost: watch::Receiver<bool>| -> super::erased::Boxed<'_, Result<Done>> {
            Box::pin(rounds(hub, Work::Run(job), items_max, terms.deadline, lost))
        };
        match leased::run(&mut self.lease, &self.board, terms, work).await {
            Leased::Elsewhere(owner, wait) => {
                call.answer(Ran::Elsewhere(owner));
                wait
            }
            Leased::NotDue(wait) => {
                call.answer(Ran::Failed(Failure::new("other instances were faster")));
                wait
            }
            Leased::Fault(failure) => {
                self.board.fault(&failure);
                let wait = self.wait_after(Some(failure.text()));
                call.answer(Ran::Failed(failure));
                wait
            }
            Leased::Ran(ran, wait) => {
                self.wanted = false;
                self.failed_in_row = 0;
                call.answer(ran);
                wait
            }
        }
    }

    /// Runs the job. Returns how long to wait then.
    async fn everywhere(&mut self, call: Call) -> Duration {
        let started = self.hub.start();
        self.board.running(started.at_ms, None);
        let (_keep, lost) = watch::channel(false);
        let deadline = self.deadline();
        let items_max = self.job.items_max().unwrap_or(self.hub.settings.items_max);
        let work = Work::Run(self.job.as_ref());
        let work = Box::pin(rounds(&self.hub, work, items_max, deadline, lost));
        let phase = self.hub.phase.clone();
        let End::Ended(result) = guarded(work, deadline, phase, pending()).await else {
            call.answer(Ran::Stopping);
            return Duration::ZERO;
        };
        let ended = self.hub.ended(started, &result);
        self.board.ended(&ended);
        let rest = self.wait_after(ended.error.as_deref());
        self.tally.note(&self.hub, self.job.name(), &ended).await;
        let (ran, wait) = match result {
            Err(failure) => (Ran::Failed(failure), rest),
            Ok(done) if done.more => (Ran::Done(done), self.hub.settings.rest),
            Ok(done) => (Ran::Done(done), rest),
        };
        call.answer(ran);
        wait
    }

    /// How long to wait after a run that ended so.
    fn wait_after(&mut self, error: Option<&str>) -> Duration {
        let wait = match error {
            None => {
                self.failed_in_row = 0;
                self.job.every()
            }
            Some(error) => {
                tracing::warn!(job = self.job.name(), error, "a job failed");
                self.failed_in_row = self.failed_in_row.saturating_add(1);
                backoff(self.failed_in_row, &self.hub.settings)
            }
        };
        self.board.resting(self.hub.later_ms(wait));
        spread(wait)
    }

    fn deadline(&self) -> Duration {
        self.job.deadline().unwrap_or(self.hub.settings.deadline)
    }
}
