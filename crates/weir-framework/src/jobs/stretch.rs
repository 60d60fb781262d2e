//! Reads a long stretch of a feed for a job that counts, and writes what it came to.
//!
//! A run counts what there was when it began: a shard whose end was reached is left for the next run, because to follow what
//! keeps coming would be to write every item again for a handful of changes.

use tokio::time::Instant;
use weir_table::Error;
use weir_table::feed::{Change, Stretch};
use weir_table::limits::FEED_READ_MAX;

use super::erased::{AnyFed, AnyTally};
use super::failure::{Failure, Result};
use super::hub::Hub;
use super::pace::millis;
use super::reader::{Reader, Step, consumer};
use super::settings::{ENTRIES_MAX, FOLD_MAX, LEASE_PART, TAIL_PART};
use super::status::Board;
use super::turn::Turn;

/// What was read.
enum Folded<'j> {
    Stretch(Box<Stretch>, Box<dyn AnyTally + 'j>, Counted),
    Nothing,
    Trimmed,
}

/// How many changes were folded, and when the last was made.
#[derive(Default)]
struct Counted {
    changes: usize,
    last_ms: u64,
}

impl Reader {
    /// Counts one stretch.
    pub(super) async fn stretch(
        &mut self,
        hub: &Hub,
        job: &dyn AnyFed,
        board: &Board,
        turn: &Turn,
    ) -> Result<Step> {
        self.follow_clock(hub, job, turn.now_ms())?;
        let mut folded = self.fold(hub, job, board, turn).await?;
        if matches!(folded, Folded::Trimmed) {
            // Another instance may have begun the feed anew, which a new consumer finds out.
            self.consumer = consumer(hub, job)?;
            folded = self.fold(hub, job, board, turn).await?;
        }
        let (stretch, tally, counted) = match folded {
            Folded::Stretch(stretch, tally, counted) => (stretch, tally, counted),
            Folded::Nothing => {
                board.caught_up();
                return Ok(Step::Empty);
            }
            Folded::Trimmed => return Ok(Step::Trimmed),
        };
        let writes = tally.writes(turn).await?;
        if !Box::pin(self.consumer.settle(*stretch, writes)).await? {
            return Ok(Step::Again);
        }
        board.handled(counted.last_ms);
        Ok(Step::Handled(counted.changes as u64))
    }

    /// Reads a stretch chunk by chunk; each is dropped once it is folded.
    async fn fold<'j>(
        &mut self,
        hub: &Hub,
        job: &'j dyn AnyFed,
        board: &Board,
        turn: &Turn,
    ) -> Result<Folded<'j>> {
        let Some(mut tally) = job.tally() else { return Ok(Folded::Nothing) };
        let started = Instant::now();
        let mut counted = Counted::default();
        let begun = Box::pin(self.consumer.stretch(FEED_READ_MAX, &self.passed)).await;
        let mut stretch = match begun {
            Ok(Some(stretch)) => stretch,
            Ok(None) => return Ok(Folded::Nothing),
            Err(error) => return trimmed(error),
        };
        loop {
            let read = Box::pin(self.consumer.read_on(&mut stretch, FEED_READ_MAX)).await;
            let changes = match read {
                Ok(changes) => changes,
                Err(error) => return trimmed(error),
            };
            let Some(first) = changes.first() else { break };
            board.behind(first.first_ms());
            board.running(turn.now_ms(), None);
            let read = stretch.read() - counted.changes;
            counted.changes = stretch.read();
            counted.last_ms = changes.iter().map(|change| change.at_ms).max().unwrap_or_default();
            let is_tail = stretch.is_open() && is_tail(hub, job, read, counted.last_ms, turn);
            if is_tail {
                self.passed.insert(stretch.shard().to_owned());
            }
            let entries = fold_in_parts(tally.as_mut(), changes).await?;
            let is_enough = is_tail
                || counted.changes >= hub.settings.stretch_max
                || entries >= ENTRIES_MAX
                || started.elapsed() >= hub.settings.lease / LEASE_PART
                || turn.stopping();
            // One that was left in part must come to what it came to then.
            if is_enough && !stretch.is_left() {
                break;
            }
        }
        if stretch.is_last() {
            self.passed.insert(stretch.shard().to_owned());
        }
        Ok(Folded::Stretch(Box::new(stretch), tally, counted))
    }
}

/// Folds changes a few at a time, so that requests on the same thread do not wait for all of them.
async fn fold_in_parts(tally: &mut dyn AnyTally, changes: Vec<Change>) -> Result<usize> {
    let mut rest = changes.into_iter();
    loop {
        // Parts of their own: to split what is left off again and again would move all of it each time.
        let entries = tally.fold(rest.by_ref().take(FOLD_MAX).collect())?;
        tokio::task::yield_now().await;
        if rest.len() == 0 {
            return Ok(entries);
        }
    }
}

/// Whether the end of the feed is near: few changes came, and the last of them was made not long ago. A DynamoDB stream may
/// return few of many, so few alone do not tell.
fn is_tail(hub: &Hub, job: &dyn AnyFed, read: usize, last_ms: u64, turn: &Turn) -> bool {
    let every = job.every().unwrap_or(hub.settings.feed_poll);
    let is_new = last_ms.saturating_add(millis(every)) >= turn.now_ms();
    is_new && read < FEED_READ_MAX / TAIL_PART
}

fn trimmed<'j>(error: Error) -> Result<Folded<'j>> {
    match error {
        Error::Trimmed => Ok(Folded::Trimmed),
        error => Err(Failure::from(error)),
    }
}
