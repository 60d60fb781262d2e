//! Removes expired items and idempotency tokens, as fast as they expire.
//!
//! A pass walks the expiry entries in order, in chunks. Each batch of a chunk is one commit: its items are loaded first, then
//! checked and removed under their locks, so that writers wait for a fraction of a millisecond only.
//!
//! The sweeper pauses between batches, longer while the dirty set or the base store is behind, so that it never slows writers.
//! When it is minutes behind, it gives way only as a writer does.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::background;
use super::catalog::{TOKEN_PREFIX, Table};
use super::change::{Before, ItemChange, MetaChange, expiry_of};
use super::dirty::{Payload, Space};
use super::engine::{Barrier, Engine};
use super::keys::{self, KeyRange};
use super::page::Found;
use super::read::{self, Loaded, Lookup};
use super::token;
use crate::error::{Error, Result};
use crate::request::Durability;

/// Expiry entries that are read at once.
const CHUNK: usize = 4096;
/// Items that one commit removes. More would hold the locks of more writers for longer.
const BATCH: usize = 64;
/// Attempts of a batch with preloaded items.
const TRIES: usize = 3;
/// The pause between two batches: about 15 000 items a second, three times what a busy org writes.
const PAUSE: Duration = Duration::from_millis(4);
/// Pauses at most, while writers are about to be slowed.
const PAUSES_MAX: u32 = 12;
/// The sweeper hurries from this backlog on.
const URGENT_MS: u64 = 2 * 60 * 1000;
/// Tokens that one pass removes.
const TOKENS_MAX: usize = 100_000;
/// As on DynamoDB, an expiry more than five years in the past counts as a mistake and is ignored.
const EXPIRY_AGE_MAX_SECS: u64 = 5 * 365 * 24 * 60 * 60;

const _: () = assert!(
    BATCH * crate::limits::ITEM_MAX < super::log::record::BODY_MAX,
    "a record holds the items of a batch"
);

/// The counters of the sweeper, and its delay.
#[derive(Debug, Default)]
pub(super) struct SweepProgress {
    removed: AtomicU64,
    backlog_ms: AtomicU64,
}

impl SweepProgress {
    /// Items removed since opening.
    pub(super) fn removed_total(&self) -> u64 {
        self.removed.load(Ordering::Relaxed)
    }

    /// Age of the oldest expired item that the current pass has yet to remove.
    pub(super) fn backlog_ms(&self) -> u64 {
        self.backlog_ms.load(Ordering::Relaxed)
    }
}

/// An expired item, as its expiry entry names it.
struct Due {
    table: Arc<Table>,
    key: keys::Bytes,
}

/// A chunk of expiry entries.
#[derive(Default)]
struct Chunk {
    due: Vec<Due>,
    /// Entries of deleted tables, whose items are gone.
    orphans: Vec<keys::Bytes>,
    /// The last entry; `None` at the end.
    last: Option<keys::Bytes>,
    /// Expiry of the first due item in seconds since 1970.
    first_secs: Option<u64>,
}

/// Sweeps at every interval until the store closes.
pub(super) fn sweep_loop(engine: &Engine, closing: &AtomicBool) {
    background::lower_priority();
    let Some(interval) = engine.options.sweep_interval else { return };
    while !closing.load(Ordering::SeqCst) {
        std::thread::park_timeout(interval);
        match engine.sweep(&|| closing.load(Ordering::SeqCst)) {
            Ok(_) | Err(Error::Closed | Error::DiskFull) => {}
            Err(error) => {
                tracing::warn!(%error, "expired items were not removed; trying again later");
            }
        }
    }
}

impl Engine {
    /// Removes the items and tokens that have expired by now, until `is_stopped`. Returns how many items were removed. Blocks.
    pub(super) fn sweep(&self, is_stopped: &dyn Fn() -> bool) -> Result<u64> {
        let swept = self.sweep_pass(is_stopped)?;
        // Not after a pass that failed: what it left is still there.
        self.sweeping.backlog_ms.store(0, Ordering::Relaxed);
        Ok(swept)
    }

    fn sweep_pass(&self, is_stopped: &dyn Fn() -> bool) -> Result<u64> {
        let now_ms = self.options.clock.now_ms();
        let now_secs = now_ms / 1000;
        let due = now_secs.saturating_sub(EXPIRY_AGE_MAX_SECS)..=now_secs;
        let mut low = due.start().to_be_bytes().to_vec();
        let mut removed = 0;
        while !is_stopped() {
            let high = (now_secs + 1).to_be_bytes().to_vec();
            let chunk = self.read_chunk(KeyRange { low, high })?;
            self.note_backlog(&chunk);
            let gone = self.base.remove(Space::Ttl, chunk.orphans);
            gone.map_err(|error| self.base_failed(error))?;
            removed += self.expire_chunk(&chunk.due, &due, is_stopped)?;
            // The feed returns only what was handed to the operating system.
            self.log.flush(self.log.last_seq())?;
            let Some(last) = chunk.last else { break };
            low = last;
            low.push(0);
        }
        self.sweep_tokens(now_ms, is_stopped)?;
        Ok(removed)
    }

    fn read_chunk(&self, range: KeyRange) -> Result<Chunk> {
        let mut chunk = Chunk::default();
        for next in self.merged_entries(Space::Ttl, range, false) {
            let (place, found) = next?;
            let key = place.get(8..).unwrap_or_default();
            match (self.table_of(key), found) {
                (_, Found::Dirty(entry)) if matches!(entry.payload, Payload::Gone) => {}
                (Some(table), _) => {
                    let secs = place.first_chunk().map(|secs| u64::from_be_bytes(*secs));
                    chunk.first_secs = chunk.first_secs.or(secs);
                    chunk.due.push(Due { table, key: key.to_vec() });
                }
                (None, Found::Stored(_)) => chunk.orphans.push(place.clone()),
                (None, Found::Dirty(_)) => {}
            }
            if chunk.due.len().max(chunk.orphans.len()) >= CHUNK {
                chunk.last = Some(place);
                break;
            }
        }
        Ok(chunk)
    }

    fn note_backlog(&self, chunk: &Chunk) {
        let now_ms = self.options.clock.now_ms();
        let backlog = chunk.first_secs.map_or(0, |secs| now_ms.saturating_sub(secs * 1000));
        self.sweeping.backlog_ms.store(backlog, Ordering::Relaxed);
    }

    /// The table of an item's key, unless it was deleted.
    fn table_of(&self, key: &[u8]) -> Option<Arc<Table>> {
        let id = key.get(..4)?.try_into().map(u32::from_be_bytes).ok()?;
        self.catalog.read().by_id(id).cloned()
    }

    fn expire_chunk(
        &self,
        chunk: &[Due],
        due: &RangeInclusive<u64>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<u64> {
        let mut removed = 0;
        for batch in chunk.chunks(BATCH) {
            if !self.give_way(is_stopped)? {
                break;
            }
            self.pause_sweep();
            let gone = self.expire(batch, due)?;
            self.sweeping.removed.fetch_add(gone, Ordering::Relaxed);
            removed += gone;
        }
        Ok(removed)
    }

    fn pause_sweep(&self) {
        if self.sweeping.backlog_ms() >= URGENT_MS {
            return;
        }
        for _ in 0..PAUSES_MAX {
            std::thread::sleep(PAUSE);
            if self.is_unhurried() {
                break;
            }
        }
    }

    /// Removes the items that are still expired; some may have been written since the scan.
    fn expire(&self, batch: &[Due], due: &RangeInclusive<u64>) -> Result<u64> {
        for _ in 0..TRIES {
            let loaded = self.load_uncached(batch.iter().map(|due| &due.key))?;
            if let Some(removed) = self.expire_loaded(batch, due, &loaded, Lookup::Memory)? {
                return Ok(removed);
            }
        }
        let removed = self.expire_loaded(batch, due, &Loaded::default(), Lookup::Disk)?;
        Ok(removed.unwrap_or(0))
    }

    /// Removes the items in one commit; `None`, with nothing changed, if one is not in memory.
    fn expire_loaded(
        &self,
        batch: &[Due],
        due: &RangeInclusive<u64>,
        loaded: &Loaded,
        lookup: Lookup,
    ) -> Result<Option<u64>> {
        let _locked = self.lock_stripes(batch.iter().map(|due| Engine::stripe_of(&due.key)));
        let gate = self.generations.read();
        let (mut changes, mut barrier) = (Vec::with_capacity(batch.len()), Barrier::default());
        for Due { table, key } in batch {
            let Some(found) = self.find_item(&gate, key, loaded, lookup)? else {
                return Ok(None);
            };
            let old = match found.stored.map(read::decode).transpose() {
                Ok(Some(old)) => old,
                Ok(None) => continue,
                // Others are still removed.
                Err(error) => {
                    let table = &table.spec.name;
                    tracing::warn!(%error, table, ?key, "an item cannot be read, so it does not expire");
                    continue;
                }
            };
            let expiry = table.spec.ttl.as_ref().and_then(|ttl| expiry_of(&old.item, ttl));
            if !expiry.is_some_and(|expiry| due.contains(&expiry)) {
                continue;
            }
            barrier = barrier.and(found.barrier);
            changes.push(ItemChange {
                table: Arc::clone(table),
                key: key.clone(),
                old: Before::Whole(old),
                new: None,
                expired: true,
            });
        }
        if !changes.is_empty() {
            let now_ms = self.options.clock.now_ms();
            self.publish(&gate, &changes, &[], Durability::Flushed, barrier, now_ms)?;
        }
        Ok(Some(changes.len() as u64))
    }

    fn sweep_tokens(&self, now_ms: u64, is_stopped: &dyn Fn() -> bool) -> Result<()> {
        let range = KeyRange::of_prefix(vec![TOKEN_PREFIX]);
        let over: Vec<MetaChange> = self
            .merged_entries(Space::Meta, range, false)
            .filter_map(|next| {
                let (key, value) = match next {
                    Ok((key, Found::Stored(value))) => (key, value),
                    Ok((key, Found::Dirty(entry))) => (key, entry.payload.bytes()?.to_vec()),
                    Err(error) => return Some(Err(error)),
                };
                token::is_expired(&value, now_ms).then_some(Ok(MetaChange { key, value: None }))
            })
            .take(TOKENS_MAX)
            .collect::<Result<_>>()?;
        for batch in over.chunks(BATCH) {
            if !self.give_way(is_stopped)? {
                break;
            }
            self.remove_tokens(batch, now_ms)?;
        }
        Ok(())
    }

    /// Removes the tokens that are still expired; some may have been used again since the scan.
    fn remove_tokens(&self, batch: &[MetaChange], now_ms: u64) -> Result<()> {
        let _locked = self.lock_stripes(batch.iter().map(|gone| Engine::stripe_of(&gone.key)));
        let gate = self.generations.read();
        let (mut expired, mut barrier) = (Vec::with_capacity(batch.len()), Barrier::default());
        for gone in batch {
            let stored = self.find_meta(&gate, &gone.key, &Loaded::default(), Lookup::Disk)?;
            if let Some((Some(stored), seen)) = stored
                && token::is_expired(&stored, now_ms)
            {
                barrier = barrier.and(seen);
                expired.push(gone.clone());
            }
        }
        if !expired.is_empty() {
            self.publish(&gate, &[], &expired, Durability::Flushed, barrier, now_ms)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Embedded, Options};
    use crate::clock::Clock;
    use crate::embedded::dirty::Space;
    use crate::embedded::keys;
    use crate::item::Item;
    use crate::key::Key;
    use crate::request::{Get, Write};
    use crate::spec::TableSpec;
    use crate::store::Store;
    use crate::value::Kind;

    const NOW_SECS: u64 = 1_770_000_000;

    #[tokio::test]
    async fn an_item_that_cannot_be_read_does_not_keep_others_from_expiring() {
        let dir = tempfile::tempdir().unwrap();
        let open = || {
            let mut options = Options::new(dir.path());
            options.sweep_interval = None;
            options.clock = Clock::manual(NOW_SECS * 1000);
            let embedded = Embedded::open(options).unwrap();
            let key = embedded.cursor_key();
            Store::new(embedded, key)
        };
        let key = Key::partition;
        {
            let store = open();
            store.create_table(&TableSpec::new("table", "PK", Kind::S).ttl("ttl")).await.unwrap();
            for name in ["a", "b", "c"] {
                let item = Item::new().with("PK", name).with("ttl", NOW_SECS - 10);
                store.write(Write::put("table", item)).await.unwrap();
            }
            store.backend().checkpoint().await.unwrap();
            let engine = &store.backend().engine;
            let place = keys::item(engine.table("table").unwrap().id, &key("b"));
            engine.base.load([(Space::Items, place, vec![255; 3])], None).unwrap();
            store.backend().close().await.unwrap();
        }
        let store = open();
        assert_eq!(store.backend().sweep().await.unwrap(), 2);
        for name in ["a", "c"] {
            assert_eq!(store.get(&Get::new("table", key(name))).await.unwrap(), None);
        }
        assert!(store.get(&Get::new("table", key("b"))).await.is_err());
        assert_eq!(store.backend().sweep().await.unwrap(), 0);
    }
}
