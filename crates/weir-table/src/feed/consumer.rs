//! A consumer of a table's change feed. Any number of instances share its name; each change is committed by one of them.
//!
//! 1. [`Consumer::next_window`] leases free shards, parents before children, and opens a [`super::FeedWindow`] on one.
//! 2. [`Consumer::read`] returns the window's changes, page by page.
//! 3. [`Consumer::commit`] writes what the changes came to, in the same transactions as the shard's position.
//!
//! Leases only keep instances apart. Correctness rests on the condition that every commit puts on the shard's item: it is
//! refused when another instance took the shard over or the position has moved.
//!
//! A consumer that fell behind the feed's retention gets [`crate::Error::Trimmed`]. It then calls
//! [`Consumer::restart_from_latest`], makes a full pass over the table, and continues.

use std::collections::BTreeMap;

use super::lease::{Checkpoint, LeaseWrites};
use super::{FeedPage, Merge, Position, keys};
use crate::backend::Backend;
use crate::clock::Clock;
use crate::error::Result;
use crate::store::Store;
use crate::value::Name;

/// The default length of a lease that is not renewed.
pub const LEASE_MS: u64 = 30_000;
/// How often shards are listed.
const LIST_INTERVAL_MS: u64 = 10_000;

/// A reader of one table's feed. All instances that read together share its name.
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
    pub(super) merge: Option<Merge>,
    /// Shards leased by this instance.
    pub(super) held: BTreeMap<String, HeldShard>,
    /// When shards were last listed; `None` lists them on the next call.
    pub(super) listed_ms: Option<u64>,
    /// The shard that was read last, for round-robin order.
    pub(super) last_read: String,
}

/// A shard leased by this instance.
#[derive(Debug)]
pub(super) struct HeldShard {
    /// The position in the table.
    pub(super) stored: Position,
    /// The position reached since, past parts of the shard without changes.
    pub(super) reached: Position,
    pub(super) until_ms: u64,
    /// The partly committed window that the item recorded when it was read.
    pub(super) checkpoint: Option<Checkpoint>,
}

impl<B: Backend> Consumer<B> {
    /// The consumer `name` of `table`'s feed, on the instance `owner`. A consumer without a position begins at `start`.
    /// Positions are stored in the table `positions`, created from [`super::positions_spec`].
    ///
    /// # Errors
    /// A name contains a separator.
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

    /// Lets the back-end merge several changes of an item into one, if it can.
    #[must_use]
    pub fn merging(mut self, merge: Option<Merge>) -> Consumer<B> {
        self.merge = merge;
        self
    }

    /// Gives all shards back, so that another instance need not wait for their leases to expire.
    ///
    /// # Errors
    /// The store fails; the remaining leases expire.
    pub async fn release(&mut self) -> Result<()> {
        self.listed_ms = None;
        while let Some((shard, _)) = self.held.pop_first() {
            let release = self.writes(&shard).release(self.clock.now_ms());
            self.store.write(release).await?;
        }
        Ok(())
    }

    /// Leases free shards from time to time and renews leases. Returns the current time.
    pub(super) async fn maintain_leases(&mut self) -> Result<u64> {
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

    /// Drops what is cached of a shard; its item is read again by the next call.
    pub(super) fn forget(&mut self, shard: &str) {
        self.held.remove(shard);
        self.listed_ms = None;
    }

    pub(super) fn writes(&self, shard: &str) -> LeaseWrites<'_> {
        LeaseWrites {
            table: &self.positions,
            key: keys::shard(&self.table, &self.name, shard),
            owner: &self.owner,
        }
    }

    /// The leased shards, beginning after the one that was read last.
    pub(super) fn round_robin(&self) -> Vec<String> {
        let mut shards: Vec<String> = self.held.keys().cloned().collect();
        let next = shards.partition_point(|shard| *shard <= self.last_read);
        shards.rotate_left(next);
        shards
    }

    /// Moves past a part of a shard that had no changes. The position that `Latest` resolved to is stored at once, so that
    /// a successor begins there and not later.
    pub(super) async fn skip_empty(
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

    /// Renews leases past half of their length, and stores the positions that were reached.
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
        let write = match held.checkpoint {
            // The position stays until the whole window is committed.
            Some(_) => self.writes(shard).renew(until_ms),
            None => self.writes(shard).advance(&held.stored, &reached, ended, until_ms),
        };
        let is_applied = self.store.write(write).await?.is_applied();
        match self.held.get_mut(shard) {
            Some(held) if is_applied && !ended => {
                if held.checkpoint.is_none() {
                    held.stored = reached;
                }
                held.until_ms = until_ms;
            }
            _ => self.forget(shard),
        }
        Ok(())
    }
}
