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
//! A lease is only a courtesy that keeps instances apart; what makes the count right is the
//! condition of the checkpoint.
//!
//! A consumer left behind hears [`Error::Trimmed`]. It calls [`Consumer::restart_from_latest`] (or
//! `_oldest`), then does its full pass, then polls again.

use std::collections::{BTreeMap, BTreeSet};

use super::lease::{GENERATION, Lease, LeaseWrites, start_from_text, start_to_text};
use super::lineage::{self, Move, Start};
use super::{Change, FeedPage, Position, keys};
use crate::backend::Backend;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::expr::attr;
use crate::limits;
use crate::request::{Get, Query, Transaction, Write};
use crate::store::Store;
use crate::value::{Name, Value};

/// How long a lease lasts that is not renewed, unless told otherwise.
pub const LEASE_MS: u64 = 30_000;
/// How often shards are listed.
const LIST_INTERVAL_MS: u64 = 10_000;
/// Shards one instance reads.
const HELD_MAX: usize = 256;
/// Pages of shard items that are read; a page is up to 1 MB.
const PAGES_MAX: usize = 100;
/// Tries to find how the consumer started while others start it too.
const START_TRIES: usize = 3;

const START: &str = "start";
const SHARDS: &str = "shards";

/// A reader of one table's feed. Its name is shared by all instances that read together.
#[derive(Debug)]
pub struct Consumer<B> {
    store: Store<B>,
    table: String,
    name: String,
    owner: String,
    positions: Name,
    first: Position,
    clock: Clock,
    lease_ms: u64,
    /// Shards that this instance reads.
    held: BTreeMap<String, Held>,
    /// When shards were listed; none to list them at once.
    listed_ms: Option<u64>,
    /// The shard that was read last, so that the next one has its turn.
    last_read: String,
}

/// A shard this instance reads.
#[derive(Debug)]
struct Held {
    /// The position in the table.
    stored: Position,
    /// The position reached since, over what had no changes.
    reached: Position,
    until_ms: u64,
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

    /// The next changes of one shard, at most `max`; none when there is nothing new for us.
    /// Until they are committed the same changes come again.
    ///
    /// # Errors
    /// [`Error::Trimmed`] when the feed no longer has them; otherwise the store fails.
    pub async fn poll(&mut self, max: usize) -> Result<Option<Batch>> {
        let max = max.clamp(1, limits::FEED_READ_MAX);
        let now_ms = self.clock.now_ms();
        if self
            .listed_ms
            .is_none_or(|listed_ms| now_ms.saturating_sub(listed_ms) >= LIST_INTERVAL_MS)
        {
            self.lease_shards(now_ms).await?;
        }
        self.renew(now_ms).await?;
        for shard in self.turns() {
            let Some(held) = self.held.get(&shard) else {
                continue;
            };
            let from = held.reached.clone();
            let page = self
                .store
                .feed_read(&self.table, &shard, &from, max)
                .await?;
            self.last_read.clone_from(&shard);
            if !page.changes.is_empty() {
                return Ok(self.batch(shard, page, now_ms));
            }
            self.passed_nothing(&shard, page, now_ms).await?;
        }
        Ok(None)
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
        self.held.remove(&batch.shard);
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
    /// The store fails, or [`Error::Conflict`] when another instance is starting anew.
    pub async fn restart_from_latest(&mut self) -> Result<()> {
        self.restart(Position::Latest).await
    }

    /// Starts anew with the oldest change there is.
    ///
    /// # Errors
    /// The store fails, or [`Error::Conflict`] when another instance is starting anew.
    pub async fn restart_from_oldest(&mut self) -> Result<()> {
        self.restart(Position::Oldest).await
    }

    fn writes(&self, shard: &str) -> LeaseWrites<'_> {
        LeaseWrites {
            table: &self.positions,
            key: keys::shard(&self.table, &self.name, shard),
            owner: &self.owner,
        }
    }

    /// The shards we hold, beginning after the one that was read last.
    fn turns(&self) -> Vec<String> {
        let mut shards: Vec<String> = self.held.keys().cloned().collect();
        let next = shards.partition_point(|shard| *shard <= self.last_read);
        shards.rotate_left(next);
        shards
    }

    fn batch(&self, shard: String, page: FeedPage, now_ms: u64) -> Option<Batch> {
        let from = self.held.get(&shard)?.stored.clone();
        let until_ms = now_ms + self.lease_ms;
        let checkpoint = self
            .writes(&shard)
            .advance(&from, &page.next, page.ended, until_ms);
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
    async fn passed_nothing(&mut self, shard: &str, page: FeedPage, now_ms: u64) -> Result<()> {
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
        let write = self
            .writes(shard)
            .advance(&held.stored, &reached, ended, until_ms);
        let kept = self.store.write(write).await?.is_applied();
        match self.held.get_mut(shard) {
            Some(held) if kept && !ended => {
                held.stored = reached;
                held.until_ms = until_ms;
            }
            _ => {
                self.held.remove(shard);
                self.listed_ms = None;
            }
        }
        Ok(())
    }

    /// Lists shards and takes those that are free.
    async fn lease_shards(&mut self, now_ms: u64) -> Result<()> {
        let listed = self.store.feed_shards(&self.table).await?;
        let ids = listed.iter().map(|shard| shard.id.clone()).collect();
        let start = self.start(ids).await?;
        let leases = self.leases().await?;
        let moves = lineage::plan(&start, &listed, &leases, &self.owner, now_ms);
        let mut kept = BTreeSet::new();
        for step in moves {
            match step {
                Move::Register(shard, from) => {
                    if self.register(&start, &shard, &from, now_ms).await? {
                        kept.insert(shard);
                    }
                }
                Move::Acquire(shard) => {
                    if self.holds(&shard, &leases)
                        || self.acquire(start.generation, &shard, now_ms).await?
                    {
                        kept.insert(shard);
                    }
                }
                Move::Forget(shard) => {
                    let forget = self.writes(&shard).forget_ended();
                    self.store.write(forget).await?;
                }
            }
        }
        self.held.retain(|shard, _| kept.contains(shard));
        self.listed_ms = Some(now_ms);
        Ok(())
    }

    /// Whether a shard is ours and its item says so too.
    fn holds(&self, shard: &str, leases: &[Lease]) -> bool {
        self.held.get(shard).is_some_and(|held| {
            leases.iter().any(|lease| {
                lease.shard == shard
                    && lease.owner.as_ref() == Some(&self.owner)
                    && lease.position == held.stored
            })
        })
    }

    /// How the consumer started; written by the first instance that asks.
    async fn start(&self, shards: BTreeSet<String>) -> Result<Start> {
        for _ in 0..START_TRIES {
            if let Some(start) = self.find_start().await? {
                return Ok(start);
            }
            let start = Start {
                generation: 1,
                from: self.first.clone(),
                shards: shards.clone(),
            };
            let write = self.start_write(&start).when(attr(GENERATION).absent());
            if self.store.write(write).await?.is_applied() {
                return Ok(start);
            }
        }
        Err(Error::Conflict)
    }

    async fn find_start(&self) -> Result<Option<Start>> {
        let key = keys::start(&self.table, &self.name);
        let found = self
            .store
            .get(&Get::new(self.positions.clone(), key))
            .await?;
        let Some(item) = found else { return Ok(None) };
        let generation = item.i64(GENERATION).and_then(|n| u64::try_from(n).ok());
        let from = item.s(START).and_then(start_from_text);
        let (Some(generation), Some(from)) = (generation, from) else {
            let problem = "an item of the positions table has no start";
            return Err(Error::backend("reading a consumer's start", problem));
        };
        let shards = match item.get(SHARDS) {
            Some(Value::Ss(shards)) => shards.clone(),
            _ => BTreeSet::new(),
        };
        Ok(Some(Start {
            generation,
            from,
            shards,
        }))
    }

    fn start_write(&self, start: &Start) -> Write {
        let key = keys::start(&self.table, &self.name);
        let mut item = keys::keyed(&key)
            .with(GENERATION, start.generation)
            .with(START, start_to_text(&start.from));
        if !start.shards.is_empty() {
            item.set(SHARDS, Value::Ss(start.shards.clone()));
        }
        Write::put(self.positions.clone(), item)
    }

    async fn leases(&self) -> Result<Vec<Lease>> {
        let partition = keys::partition(&self.table, &self.name);
        let mut query =
            Query::partition(self.positions.clone(), partition).begins_with(keys::shards());
        let mut leases = Vec::new();
        for _ in 0..PAGES_MAX {
            let page = self.store.query(&query).await?;
            for item in &page.items {
                leases.push(Lease::read(item)?);
            }
            query.cursor = page.cursor;
            if query.cursor.is_none() {
                break;
            }
        }
        Ok(leases)
    }

    /// Makes the item of a shard nobody has read. The start must be what we think it is, or a
    /// restart could be undone.
    async fn register(
        &mut self,
        start: &Start,
        shard: &str,
        from: &Position,
        now_ms: u64,
    ) -> Result<bool> {
        if self.held.len() >= HELD_MAX {
            return Ok(false);
        }
        let until_ms = now_ms + self.lease_ms;
        let same_start = Write::check(
            self.positions.clone(),
            keys::start(&self.table, &self.name),
            attr(GENERATION).eq(start.generation),
        );
        let register = self
            .writes(shard)
            .register(from, start.generation, until_ms);
        let registered = self
            .store
            .transact(Transaction::new([same_start, register]))
            .await;
        match registered {
            Ok(transacted) if transacted.is_applied() => {}
            Ok(_) | Err(Error::Conflict) => return Ok(false),
            Err(error) => return Err(error),
        }
        let held = Held {
            stored: from.clone(),
            reached: from.clone(),
            until_ms,
        };
        self.held.insert(shard.to_owned(), held);
        Ok(true)
    }

    async fn acquire(&mut self, generation: u64, shard: &str, now_ms: u64) -> Result<bool> {
        if !self.held.contains_key(shard) && self.held.len() >= HELD_MAX {
            return Ok(false);
        }
        let until_ms = now_ms + self.lease_ms;
        let write = self.writes(shard).acquire(generation, now_ms, until_ms);
        let written = self.store.write(write).await?;
        let Some(item) = written.item().filter(|_| written.is_applied()) else {
            return Ok(false);
        };
        let stored = Lease::read(item)?.position;
        let known = self.held.remove(shard).filter(|held| held.stored == stored);
        let reached = known.map_or_else(|| stored.clone(), |held| held.reached);
        let held = Held {
            stored,
            reached,
            until_ms,
        };
        self.held.insert(shard.to_owned(), held);
        Ok(true)
    }

    async fn restart(&mut self, from: Position) -> Result<()> {
        self.held.clear();
        self.listed_ms = None;
        let listed = self.store.feed_shards(&self.table).await?;
        let shards = listed.into_iter().map(|shard| shard.id).collect();
        let before = self.find_start().await?.map_or(0, |start| start.generation);
        let start = Start {
            generation: before + 1,
            from,
            shards,
        };
        let unchanged = match before {
            0 => attr(GENERATION).absent(),
            before => attr(GENERATION).eq(before),
        };
        let write = self.start_write(&start).when(unchanged);
        if !self.store.write(write).await?.is_applied() {
            return Err(Error::Conflict);
        }
        // Positions of the old start go, so that nothing read from them can be committed.
        for lease in self.leases().await? {
            let forget = self.writes(&lease.shard).forget_older(start.generation);
            self.store.write(forget).await?;
        }
        // "From now on" begins now, not when the full pass is over.
        self.lease_shards(self.clock.now_ms()).await?;
        for shard in self.turns() {
            let Some(held) = self.held.get(&shard) else {
                continue;
            };
            if held.reached == Position::Latest {
                let latest = Position::Latest;
                let page = self
                    .store
                    .feed_read(&self.table, &shard, &latest, 1)
                    .await?;
                if page.changes.is_empty() {
                    self.passed_nothing(&shard, page, self.clock.now_ms())
                        .await?;
                }
            }
        }
        Ok(())
    }
}
