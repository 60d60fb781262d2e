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

use super::desk::{Call, Desk, Ran};
use super::erased::{AnyCounting, Boxed};
use super::failure::{Failure, Result};
use super::hub::{Hub, Started};
use super::job::Done;
use super::lease::Lease;
use super::leased::{self, Leased, Terms};
use super::pace::{backoff, millis, spread};
use super::reader::{Read, Reader};
use super::record::Outcome;
use super::run::{End, Work, guarded, rounds};
use super::settings::LATE;
use super::status::Board;
use super::tally::Tally;
use super::turn::Phase;
use super::unhurried::unhurried;

pub(super) struct CountingTask {
    hub: Arc<Hub>,
    job: Box<dyn AnyCounting>,
    board: Arc<Board>,
    desk: Desk,
    lease: Lease,
    tally: Tally,
    reader: Reader,
    failed_in_row: u64,
    /// When to look next whether a full pass is owed.
    look_at: Instant,
    looked: bool,
    /// Why the last full pass failed, while it is owed.
    pass_failed: Option<Failure>,
}

impl CountingTask {
    pub(super) fn new(
        hub: Arc<Hub>,
        job: Box<dyn AnyCounting>,
        board: Arc<Board>,
        desk: Desk,
    ) -> weir_table::Result<CountingTask> {
        Ok(CountingTask {
            lease: Lease::new(Arc::clone(&hub), job.name()),
            reader: Reader::new(&hub, job.as_ref())?,
            hub,
            job,
            board,
            desk,
            tally: Tally::default(),
            failed_in_row: 0,
            look_at: Instant::now(),
            looked: false,
            pass_failed: None,
        })
    }

    /// Follows the feed until the driver stops, then gives its shards back.
    pub(super) async fn live(mut self) {
        let mut wait = Duration::ZERO;
        while let Some(call) = self.desk.next(wait).await {
            wait = self.turn(call).await;
        }
        if let Err(error) = self.reader.consumer.release().await {
            tracing::warn!(job = self.job.name(), %error, "a feed's leases were not given back");
        }
        self.tally.tell(&self.hub, self.job.name()).await;
    }

    /// Does an owed pass and reads. Returns how long to wait then.
    async fn turn(&mut self, call: Call) -> Duration {
        if Instant::now() >= self.look_at {
            self.look().await;
        }
        let started = self.hub.start();
        let (ran, wait) = match self.read(call.is_wanted()).await {
            End::Ended(Ok(Read::Trimmed)) => {
                let (ran, wait) = self.pass(true).await;
                // However long the pass has to wait, the feed that begins anew is read.
                (ran, wait.min(self.every()))
            }
            End::Ended(Ok(Read::Done(done))) => {
                let wait = if done.more { self.hub.settings.rest } else { self.every() };
                self.went_well(started, &done, call.is_wanted()).await;
                (Ran::Done(done), wait)
            }
            End::Ended(Err(failure)) => self.went_wrong(started, failure).await,
            End::Lost | End::CutOff => (Ran::Stopping, Duration::ZERO),
        };
        self.board.resting(self.hub.later_ms(wait));
        call.answer(ran);
        spread(wait)
    }

    fn every(&self) -> Duration {
        self.job.every().unwrap_or(self.hub.settings.feed_poll)
    }

    async fn read(&mut self, is_wanted: bool) -> End<Read> {
        let behind_ms = millis(self.every().saturating_mul(2).saturating_add(LATE));
        let (_keep, lost) = watch::channel(false);
        let (hub, job) = (&self.hub, self.job.as_ref());
        let deadline = job.deadline().unwrap_or(hub.settings.deadline);
        // The reader survives being cut off anywhere: what it believes is checked by conditions.
        let work = self.reader.read(hub, job, &self.board, lost);
        let hurries = || {
            is_wanted
                || *hub.phase.borrow() != Phase::Serving
                || self.board.is_behind(hub.now_ms(), behind_ms)
        };
        let work = Box::pin(unhurried(work, hurries));
        guarded(work, deadline, hub.phase.clone(), pending()).await
    }

    /// Reading ended well. Looks at a feed with nothing new are not counted as runs, unless somebody
    /// asked or they end a failure.
    async fn went_well(&mut self, started: Started, done: &Done, wanted: bool) {
        self.failed_in_row = 0;
        let is_news = wanted || self.board.last_outcome() != Some(Outcome::Ok);
        if done.items > 0 || (is_news && self.pass_failed.is_none()) {
            let ended = self.hub.ended(started, &Ok(done.clone()));
            self.board.ended(&ended);
            self.tally.note(&self.hub, self.job.name(), &ended).await;
        }
        if let Some(failure) = &self.pass_failed {
            self.board.fault(failure);
        }
    }

    async fn went_wrong(&mut self, started: Started, failure: Failure) -> (Ran, Duration) {
        let job = self.job.name();
        tracing::warn!(job, error = %failure, "a job failed");
        self.failed_in_row = self.failed_in_row.saturating_add(1);
        let ended = self.hub.ended(started, &Err(failure.clone()));
        self.board.ended(&ended);
        self.tally.note(&self.hub, job, &ended).await;
        let wait = backoff(self.failed_in_row, &self.hub.settings);
        (Ran::Failed(failure), wait)
    }

    /// Looks whether a full pass is owed, and does it.
    async fn look(&mut self) {
        self.look_at = Instant::now() + spread(self.hub.settings.pass_poll);
        match self.lease.look().await {
            Ok((record, _)) => {
                if !self.looked {
                    self.board.saw(&record);
                    self.looked = true;
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
    async fn pass(&mut self, trimmed: bool) -> (Ran, Duration) {
        let started = self.hub.start();
        let (hub, job) = (&self.hub, self.job.as_ref());
        // So that the table knows of no fewer runs than we do.
        self.tally.tell(hub, job.name()).await;
        let terms = Terms {
            every: Duration::ZERO,
            deadline: job.deadline().unwrap_or(hub.settings.deadline),
            asked: false,
            owe: trimmed,
        };
        let reader = Some(&mut self.reader).filter(|_| trimmed);
        let work = |lost: watch::Receiver<bool>| -> Boxed<'_, Result<Done>> {
            Box::pin(async move {
                if let Some(reader) = reader {
                    reader.consumer.restart_from_latest().await?;
                }
                let items_max = hub.settings.items_max;
                rounds(hub, Work::Pass(job), items_max, terms.deadline, lost).await
            })
        };
        match leased::run(&mut self.lease, &self.board, terms, work).await {
            Leased::Elsewhere(owner, wait) => (Ran::Elsewhere(owner), wait),
            Leased::NotDue(wait) => {
                let failure = Failure::new("a full pass is owed and will be tried again");
                (Ran::Failed(failure), wait)
            }
            Leased::Fault(failure) => self.went_wrong(started, failure).await,
            Leased::Ran(ran, wait) => {
                if !matches!(&ran, Ran::Done(done) if !done.more) {
                    self.look_at = Instant::now() + wait;
                }
                self.pass_failed = match &ran {
                    Ran::Failed(failure) => Some(failure.clone()),
                    Ran::Done(_) | Ran::Elsewhere(_) | Ran::Stopping => None,
                };
                (ran, wait)
            }
        }
    }
}
