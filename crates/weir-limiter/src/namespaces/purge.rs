//! Purges a deleted namespace: deletes everything in it.
//!
//! 1. [`Limiter::purge_namespace`] marks the item under the id as `purging`, which cannot be undone, and adds it to an index.
//! 2. [`Limiter::purge_step`], called repeatedly, deletes what the index of everything in the namespace (`GSI4`) shows.
//! 3. Instances may write for as long as they cache the id, and the index lags. So the time of the first pass that finds
//!    nothing is stored, and removed when a later pass finds something. When a pass finds nothing long enough after that
//!    time, the item under the id is deleted too.

use weir_table::expr::{attr, remove, set};
use weir_table::{Backend, Get, Item, Key, KeyValue, Query, Write, limits};

use super::record::{EMPTY_SINCE, STATUS};
use super::{Record, State};
use crate::audit::AuditAction;
use crate::bounds::{CALL_PAGES_MAX, PURGE_PAGE, PURGE_QUIET_MS, TRIES_MAX};
use crate::error::{Error, Result};
use crate::ids::{NamespaceId, NamespaceName};
use crate::limiter::Limiter;
use crate::table::{GSI2, GSI4};
use crate::{keys, retry};

impl<B: Backend> Limiter<B> {
    /// Starts to purge a deleted namespace; [`Limiter::purge_step`] does the work. Changes nothing if that has started already.
    ///
    /// # Errors
    /// The namespace does not exist or is not deleted, or the store fails.
    pub async fn purge_namespace(&self, name: &NamespaceName, actor: &str) -> Result<Record> {
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let Some(removed) = self.removed_namespace(name).await? else {
                return Err(match self.active_namespace(name).await? {
                    Some(_) => {
                        Error::Conflict(format!("namespace {name:?} is active; delete it first"))
                    }
                    None => Error::not_found("namespace", name.as_str()),
                });
            };
            let now_ms = self.now_ms();
            let purging = Record { state: State::Purging, ..removed.clone() };
            let mark = set(STATUS, State::Purging.as_str())
                .set("GSI2PK", keys::gsi2_purging())
                .set("GSI2SK", removed.id.as_str());
            let unchanged = attr(STATUS).eq(removed.state.as_str());
            let key = keys::namespace_id(&removed.id);
            let mark = Write::update(self.table(), key, mark).when(unchanged);
            let mut writes = vec![mark.essential()];
            if removed.state == State::Deleted {
                let event = AuditAction::NamespacePurged;
                writes.push(self.namespace_event(
                    event,
                    Some(&removed),
                    &purging,
                    actor,
                    now_ms,
                )?);
            }
            if self.try_transact(writes).await? {
                return Ok(purging);
            }
        }
        Err(Error::Contended)
    }

    /// Deletes up to `max` items of namespaces that are being purged, and their records once they have been empty for a while
    /// (instances use a namespace for as long as they cache its id). Returns the number of deleted items, and whether more is
    /// to do at once.
    ///
    /// # Errors
    /// The store fails.
    pub async fn purge_step(&self, max: u64) -> Result<(u64, bool)> {
        let query =
            Query::partition(self.table(), keys::gsi2_purging()).index(GSI2).limit(PURGE_PAGE);
        let page = self.store().query(&query).await?;
        let mut removed = 0;
        for item in &page.items {
            let Some(key) = key_of(item) else { continue };
            // The index may lag: the item itself decides.
            let Some(record) = self.store().get(&Get::new(self.table(), key)).await? else {
                continue;
            };
            if record.s(STATUS) != Some(State::Purging.as_str()) {
                continue;
            }
            if removed >= max {
                return Ok((removed, true));
            }
            let (found, more) = self.purge_one(&record, max - removed).await?;
            removed += found;
            if more {
                return Ok((removed, true));
            }
        }
        Ok((removed, page.cursor.is_some()))
    }

    /// One pass over a namespace. Returns the number of deleted items, and whether it stopped at `max`.
    async fn purge_one(&self, record: &Item, max: u64) -> Result<(u64, bool)> {
        let Some(decoded) = Record::decode(record) else { return Ok((0, false)) };
        let size = u32::try_from(max).unwrap_or(PURGE_PAGE).min(PURGE_PAGE);
        let mut query = Query::partition(self.table(), decoded.id.as_str()).index(GSI4).limit(size);
        let mut page = self.store().query(&query).await?;
        if page.items.is_empty() && page.cursor.is_none() {
            self.found_empty(&decoded.id, record.i64(EMPTY_SINCE)).await?;
            return Ok((0, false));
        }
        // Before the items are deleted: otherwise a crash in between would leave a time that is too early.
        if record.i64(EMPTY_SINCE).is_some() {
            let key = keys::namespace_id(&decoded.id);
            let is_purging = attr(STATUS).eq(State::Purging.as_str());
            let write = Write::update(self.table(), key, remove(EMPTY_SINCE)).when(is_purging);
            self.try_write(write.essential()).await?;
        }
        let mut removed = 0;
        for _ in 0..CALL_PAGES_MAX {
            removed += self.delete_items(&page.items).await?;
            let Some(cursor) = page.cursor else { return Ok((removed, false)) };
            if removed >= max {
                break;
            }
            query = query.after(cursor);
            page = self.store().query(&query).await?;
        }
        Ok((removed, true))
    }

    /// Deletes the items with these keys. Returns how many there are.
    pub(crate) async fn delete_items(&self, items: &[Item]) -> Result<u64> {
        let keys: Vec<Key> = items.iter().filter_map(key_of).collect();
        for batch in keys.chunks(limits::BATCH_WRITE_MAX) {
            let deletes = batch.iter().map(|key| Write::delete(self.table(), key.clone()));
            self.store().batch_write(deletes.collect()).await?;
        }
        Ok(keys.len() as u64)
    }

    async fn found_empty(&self, id: &NamespaceId, since: Option<i64>) -> Result<()> {
        let now_ms = self.now_ms();
        let key = keys::namespace_id(id);
        let is_purging = attr(STATUS).eq(State::Purging.as_str());
        let write = match since {
            None => Write::update(self.table(), key, set(EMPTY_SINCE, now_ms))
                .when(is_purging.and(attr(EMPTY_SINCE).absent()))
                .essential(),
            Some(since) if now_ms.saturating_sub(since) >= PURGE_QUIET_MS => {
                Write::delete(self.table(), key).when(is_purging.and(attr(EMPTY_SINCE).eq(since)))
            }
            Some(_) => return Ok(()),
        };
        // A refused write means that another instance was faster; a later pass reads the result.
        self.try_write(write).await?;
        Ok(())
    }
}

/// The key of an item, or of an index entry.
pub(crate) fn key_of(item: &Item) -> Option<Key> {
    let part = |name| item.get(name).and_then(KeyValue::from_value);
    Some(Key { partition: part("PK")?, sort: Some(part("SK")?) })
}
