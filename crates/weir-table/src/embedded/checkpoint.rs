//! Folding commits into the store and trimming the log behind them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::catalog::{Catalog, DROPPED_PREFIX, dropped_key};
use super::change::{self, Image, ItemChange};
use super::codec::Malformed;
use super::dirty::{Entry, Generation, Payload, Space};
use super::engine::Engine;
use super::feed;
use super::keys::KeyRange;
use super::log;
use super::log::scan;
use super::raw;
use crate::error::{Error, Result};
use crate::item::Item;

/// Keys of a removed table that are deleted from the store at a time.
const PURGE_CHUNK: usize = 1000;
/// Folds between two times that the store is made durable, which lets the log be trimmed.
const PERSIST_EVERY: u64 = 8;

impl Engine {
    /// Folds what has been committed into the store. Blocks.
    ///
    /// With `thorough` the store is made durable too, and the log is trimmed.
    pub(super) fn checkpoint(&self, thorough: bool) -> Result<()> {
        let _one_at_a_time = self.checkpointing.lock();
        let folded = self.fold_active()?;
        let count = self.checkpoints.load(Ordering::Relaxed);
        if thorough || (folded && count.is_multiple_of(PERSIST_EVERY)) {
            self.base.persist().map_err(|error| self.log.fail(error))?;
            self.persisted.store(self.applied.load(Ordering::Relaxed), Ordering::Relaxed);
            self.purge_dropped()?;
            self.trim_log()?;
        }
        Ok(())
    }

    /// Freezes the active generation and folds it. Returns whether there was anything.
    ///
    /// A fold that fails closes the log: its generation is then only in memory, and a later fold
    /// would tell the store that it had been folded too.
    pub(super) fn fold_active(&self) -> Result<bool> {
        self.log.check_open()?;
        self.fold_frozen().map_err(|error| self.log.fail(error))
    }

    fn fold_frozen(&self) -> Result<bool> {
        let (frozen, applied, appended) = {
            let mut gate = self.generations.write();
            self.delayed.apply_all(&gate.active);
            if gate.active.last_seq() == 0 {
                return Ok(false);
            }
            debug_assert!(gate.frozen.is_none(), "a fold is lost");
            let frozen = std::mem::take(&mut gate.active);
            gate.frozen = Some(Arc::clone(&frozen));
            gate.number += 1;
            (frozen, self.log.last_seq(), self.appended.load(Ordering::Relaxed))
        };
        // The store must never be ahead of what the log has on disk: after a power cut an item
        // would be there that the feed has never told of.
        self.log.sync()?;
        self.base.fold(&frozen, applied)?;
        self.refresh_cache(&frozen);
        let forgotten = {
            let mut gate = self.generations.write();
            gate.frozen = None;
            gate.number += 1;
            gate.folded.replace(frozen)
        };
        // Freed here and not under the gate: it is a generation's worth of memory.
        drop(forgotten);
        self.applied.store(applied, Ordering::Relaxed);
        self.folded.store(appended, Ordering::Relaxed);
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
        self.room.notify_waiters();
        Ok(true)
    }

    /// Brings the cache up to what was folded, before a reader can look past the dirty set to it.
    fn refresh_cache(&self, frozen: &Generation) {
        frozen.for_each(Space::Items, |key, entry| {
            let stored = match &entry.payload {
                Payload::Bytes(bytes) => Some(Arc::clone(bytes)),
                Payload::Gone => None,
            };
            self.cache.refresh(key, stored);
        });
    }

    /// Removes what is left in the store of tables that were deleted.
    fn purge_dropped(&self) -> Result<()> {
        let marks = KeyRange::of_prefix(vec![DROPPED_PREFIX]);
        let dropped: Vec<_> = self.base.range(Space::Meta, &marks, false).collect::<Result<_>>()?;
        for (mark, _) in dropped {
            let Some(id) = mark.get(1..).and_then(|id| id.try_into().ok()).map(u32::from_be_bytes)
            else {
                continue;
            };
            for space in [Space::Items, Space::Index] {
                let range = KeyRange::of_prefix(id.to_be_bytes().to_vec());
                loop {
                    let keys: Vec<_> = self
                        .base
                        .range(space, &range, false)
                        .take(PURGE_CHUNK)
                        .map(|next| next.map(|(key, _)| key))
                        .collect::<Result<_>>()?;
                    if keys.is_empty() {
                        break;
                    }
                    self.base.remove(space, &keys)?;
                }
            }
            debug_assert_eq!(*mark, *dropped_key(id));
        }
        Ok(())
    }

    /// Removes log files that the store no longer needs and every consumer has passed.
    fn trim_log(&self) -> Result<()> {
        let persisted = self.persisted.load(Ordering::Relaxed);
        let needed = self.oldest_position()?;
        let now_ms = self.options.clock.now_ms();
        let age_max = self.options.feed_age_max.as_millis();
        let mut total: u64 = self.log.segments().iter().map(|segment| segment.len()).sum();
        self.log.trim(|segment, next_first_seq| {
            // Kept whole while the store, after a power cut, would have to replay it.
            if next_first_seq > persisted + 1 {
                return false;
            }
            let too_old =
                || feed::age_ms(segment, now_ms).is_some_and(|age| u128::from(age) > age_max);
            let over = next_first_seq <= needed || total > self.options.feed_bytes_max || too_old();
            if over {
                total = total.saturating_sub(segment.len());
            }
            over
        })?;
        Ok(())
    }

    /// After the log refused a write: shows readers what it holds, and nothing that was only in
    /// memory. What could not be written was never answered, so nobody relies on it.
    pub(super) fn forget_unwritten(&self) {
        // A fold on its way ends first; none begins after it.
        let _no_fold = self.checkpointing.lock();
        let rebuilt = Generation::default();
        let applied = self.applied.load(Ordering::Relaxed);
        let mut catalog = Catalog::clone(&self.catalog.read());
        let segments = self.log.segments();
        let read =
            scan::read_from(&segments, applied + 1, self.log.flushed_at_rest(), |header, body| {
                replay(&mut catalog, &rebuilt, header, body)?;
                Ok(true)
            });
        if let Err(error) = read {
            tracing::error!(%error, "the log cannot be read back; unanswered writes may be visible");
            return;
        }
        let mut gate = self.generations.write();
        gate.number += 1;
        gate.active = Arc::new(rebuilt);
        // What was in it and written is in the rebuilt one.
        gate.frozen = None;
    }
}

/// Puts a record's commit into a generation, as the commit itself did, and its tables into `catalog`.
pub(super) fn replay(
    catalog: &mut Catalog,
    generation: &Generation,
    header: &log::record::Header,
    body: &[u8],
) -> Result<()> {
    let unreadable =
        |source: Box<Malformed>| Error::backend(format!("replaying record {}", header.seq), source);
    let body = raw::parse(body).map_err(|source| unreadable(Box::new(source)))?;
    // It is in the log: on opening synced already, after a failed fsync as safe as it will ever be.
    let synced = 0;
    let seq = header.seq;
    generation.note_seq(seq);
    for (key, value) in body.meta {
        catalog.note(key, value).map_err(|source| unreadable(Box::new(source)))?;
        let payload = value.map_or(Payload::Gone, |value| Payload::Bytes(Arc::from(value)));
        generation.insert(Space::Meta, key, Entry::new(seq, synced, payload));
    }
    for raw in body.changes {
        let id = raw.table_id().map_err(|source| unreadable(Box::new(source)))?;
        // A table that was deleted later: its items go nowhere.
        let Some(table) = catalog.by_id(id) else {
            continue;
        };
        let (old, new) = raw.images().map_err(|source| unreadable(Box::new(source)))?;
        let image = |item: Option<Item>, bytes: Option<&[u8]>| {
            let bytes = bytes.unwrap_or_default().into();
            item.map(|item| Image { item, bytes, shape: None })
        };
        let change = ItemChange {
            table: Arc::clone(table),
            key: raw.key.to_vec(),
            // Only its attributes count here; nobody reads its encoding.
            old: image(old, None).into(),
            new: image(new, raw.new),
            expired: raw.expired,
        };
        change::apply_item(generation, &change, seq, synced, false);
        change::side_entries(&change, |(space, key, payload)| {
            generation.insert(space, &key, Entry::new(seq, synced, payload));
        });
    }
    Ok(())
}
