//! A consumer reads a table's feed, on any number of instances, each change by one of them.
//!
//! 1. [`Consumer::poll`] leases shards that nobody reads, parents before children, and returns the
//!    next changes of one of them.
//! 2. The domain does what it does with them, and puts [`Batch::checkpoint`] into the same
//!    transaction. It is refused when another instance took the shard over or the position has
//!    moved, so no change is counted twice.
//! 3. It tells the consumer with [`Consumer::committed`] or [`Consumer::lost`]. A consumer whose
//!    work is not in a table calls [`Consumer::commit`] after it, and may see changes again.
//!
//! `stretch` is the other way to read: a long part of a shard at a time, whose writes need several transactions.
//!
//! A lease is only a courtesy that keeps instances apart; what makes the count right is the
//! condition of the checkpoint.
//!
//! A consumer left behind hears [`crate::Error::Trimmed`]. It calls [`Consumer::restart_from_latest`] (or
//! `_oldest`), then does its full pass, then polls again.

use std::collections::BTreeMap;

use super::lease::{LeaseWrites, Marks};
use super::{Change, FeedPage, Merge, Position, keys};
use crate::backend::Backend;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::limits;
use crate::request::Write;
use crate::store::Store;
use crate::value::Name;

/// How long a lease lasts that is not renewed, unless told otherwise.
pub const LEASE_MS: u64 = 30_000;
/// How often shards are listed.
const LIST_INTERVAL_MS: u64 = 10_000;

/// A reader of one table's feed. Its name is shared by all instances that read together.
#[derive(Debug)]
pub struct Consumer<B> {
    pub(super) store: Store<B>,
    pub(super) table: String,
    pub(super) name: String,
    pub(super) owner: String,
    pub(super) positions: Name,
    pub(super) first: Position,
    pub(super) clock: Clock,
    pub(super) lease_ms: u64,
    /// How changes of a stretch may be told.
    pub(super) merge: Option<Merge>,
    /// Shards that this instance reads.
    pub(super) held: BTreeMap<String, Held>,
    /// When shards were listed; none to list them at once.
    pub(super) listed_ms: Option<u64>,
    /// The shard that was read last, so that the next one has its turn.
    pub(super) last_read: String,
}

/// A shard this instance reads.
#[derive(Debug)]
pub(super) struct Held {
    /// The position in the table.
    pub(super) stored: Position,
    /// The position reached since, over what had no changes.
    pub(super) reached: Position,
    pub(super) until_ms: u64,
    /// The stretch that was under way when the item was read.
    pub(super) marks: Option<Marks>,
}

/// Changes of one shard, and the write that says they are done.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The shard.
    pub shard: String,
    /// Its next changes, in order.
    pub changes: Vec<Change>,
    from: Position,
    next: Position,
    until_ms: u64,
    checkpoint: Write,
    ended: bool,
}

impl Batch {
    /// Moves the position past these changes. Refused when somebody else did, or reads the shard.
    #[must_use]
    pub fn checkpoint(&self) -> Write {
        self.checkpoint.clone()
    }
}

impl<B: Backend> Consumer<B> {
    /// The consumer `name` of `table`'s feed, on the instance `owner`. When it has no position yet
    /// it begins at `start`. Positions are kept in `positions`, a table of
    /// [`super::positions_spec`].
    ///
    /// # Errors
    /// A name has a separator in it.
    pub fn new(
        store: Store<B>,
        table: impl Into<String>,
        name: impl Into<String>,
        owner: impl Into<String>,
        positions: impl Into<Name>,
        start: Position,
        clock: Clock,
    ) -> Result<Consumer<B>> {
        let (table, name) = (table.into(), name.into());
        keys::check_name("table", &table)?;
        keys::check_name("consumer", &name)?;
        Ok(Consumer {
            store,
            table,
            name,
            owner: owner.into(),
            positions: positions.into(),
            first: start,
            clock,
            lease_ms: LEASE_MS,
            merge: None,
            held: BTreeMap::new(),
            listed_ms: None,
            last_read: String::new(),
        })
    }

    /// Leases shards for `lease_ms` instead of [`LEASE_MS`].
    #[must_use]
    pub fn lease_ms(mut self, lease_ms: u64) -> Consumer<B> {
        self.lease_ms = lease_ms;
        self
    }

    /// Has several changes of a stretch told as one, as far as the back-end can.
    #[must_use]
    pub fn merging(mut self, merge: Option<Merge>) -> Consumer<B> {
        self.merge = merge;
        self
    }

    /// The next changes of one shard, at most `max`; none when there is nothing new for us.
    /// Until they are committed the same changes come again.
    ///
    /// # Errors
    /// [`crate::Error::Trimmed`] when the feed no longer has them; otherwise the store fails.
    pub async fn poll(&mut self, max: usize) -> Result<Option<Batch>> {
        let max = max.clamp(1, limits::FEED_READ_MAX);
        let now_ms = self.keep_leases().await?;
        for shard in self.turns() {
            let Some(held) = self.held.get(&shard) else {
                continue;
            };
            if held.marks.is_some() {
                let problem = format!(
                    "shard {shard}: a stretch is under way, which batches would count again"
                );
                return Err(Error::backend("reading a feed in batches", problem));
            }
            let from = held.reached.clone();
            let page = self.store.feed_read(&self.table, &shard, &from, max).await?;
            self.last_read.clone_from(&shard);
            if !page.changes.is_empty() {
                return Ok(self.batch(shard, page, now_ms));
            }
            self.passed_nothing(&shard, page, now_ms).await?;
        }
        Ok(None)
    }

    /// Takes shards that are free now and then, and renews leases. Returns the time.
    pub(super) async fn keep_leases(&mut self) -> Result<u64> {
        let now_ms = self.clock.now_ms();
        if self
            .listed_ms
            .is_none_or(|listed_ms| now_ms.saturating_sub(listed_ms) >= LIST_INTERVAL_MS)
        {
            self.lease_shards(now_ms).await?;
        }
        self.renew(now_ms).await?;
        Ok(now_ms)
    }

    /// Says that the changes of `batch` are done.
    ///
    /// Returns false when another instance has taken the shard over: then its work counts, not ours.
    ///
    /// # Errors
    /// The store fails; the changes then come again unless the position was moved all the same.
    pub async fn commit(&mut self, batch: Batch) -> Result<bool> {
        let written = match self.store.write(batch.checkpoint()).await {
            Ok(written) => written,
            Err(error) => {
                // Whether it was written is not known; the item will tell.
                self.lost(&batch);
                return Err(error);
            }
        };
        if written.is_applied() {
            self.committed(&batch);
        } else {
            self.lost(&batch);
        }
        Ok(written.is_applied())
    }

    /// Notes that the checkpoint of `batch` was written in a transaction.
    pub fn committed(&mut self, batch: &Batch) {
        if batch.ended {
            self.lost(batch);
        } else if let Some(held) = self.held.get_mut(&batch.shard)
            && held.stored == batch.from
        {
            held.stored = batch.next.clone();
            held.reached = batch.next.clone();
            held.until_ms = batch.until_ms;
        }
    }

    /// Notes that the checkpoint of `batch` was refused, or that nobody knows: the shard's item is
    /// read anew by the next poll.
    pub fn lost(&mut self, batch: &Batch) {
        self.lose(&batch.shard);
    }

    /// Believes nothing of a shard any more.
    pub(super) fn lose(&mut self, shard: &str) {
        self.held.remove(shard);
        self.listed_ms = None;
    }

    /// Gives all shards back, so that another instance need not wait for the leases to end.
    ///
    /// # Errors
    /// The store fails; the remaining leases end by themselves.
    pub async fn release(&mut self) -> Result<()> {
        self.listed_ms = None;
        while let Some((shard, _)) = self.held.pop_first() {
            let release = self.writes(&shard).release();
            self.store.write(release).await?;
        }
        Ok(())
    }

    /// Starts anew with what changes from now on.
    ///
    /// # Errors
    /// The store fails, or [`crate::Error::Conflict`] when another instance is starting anew.
    pub async fn restart_from_latest(&mut self) -> Result<()> {
        self.restart(Position::Latest).await
    }

    /// Starts anew with the oldest change there is.
    ///
    /// # Errors
    /// The store fails, or [`crate::Error::Conflict`] when another instance is starting anew.
    pub async fn restart_from_oldest(&mut self) -> Result<()> {
        self.restart(Position::Oldest).await
    }

    pub(super) fn writes(&self, shard: &str) -> LeaseWrites<'_> {
        LeaseWrites {
            table: &self.positions,
            key: keys::shard(&self.table, &self.name, shard),
            owner: &self.owner,
        }
    }

    /// The shards we hold, beginning after the one that was read last.
    pub(super) fn turns(&self) -> Vec<String> {
        let mut shards: Vec<String> = self.held.keys().cloned().collect();
        let next = shards.partition_point(|shard| *shard <= self.last_read);
        shards.rotate_left(next);
        shards
    }

    fn batch(&self, shard: String, page: FeedPage, now_ms: u64) -> Option<Batch> {
        let from = self.held.get(&shard)?.stored.clone();
        let until_ms = now_ms + self.lease_ms;
        let checkpoint = self.writes(&shard).advance(&from, &page.next, page.ended, until_ms);
        Some(Batch {
            shard,
            changes: page.changes,
            from,
            next: page.next,
            until_ms,
            checkpoint,
            ended: page.ended,
        })
    }

    /// Moves over a part of a shard that had no changes. What "from now on" came to is stored at
    /// once, so that a successor begins there and not later.
    pub(super) async fn passed_nothing(
        &mut self,
        shard: &str,
        page: FeedPage,
        now_ms: u64,
    ) -> Result<()> {
        let Some(held) = self.held.get_mut(shard) else {
            return Ok(());
        };
        held.reached = page.next;
        if page.ended || held.stored == Position::Latest {
            self.store_reached(shard, page.ended, now_ms).await?;
        }
        Ok(())
    }

    /// Renews leases that are half over, and stores how far their shards were passed.
    async fn renew(&mut self, now_ms: u64) -> Result<()> {
        let due_ms = now_ms + self.lease_ms / 2;
        let due: Vec<String> = self
            .held
            .iter()
            .filter(|(_, held)| held.until_ms <= due_ms)
            .map(|(shard, _)| shard.clone())
            .collect();
        for shard in due {
            self.store_reached(&shard, false, now_ms).await?;
        }
        Ok(())
    }

    async fn store_reached(&mut self, shard: &str, ended: bool, now_ms: u64) -> Result<()> {
        let until_ms = now_ms + self.lease_ms;
        let Some(held) = self.held.get(shard) else {
            return Ok(());
        };
        let reached = held.reached.clone();
        let write = match held.marks {
            // Its position stays until the stretch is written.
            Some(_) => self.writes(shard).renew(until_ms),
            None => self.writes(shard).advance(&held.stored, &reached, ended, until_ms),
        };
        let kept = self.store.write(write).await?.is_applied();
        match self.held.get_mut(shard) {
            Some(held) if kept && !ended => {
                if held.marks.is_none() {
                    held.stored = reached;
                }
                held.until_ms = until_ms;
            }
            _ => self.lose(shard),
        }
        Ok(())
    }
}
