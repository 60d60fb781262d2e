//! Reads a feed window by window, folds the changes into the job's accumulator, and commits the resulting writes.
//!
//! A run processes the changes that exist when it starts. A shard that was read to its end waits for the next run, because
//! following a busy feed closely would rewrite every item for a handful of changes.

use std::collections::BTreeSet;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_table::feed::{Change, Consumer, FeedWindow, POSITIONS_TABLE};
use weir_table::limits::FEED_READ_MAX;
use weir_table::{AnyBackend, Error};

use super::backoff::millis;
use super::context::Context;
use super::erased::{AnyAccumulator, AnyFeedJob};
use super::failure::{Failure, Result};
use super::job::Done;
use super::run_context::RunContext;
use super::settings::{ENTRIES_MAX, FOLD_MAX, LEASE_PART, TAIL_PART};
use super::status::StatusCell;

/// The result of reading.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// The number of changes; `more` is set if there may be more.
    Done(Done),
    /// The feed was trimmed past the position.
    Trimmed,
}

/// The result of one window.
enum Step {
    Counted(u64),
    /// Another instance took the shard over.
    Lost,
    Empty,
    Trimmed,
}

/// A window whose changes are folded.
enum Folded<'j> {
    Window(Box<FeedWindow>, Box<dyn AnyAccumulator + 'j>, Counted),
    Nothing,
    Trimmed,
}

/// Number of folded changes, and the time of the last.
#[derive(Default)]
struct Counted {
    changes: usize,
    last_ms: u64,
}

pub(super) struct Reader {
    pub(super) consumer: Consumer<AnyBackend>,
    polled_ms: u64,
    /// Shards that a run has read to their end.
    passed: BTreeSet<String>,
}

fn consumer(context: &Context, job: &dyn AnyFeedJob) -> weir_table::Result<Consumer<AnyBackend>> {
    let consumer = Consumer::new(
        context.store.clone(),
        job.table(),
        job.name(),
        &context.instance,
        POSITIONS_TABLE,
        job.start(),
        context.clock.clone(),
    )?;
    Ok(consumer.lease_ms(millis(context.settings.lease)).merging(job.merge()))
}

impl Reader {
    pub(super) fn new(context: &Context, job: &dyn AnyFeedJob) -> weir_table::Result<Reader> {
        Ok(Reader { consumer: consumer(context, job)?, polled_ms: 0, passed: BTreeSet::new() })
    }

    /// Processes windows until there are none, within the bounds of rounds and time.
    pub(super) async fn read(
        &mut self,
        context: &Context,
        job: &dyn AnyFeedJob,
        status: &StatusCell,
        lost: watch::Receiver<bool>,
    ) -> Result<Read> {
        let started = Instant::now();
        let within = job.deadline().unwrap_or(context.settings.deadline);
        let mut total = Done::default();
        self.passed.clear();
        for _ in 0..context.settings.rounds_max {
            let run = context.run(context.settings.items_max, &lost);
            if run.stopping() || started.elapsed() >= within / 2 {
                break;
            }
            match self.count_window(context, job, status, &run).await? {
                Step::Counted(changes) => total.items += changes,
                Step::Lost => {}
                Step::Empty => return Ok(Read::Done(total)),
                Step::Trimmed => return Ok(Read::Trimmed),
            }
            tokio::task::yield_now().await;
        }
        total.more = true;
        Ok(Read::Done(total))
    }

    async fn count_window(
        &mut self,
        context: &Context,
        job: &dyn AnyFeedJob,
        status: &StatusCell,
        run: &RunContext,
    ) -> Result<Step> {
        // A consumer's times may precede a clock that was set back; those of a new one do not.
        if run.now_ms() < self.polled_ms {
            self.consumer = consumer(context, job)?;
        }
        self.polled_ms = run.now_ms();
        let mut folded = self.fold(context, job, status, run).await?;
        if matches!(folded, Folded::Trimmed) {
            // Another instance may have restarted the feed, which a new consumer finds out.
            self.consumer = consumer(context, job)?;
            folded = self.fold(context, job, status, run).await?;
        }
        let (window, accumulator, counted) = match folded {
            Folded::Window(window, accumulator, counted) => (window, accumulator, counted),
            Folded::Nothing => {
                status.caught_up();
                return Ok(Step::Empty);
            }
            Folded::Trimmed => return Ok(Step::Trimmed),
        };
        let writes = accumulator.writes(run).await?;
        if !Box::pin(self.consumer.commit(*window, writes)).await? {
            return Ok(Step::Lost);
        }
        status.handled(counted.last_ms);
        Ok(Step::Counted(counted.changes as u64))
    }

    /// Reads a window page by page; each page is dropped once it is folded.
    async fn fold<'j>(
        &mut self,
        context: &Context,
        job: &'j dyn AnyFeedJob,
        status: &StatusCell,
        run: &RunContext,
    ) -> Result<Folded<'j>> {
        let mut accumulator = job.accumulator();
        let started = Instant::now();
        let mut counted = Counted::default();
        let mut window =
            match Box::pin(self.consumer.next_window(FEED_READ_MAX, &self.passed)).await {
                Ok(Some(window)) => window,
                Ok(None) => return Ok(Folded::Nothing),
                Err(error) => return trimmed(error),
            };
        loop {
            let changes = match Box::pin(self.consumer.read(&mut window, FEED_READ_MAX)).await {
                Ok(changes) => changes,
                Err(error) => return trimmed(error),
            };
            let Some(first) = changes.first() else { break };
            status.behind(first.first_ms());
            status.running(run.now_ms(), None);
            let read = window.changes_read() - counted.changes;
            counted.changes = window.changes_read();
            counted.last_ms = changes.iter().map(|change| change.at_ms).max().unwrap_or_default();
            let is_tail = window.is_open() && is_tail(context, job, read, counted.last_ms, run);
            if is_tail {
                self.passed.insert(window.shard().to_owned());
            }
            let entries = fold_in_parts(accumulator.as_mut(), changes).await?;
            let is_enough = is_tail
                || counted.changes >= context.settings.window_max
                || entries >= ENTRIES_MAX
                || started.elapsed() >= context.settings.lease / LEASE_PART
                || run.stopping();
            // A resumed window must end where it ended before.
            if is_enough && !window.is_resumed() {
                break;
            }
        }
        if window.reaches_end() {
            self.passed.insert(window.shard().to_owned());
        }
        Ok(Folded::Window(Box::new(window), accumulator, counted))
    }
}

/// Folds changes a few at a time, so that requests on the same thread do not wait for all of them.
async fn fold_in_parts(
    accumulator: &mut dyn AnyAccumulator,
    changes: Vec<Change>,
) -> Result<usize> {
    let mut rest = changes.into_iter();
    loop {
        let entries = accumulator.fold(rest.by_ref().take(FOLD_MAX).collect())?;
        tokio::task::yield_now().await;
        if rest.len() == 0 {
            return Ok(entries);
        }
    }
}

/// Whether the end of the feed is near: few changes came, and the last of them was made not long ago. A DynamoDB stream may
/// return few of many, so few alone do not prove it.
fn is_tail(
    context: &Context,
    job: &dyn AnyFeedJob,
    read: usize,
    last_ms: u64,
    run: &RunContext,
) -> bool {
    let every = job.every().unwrap_or(context.settings.feed_poll);
    let is_new = last_ms.saturating_add(millis(every)) >= run.now_ms();
    is_new && read < FEED_READ_MAX / TAIL_PART
}

fn trimmed<'j>(error: Error) -> Result<Folded<'j>> {
    match error {
        Error::Trimmed => Ok(Folded::Trimmed),
        error => Err(Failure::from(error)),
    }
}
