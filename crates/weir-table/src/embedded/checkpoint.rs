//! Checkpoints: folds commits into the base store and trims the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::catalog::{Catalog, DROPPED_PREFIX, dropped_key};
use super::change::{self, Image, ItemChange};
use super::codec::Malformed;
use super::dirty::{Entry, Frozen, Generation, Payload, Space};
use super::engine::Engine;
use super::feed;
use super::keys::KeyRange;
use super::log;
use super::log::scan;
use super::open::read_catalog;
use super::raw;
use crate::error::{Error, Result};
use crate::item::Item;

/// Keys of a dropped table that are removed in one batch.
const PURGE_CHUNK: usize = 1000;
/// Number of folds after which the base store is persisted.
const PERSIST_EVERY: u64 = 8;

impl Engine {
    /// Folds commits into the base store and trims the log. With `thorough` it persists the base store in between. Blocks.
    pub(super) fn checkpoint(&self, thorough: bool) -> Result<()> {
        let _one_at_a_time = self.checkpointing.lock();
        let folded = match self.fold_active() {
            // Deleting segments needs no room, and makes some.
            Err(Error::DiskFull) => {
                if let Err(error) = self.trim_log() {
                    tracing::warn!(%error, "the log was not trimmed");
                }
                return Err(Error::DiskFull);
            }
            folded => folded?,
        };
        let count = self.checkpoints.load(Ordering::Relaxed);
        // An idle store persists its last folds too, so that their part of the log can be trimmed.
        let is_idle = !folded && self.persisted.load(Ordering::Relaxed) < self.applied();
        if thorough || is_idle || (folded && count.is_multiple_of(PERSIST_EVERY)) {
            self.base.persist().map_err(|error| self.base_failed(error))?;
            self.persisted.store(self.applied(), Ordering::Relaxed);
            self.purge_dropped().map_err(|error| self.base_failed(error))?;
        }
        self.trim_log()
    }

    /// The last sequence number that was folded.
    pub(super) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Relaxed)
    }

    /// Freezes the active generation and folds it. Returns whether there was anything to fold.
    ///
    /// If a fold finds no room, its generation stays frozen, and the next one begins with it. Any other failure closes the
    /// log.
    pub(super) fn fold_active(&self) -> Result<bool> {
        self.log.check_open()?;
        self.check_room_to_fold()?;
        self.fold_all().map_err(|error| self.base_failed(error))
    }

    fn fold_all(&self) -> Result<bool> {
        let unfinished = self.generations.read().frozen.clone();
        if let Some(frozen) = &unfinished {
            // The journal may have it all the same.
            let is_folded = self.base.applied()? >= frozen.applied;
            self.fold(frozen, is_folded)?;
        }
        match self.freeze() {
            Some(frozen) => self.fold(&frozen, false).map(|()| true),
            None => Ok(unfinished.is_some()),
        }
    }

    /// Freezes the active generation, if it has commits.
    fn freeze(&self) -> Option<Frozen> {
        let mut gate = self.generations.write();
        self.delayed.apply_all(&gate.active);
        if gate.active.last_seq() == 0 {
            return None;
        }
        debug_assert!(gate.frozen.is_none(), "a fold is lost");
        let frozen = Frozen {
            generation: std::mem::take(&mut gate.active),
            applied: self.log.last_seq(),
            appended: self.appended.load(Ordering::Relaxed),
        };
        gate.frozen = Some(frozen.clone());
        gate.number += 1;
        Some(frozen)
    }

    fn fold(&self, frozen: &Frozen, is_folded: bool) -> Result<()> {
        // The base store must never be ahead of the synced log: after a power cut it would have an item that the feed
        // never returned.
        self.log.sync()?;
        if !is_folded {
            self.base.fold(&frozen.generation, frozen.applied)?;
        }
        self.refresh_cache(&frozen.generation);
        let forgotten = {
            let mut gate = self.generations.write();
            gate.frozen = None;
            gate.number += 1;
            gate.folded.replace(Arc::clone(&frozen.generation))
        };
        // Freed outside of the gate, because it is a whole generation of memory.
        drop(forgotten);
        self.applied.store(frozen.applied, Ordering::Relaxed);
        self.folded.store(frozen.appended, Ordering::Relaxed);
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
        self.room.notify_waiters();
        Ok(())
    }

    /// Updates the cache before readers can see it behind the dirty set.
    fn refresh_cache(&self, frozen: &Generation) {
        frozen.for_each(Space::Items, |key, entry| {
            let stored = match &entry.payload {
                Payload::Bytes(bytes) | Payload::Shared(bytes) => Some(Arc::clone(bytes)),
                Payload::Gone => None,
            };
            self.cache.refresh(key, stored);
        });
    }

    /// Removes the keys of deleted tables from the base store.
    fn purge_dropped(&self) -> Result<()> {
        let dropped_keys = KeyRange::of_prefix(vec![DROPPED_PREFIX]);
        let dropped: Vec<_> =
            self.base.range(Space::Meta, &dropped_keys, false).collect::<Result<_>>()?;
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
                    self.base.remove(space, keys)?;
                }
            }
            debug_assert_eq!(*mark, *dropped_key(id));
        }
        Ok(())
    }

    /// Removes log segments that neither recovery nor a consumer needs.
    fn trim_log(&self) -> Result<()> {
        let persisted = self.persisted.load(Ordering::Relaxed);
        let now_ms = self.options.clock.now_ms();
        let needed = self.oldest_position(now_ms)?;
        let age_max = self.options.feed_age_max.as_millis();
        let mut total: u64 = self.log.segments().iter().map(|segment| segment.len()).sum();
        let trimmed = self.log.trim(|segment, next_first_seq| {
            // Needed for replay after a power cut.
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
        });
        // The log is only longer than it need be. The next checkpoint tries again.
        if let Err(error) = trimmed {
            tracing::warn!(error = &error as &dyn std::error::Error, "the log was not trimmed");
        }
        Ok(())
    }

    /// Rebuilds the dirty set and the catalog from the log after a failed write, so that readers see nothing that was only
    /// in memory. Such writes were never acknowledged. Returns whether it worked.
    pub(super) fn forget_unwritten(&self) -> bool {
        // Waits for a running fold; none starts afterwards.
        let _no_fold = self.checkpointing.lock();
        let rebuilt = Generation::default();
        let applied = self.applied.load(Ordering::Relaxed);
        let mut catalog = match read_catalog(&self.base) {
            Ok(catalog) => catalog,
            Err(error) => {
                tracing::error!(%error, "the tables cannot be read back");
                return false;
            }
        };
        let segments = self.log.segments();
        let read =
            scan::read_from(&segments, applied + 1, self.log.flushed_at_rest(), |header, body| {
                replay(&mut catalog, &rebuilt, header, body)?;
                Ok(true)
            });
        if let Err(error) = read {
            tracing::error!(%error, "the log cannot be read back; unanswered writes may be visible");
            return false;
        }
        let mut gate = self.generations.write();
        *self.catalog.write() = Arc::new(catalog);
        self.delayed.clear();
        gate.number += 1;
        gate.active = Arc::new(rebuilt);
        // Its written part is in the rebuilt generation.
        gate.frozen = None;
        true
    }
}

/// Replays a record into a generation, as the commit did, and its tables into `catalog`.
pub(super) fn replay(
    catalog: &mut Catalog,
    generation: &Generation,
    header: &log::record::Header,
    body: &[u8],
) -> Result<()> {
    let unreadable =
        |source: Box<Malformed>| Error::backend(format!("replaying record {}", header.seq), source);
    let body = raw::parse(body).map_err(|source| unreadable(Box::new(source)))?;
    // The record is in the log: synced on opening, or as safe as it will ever be after a failed fsync.
    let synced = 0;
    let seq = header.seq;
    generation.note_seq(seq);
    for (key, value) in body.meta {
        catalog.apply(key, value).map_err(|source| unreadable(Box::new(source)))?;
        let payload = value.map_or(Payload::Gone, |value| Payload::Bytes(Arc::from(value)));
        generation.insert(Space::Meta, key, Entry::new(seq, synced, payload));
    }
    for raw in body.changes {
        let id = raw.table_id().map_err(|source| unreadable(Box::new(source)))?;
        // The table was deleted later.
        let Some(table) = catalog.by_id(id) else {
            continue;
        };
        let (old, new) = raw.images().map_err(|source| unreadable(Box::new(source)))?;
        let image = |item: Option<Item>, bytes: Option<&[u8]>| {
            let bytes = bytes.unwrap_or_default().into();
            item.map(|item| Image { item, bytes, selection: None })
        };
        let change = ItemChange {
            table: Arc::clone(table),
            key: raw.key.to_vec(),
            // Only its attributes are read, never its encoding.
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
