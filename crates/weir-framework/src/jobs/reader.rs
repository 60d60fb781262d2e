//! Reads a feed batch by batch, and brings what a job writes of each batch in with the feed's
//! position, in one transaction. So a change that is delivered again counts once. `stretch` does so
//! for jobs that count.

use std::collections::BTreeSet;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_table::feed::{Batch, Consumer, POSITIONS_TABLE};
use weir_table::{AnyBackend, Error, Transacted, Transaction, Verdict, Write};

use super::erased::AnyFed;
use super::failure::{Failure, Result};
use super::hub::Hub;
use super::job::Done;
use super::pace::{millis, spread};
use super::settings::{COMMIT_TRIES, PAUSE_MIN, WRITES_MAX};
use super::status::Board;
use super::turn::Turn;

/// What reading came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Changes were handled; `more` when there may be more.
    Done(Done),
    /// The feed no longer has what comes next.
    Trimmed,
}

/// What one batch or stretch came to.
pub(super) enum Step {
    Handled(u64),
    Again,
    Empty,
    Trimmed,
}

pub(super) struct Reader {
    pub(super) consumer: Consumer<AnyBackend>,
    /// How many changes a batch may have; fewer after one was too much for a transaction.
    changes_max: usize,
    polled_ms: u64,
    /// Shards that a run has read to their end.
    pub(super) passed: BTreeSet<String>,
}

pub(super) fn consumer(hub: &Hub, job: &dyn AnyFed) -> weir_table::Result<Consumer<AnyBackend>> {
    let consumer = Consumer::new(
        hub.store.clone(),
        job.table(),
        job.name(),
        &hub.instance,
        POSITIONS_TABLE,
        job.start(),
        hub.clock.clone(),
    )?;
    Ok(consumer.lease_ms(millis(hub.settings.lease)).merging(job.merge()))
}

impl Reader {
    pub(super) fn new(hub: &Hub, job: &dyn AnyFed) -> weir_table::Result<Reader> {
        Ok(Reader {
            consumer: consumer(hub, job)?,
            changes_max: hub.settings.changes_max,
            polled_ms: 0,
            passed: BTreeSet::new(),
        })
    }

    /// Handles batches until there are none, up to the bounds of rounds and time.
    pub(super) async fn read(
        &mut self,
        hub: &Hub,
        job: &dyn AnyFed,
        board: &Board,
        lost: watch::Receiver<bool>,
    ) -> Result<Read> {
        let started = Instant::now();
        let within = job.deadline().unwrap_or(hub.settings.deadline);
        let mut total = Done::default();
        self.passed.clear();
        for _ in 0..hub.settings.rounds_max {
            let turn = hub.turn(self.changes_max as u64, &lost);
            if turn.stopping() || started.elapsed() >= within / 2 {
                break;
            }
            let step = match job.tally() {
                Some(_) => self.stretch(hub, job, board, &turn).await?,
                None => self.step(hub, job, board, &turn).await?,
            };
            match step {
                Step::Handled(changes) => total.items += changes,
                Step::Again => {}
                Step::Empty => return Ok(Read::Done(total)),
                Step::Trimmed => return Ok(Read::Trimmed),
            }
            tokio::task::yield_now().await;
        }
        total.more = true;
        Ok(Read::Done(total))
    }

    async fn step(
        &mut self,
        hub: &Hub,
        job: &dyn AnyFed,
        board: &Board,
        turn: &Turn,
    ) -> Result<Step> {
        let batch = match self.poll(hub, job, turn.now_ms()).await {
            Ok(Some(batch)) => batch,
            Ok(None) => {
                board.caught_up();
                return Ok(Step::Empty);
            }
            Err(Error::Trimmed) => return Ok(Step::Trimmed),
            Err(error) => return Err(error.into()),
        };
        if let Some(first) = batch.changes.first() {
            board.behind(first.at_ms);
            board.running(turn.now_ms(), None);
        }
        for _ in 0..COMMIT_TRIES {
            let writes = job.handle(&batch.changes, turn).await?;
            if writes.len() > WRITES_MAX {
                let problem = format!("{} writes; {WRITES_MAX} are allowed", writes.len());
                return self.with_fewer(&batch, Failure::new(problem));
            }
            match self.commit(hub, &batch, writes).await? {
                Commit::Done => {
                    if let Some(last) = batch.changes.last() {
                        board.handled(last.at_ms);
                    }
                    self.changes_max = grown(self.changes_max).min(hub.settings.changes_max);
                    return Ok(Step::Handled(batch.changes.len() as u64));
                }
                Commit::Lost => return Ok(Step::Again),
                Commit::TooMuch(failure) => return self.with_fewer(&batch, failure),
                Commit::Stale => tokio::time::sleep(spread(PAUSE_MIN * 10)).await,
            }
        }
        let problem = format!("the writes of a batch were refused {COMMIT_TRIES} times");
        Err(Failure::new(problem))
    }

    async fn poll(
        &mut self,
        hub: &Hub,
        job: &dyn AnyFed,
        now_ms: u64,
    ) -> weir_table::Result<Option<Batch>> {
        self.follow_clock(hub, job, now_ms)?;
        match Box::pin(self.consumer.poll(self.changes_max)).await {
            Err(Error::Trimmed) => {
                // Another instance may have begun the feed anew, which a new consumer finds out.
                self.consumer = consumer(hub, job)?;
                Box::pin(self.consumer.poll(self.changes_max)).await
            }
            polled => polled,
        }
    }

    /// A consumer counts its times from before a clock was set back; a new one does not.
    pub(super) fn follow_clock(
        &mut self,
        hub: &Hub,
        job: &dyn AnyFed,
        now_ms: u64,
    ) -> weir_table::Result<()> {
        if now_ms < self.polled_ms {
            self.consumer = consumer(hub, job)?;
        }
        self.polled_ms = now_ms;
        Ok(())
    }

    async fn commit(&mut self, hub: &Hub, batch: &Batch, writes: Vec<Write>) -> Result<Commit> {
        let writes = writes.into_iter().chain([batch.checkpoint()]);
        match hub.transact(Transaction::new(writes)).await {
            Ok(Transacted::Applied) => {
                self.consumer.committed(batch);
                Ok(Commit::Done)
            }
            Ok(Transacted::Refused(verdicts)) => {
                // The checkpoint is the last. When it failed, another instance has the shard.
                if let Some(Verdict::Failed(_)) = verdicts.last() {
                    self.consumer.lost(batch);
                    return Ok(Commit::Lost);
                }
                Ok(Commit::Stale)
            }
            Err(Error::Conflict) => Ok(Commit::Stale),
            Err(error) if error.is_invalid() => Ok(Commit::TooMuch(error.into())),
            Err(error) => {
                // Whether it was written is not known; the position will tell.
                self.consumer.lost(batch);
                Err(error.into())
            }
        }
    }

    /// The next try takes half as many changes; with one alone there is nothing to halve.
    fn with_fewer(&mut self, batch: &Batch, failure: Failure) -> Result<Step> {
        if batch.changes.len() <= 1 {
            return Err(failure);
        }
        self.changes_max = batch.changes.len() / 2;
        Ok(Step::Again)
    }
}

/// How many changes to take after so many went well: an eighth more. What was too much once is likely too much again, and a
/// batch that is too much was read in vain.
fn grown(changes: usize) -> usize {
    changes.saturating_add(changes / 8).saturating_add(1)
}

/// What a transaction with a batch's checkpoint came to.
enum Commit {
    Done,
    /// Another instance has the shard.
    Lost,
    /// What the job's writes rest on has changed; ask the job again.
    Stale,
    /// It cannot be written as it is.
    TooMuch(Failure),
}
