//! Removes expired items and idempotency tokens.

use std::sync::Arc;

use super::catalog::{TOKEN_PREFIX, Table};
use super::change::{Before, ItemChange, MetaChange, expiry_of};
use super::dirty::{Payload, Space};
use super::engine::Engine;
use super::keys::KeyRange;
use super::page::Found;
use super::read::{self, Loaded, Lookup};
use super::token;
use crate::error::Result;
use crate::request::Durability;

/// Items that one sweep removes.
const SWEEP_MAX: usize = 10_000;
/// As on DynamoDB, an expiry more than five years in the past counts as a mistake and is ignored.
const EXPIRY_AGE_MAX_SECS: u64 = 5 * 365 * 24 * 60 * 60;

impl Engine {
    /// Removes expired items and tokens. Returns how many items were removed. Blocks.
    pub(super) fn sweep(&self) -> Result<u64> {
        let now_ms = self.options.clock.now_ms();
        self.sweep_tokens(now_ms)?;
        let now_secs = now_ms / 1000;
        let oldest = now_secs.saturating_sub(EXPIRY_AGE_MAX_SECS);
        let range = KeyRange {
            low: oldest.to_be_bytes().to_vec(),
            high: (now_secs + 1).to_be_bytes().to_vec(),
        };
        let (mut due, mut orphans) = (Vec::new(), Vec::new());
        for next in self.merged_entries(Space::Ttl, range, false) {
            let (place, found) = next?;
            match (self.table_of(place.get(8..)), found) {
                (_, Found::Dirty(entry)) if matches!(entry.payload, Payload::Gone) => {}
                (Some(table), _) => due.push((table, place)),
                (None, Found::Stored(_)) => orphans.push(place.into()),
                (None, Found::Dirty(_)) => {}
            }
            if due.len().max(orphans.len()) >= SWEEP_MAX {
                break;
            }
        }
        // Entries of deleted tables, whose items are gone.
        if !orphans.is_empty() {
            self.base.remove(Space::Ttl, &orphans)?;
        }
        let mut removed = 0;
        for (table, place) in due {
            if let Some(key) = place.get(8..) {
                removed += u64::from(self.expire(&table, key, oldest, now_secs)?);
            }
        }
        // The feed returns only what was handed to the operating system.
        self.log.flush(self.log.last_seq())?;
        Ok(removed)
    }

    /// The table of an item's key, unless it was deleted.
    fn table_of(&self, key: Option<&[u8]>) -> Option<Arc<Table>> {
        let id = key?.get(..4)?.try_into().map(u32::from_be_bytes).ok()?;
        self.catalog.read().by_id(id).cloned()
    }

    /// Removes an item if it is still expired; it may have been written since the scan.
    fn expire(&self, table: &Arc<Table>, key: &[u8], oldest: u64, now_secs: u64) -> Result<bool> {
        let _locked = self.lock_stripe(Engine::stripe_of(key));
        let gate = self.generations.read();
        let found = self.find_item(&gate, key, &Loaded::default(), Lookup::Disk)?;
        let Some((Some(old), barrier)) = found.map(|found| (found.stored, found.barrier)) else {
            return Ok(false);
        };
        let old = read::decode(old)?;
        let expiry = table.spec.ttl.as_ref().and_then(|ttl| expiry_of(&old.item, ttl));
        if !expiry.is_some_and(|expiry| (oldest..=now_secs).contains(&expiry)) {
            return Ok(false);
        }
        let change = ItemChange {
            table: Arc::clone(table),
            key: key.to_vec(),
            old: Before::Whole(old),
            new: None,
            expired: true,
        };
        let now_ms = self.options.clock.now_ms();
        self.publish(&gate, &[change], &[], Durability::Flushed, barrier, now_ms)?;
        Ok(true)
    }

    fn sweep_tokens(&self, now_ms: u64) -> Result<()> {
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
            .take(SWEEP_MAX)
            .collect::<Result<_>>()?;
        for gone in over {
            let _locked = self.lock_stripe(Engine::stripe_of(&gone.key));
            let gate = self.generations.read();
            let stored = self.find_meta(&gate, &gone.key, &Loaded::default(), Lookup::Disk)?;
            // It may have been used again since the scan.
            if let Some((Some(stored), barrier)) = stored
                && token::is_expired(&stored, now_ms)
            {
                self.publish(&gate, &[], &[gone], Durability::Flushed, barrier, now_ms)?;
            }
        }
        Ok(())
    }
}
