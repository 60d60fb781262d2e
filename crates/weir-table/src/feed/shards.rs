//! Assigns shards to an instance: the consumer's start, leases of shards, and restarts.

use std::collections::BTreeSet;

use super::consumer::{Consumer, HeldShard};
use super::lease::{GENERATION, Lease, start_from_text, start_to_text};
use super::shard_plan::{self, ShardAction, Start};
use super::{Position, keys};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::expr::attr;
use crate::request::{Get, Query, Transaction, Write};
use crate::value::Value;

/// Shards that one instance may lease.
const HELD_MAX: usize = 256;
/// Pages of shard items that are read; a page is up to 1 MB.
const PAGES_MAX: usize = 100;
/// Attempts to read or create the consumer's start while other instances do the same.
const START_TRIES: usize = 3;

const START: &str = "start";
const SHARDS: &str = "shards";

impl<B: Backend> Consumer<B> {
    /// Lists shards and leases the free ones.
    pub(super) async fn lease_shards(&mut self, now_ms: u64) -> Result<()> {
        let listed = self.store.feed_shards(&self.table).await?;
        let ids = listed.iter().map(|shard| shard.id.clone()).collect();
        let start = self.start(ids).await?;
        let leases = self.leases().await?;
        let is_free = |lease: &Lease| lease.is_free_for(&self.owner, self.lease_ms, now_ms);
        let actions = shard_plan::plan(&start, &listed, &leases, is_free, now_ms);
        let mut kept = BTreeSet::new();
        for action in actions {
            match action {
                ShardAction::Register(shard, from) => {
                    if self.register(&start, &shard, &from, now_ms).await? {
                        kept.insert(shard);
                    }
                }
                ShardAction::Acquire(shard) => {
                    if self.holds(&shard, &leases)
                        || self.acquire(start.generation, &shard, now_ms).await?
                    {
                        kept.insert(shard);
                    }
                }
                ShardAction::Forget(shard) => {
                    let forget = self.writes(&shard).forget_ended();
                    self.store.write(forget).await?;
                }
            }
        }
        self.held.retain(|shard, _| kept.contains(shard));
        self.listed_ms = Some(now_ms);
        Ok(())
    }

    /// Whether this instance holds a shard and its item agrees.
    fn holds(&self, shard: &str, leases: &[Lease]) -> bool {
        self.held.get(shard).is_some_and(|held| {
            leases.iter().any(|lease| {
                lease.shard == shard
                    && lease.owner.as_ref() == Some(&self.owner)
                    && lease.position == held.stored
                    && lease.checkpoint == held.checkpoint
            })
        })
    }

    /// The consumer's start; the first instance writes it.
    async fn start(&self, shards: BTreeSet<String>) -> Result<Start> {
        for _ in 0..START_TRIES {
            if let Some(start) = self.find_start().await? {
                return Ok(start);
            }
            let start = Start { generation: 1, from: self.first.clone(), shards: shards.clone() };
            let write = self.start_write(&start).when(attr(GENERATION).absent());
            if self.store.write(write).await?.is_applied() {
                return Ok(start);
            }
        }
        Err(Error::Conflict)
    }

    async fn find_start(&self) -> Result<Option<Start>> {
        let key = keys::start(&self.table, &self.name);
        let found = self.store.get(&Get::new(self.positions.clone(), key)).await?;
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
        Ok(Some(Start { generation, from, shards }))
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

    /// Creates the item of a shard that nobody has read, on condition that the start is unchanged: otherwise it could
    /// undo a restart.
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
        let register = self.writes(shard).register(from, start.generation, until_ms);
        let registered = self.store.transact(Transaction::new([same_start, register])).await;
        match registered {
            Ok(transacted) if transacted.is_applied() => {}
            Ok(_) | Err(Error::Conflict) => return Ok(false),
            Err(error) => return Err(error),
        }
        let held =
            HeldShard { stored: from.clone(), reached: from.clone(), until_ms, checkpoint: None };
        self.held.insert(shard.to_owned(), held);
        Ok(true)
    }

    async fn acquire(&mut self, generation: u64, shard: &str, now_ms: u64) -> Result<bool> {
        if !self.held.contains_key(shard) && self.held.len() >= HELD_MAX {
            return Ok(false);
        }
        let until_ms = now_ms + self.lease_ms;
        let write = self.writes(shard).acquire(generation, self.lease_ms, now_ms);
        let written = self.store.write(write).await?;
        let Some(item) = written.item().filter(|_| written.is_applied()) else {
            return Ok(false);
        };
        let Lease { position: stored, checkpoint, .. } = Lease::read(item)?;
        // A partly committed window is read from its beginning.
        let cached =
            self.held.remove(shard).filter(|held| held.stored == stored && checkpoint.is_none());
        let reached = cached.map_or_else(|| stored.clone(), |held| held.reached);
        let held = HeldShard { stored, reached, until_ms, checkpoint };
        self.held.insert(shard.to_owned(), held);
        Ok(true)
    }

    /// Restarts the consumer, so that it reads only changes made from now on.
    ///
    /// # Errors
    /// The store fails, or [`Error::Conflict`] when another instance restarts it at the same time.
    pub async fn restart_from_latest(&mut self) -> Result<()> {
        self.held.clear();
        self.listed_ms = None;
        let listed = self.store.feed_shards(&self.table).await?;
        let shards = listed.into_iter().map(|shard| shard.id).collect();
        let before = self.find_start().await?.map_or(0, |start| start.generation);
        let start = Start { generation: before + 1, from: Position::Latest, shards };
        let unchanged = match before {
            0 => attr(GENERATION).absent(),
            before => attr(GENERATION).eq(before),
        };
        let write = self.start_write(&start).when(unchanged);
        if !self.store.write(write).await?.is_applied() {
            return Err(Error::Conflict);
        }
        // Without the positions of the old start, nothing read from them can be committed.
        for lease in self.leases().await? {
            let forget = self.writes(&lease.shard).forget_older(start.generation);
            self.store.write(forget).await?;
        }
        // `Latest` is resolved now, not after the full pass.
        self.lease_shards(self.clock.now_ms()).await?;
        for shard in self.round_robin() {
            let Some(held) = self.held.get(&shard) else {
                continue;
            };
            if held.reached == Position::Latest {
                let latest = Position::Latest;
                let page = self.store.feed_read(&self.table, &shard, &latest, 1).await?;
                if page.changes.is_empty() {
                    self.skip_empty(&shard, page, self.clock.now_ms()).await?;
                }
            }
        }
        Ok(())
    }
}
