//! Sums up what the counters' changes made dirty, at the pace that the operator set.
//!
//! It reads the feed itself instead of being fed, because being fed has the driver's pace: a busy total would be written every
//! second, and on DynamoDB each of these is paid for. The feed's position moves on when the totals are written, so what a
//! crash interrupts is read again, and summing up again does no harm.

use std::time::Duration;

use tokio::sync::Mutex;
use weir_keeper::Keeper;
use weir_keeper::aggregate::Dirty;
use weir_table::feed::{Consumer, POSITIONS_TABLE, Position};
use weir_table::{AnyBackend, Error};

use crate::app::App;
use crate::jobs::{Done, Periodic, Place, Result, Turn};

const NAME: &str = "keeper-aggregate";
/// Changes that are summed up together.
const CHANGES: usize = 1000;
/// Batches of one round.
const BATCHES_MAX: u32 = 100;
/// Things of the configuration that one page of a full pass looks at, and pages of one.
const PASS_ITEMS: u32 = 100;
const PASS_PAGES_MAX: u32 = 10_000;

/// The job.
pub(super) struct Aggregate {
    app: App,
    keeper: Keeper<AnyBackend>,
    every: Duration,
    owner: String,
    feed: Mutex<Option<Consumer<AnyBackend>>>,
}

impl Aggregate {
    pub(super) fn new(app: &App, keeper: Keeper<AnyBackend>, every: Duration) -> Aggregate {
        Aggregate { app: app.clone(), keeper, every, owner: owner(app), feed: Mutex::default() }
    }

    fn consumer(&self) -> weir_table::Result<Consumer<AnyBackend>> {
        Consumer::new(
            self.app.store().clone(),
            self.keeper.tables().usage_agg_sharded.as_str(),
            NAME,
            self.owner.as_str(),
            POSITIONS_TABLE,
            Position::Oldest,
            self.app.clock().clone(),
        )
    }

    /// Sums up the next changes; none when there are none.
    async fn step(&self, feed: &mut Consumer<AnyBackend>) -> Result<Option<u64>> {
        let batch = match Box::pin(feed.poll(CHANGES)).await {
            Ok(Some(batch)) => batch,
            Ok(None) => return Ok(None),
            Err(Error::Trimmed) => return self.begin_anew(feed).await.map(Some),
            Err(error) => return Err(error.into()),
        };
        let changes = batch.changes.len() as u64;
        let summed = self.keeper.aggregate(&Dirty::of(&batch.changes)).await?;
        self.app.metrics().keeper.summed(&summed);
        feed.commit(batch).await?;
        Ok(Some(changes))
    }

    /// The feed no longer has what comes next: it begins anew, and all of today and yesterday is summed up.
    async fn begin_anew(&self, feed: &mut Consumer<AnyBackend>) -> Result<u64> {
        feed.restart_from_latest().await?;
        let (mut scopes, mut cursor) = (0, None);
        for _ in 0..PASS_PAGES_MAX {
            let passed = self.keeper.full_pass(cursor.as_deref(), PASS_ITEMS).await?;
            self.app.metrics().keeper.summed(&passed.summed);
            scopes += passed.scopes;
            cursor = passed.next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(scopes)
    }
}

/// A name that no other instance has; an embedded store has one instance at a time, which takes up its own leases.
fn owner(app: &App) -> String {
    match app.store().backend() {
        #[cfg(feature = "embedded")]
        AnyBackend::Embedded(_) => "embedded".to_owned(),
        _ => format!("{}-{:016x}", std::process::id(), fastrand::u64(..)),
    }
}

impl Periodic for Aggregate {
    fn name(&self) -> &str {
        NAME
    }

    fn every(&self) -> Duration {
        self.every
    }

    fn place(&self) -> Place {
        Place::Everywhere
    }

    async fn run(&self, turn: &Turn) -> Result<Done> {
        let mut kept = self.feed.lock().await;
        // Taken out, so that one that fails, or is cut off, is made anew: it begins where the position is.
        let mut feed = match kept.take() {
            Some(feed) => feed,
            None => self.consumer()?,
        };
        let mut done = Done::default();
        for _ in 0..BATCHES_MAX {
            match self.step(&mut feed).await? {
                Some(changes) => done.items += changes,
                None => {
                    *kept = Some(feed);
                    return Ok(done);
                }
            }
            if turn.stopping() {
                feed.release().await?;
                return Ok(done);
            }
        }
        *kept = Some(feed);
        done.more = true;
        Ok(done)
    }
}
