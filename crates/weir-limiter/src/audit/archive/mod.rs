//! Moves audit events past their retention from the table to object storage.
//!
//! 1. `expired` lists the events of whole UTC days past retention, so that a day's events no longer change.
//! 2. `object` packs them, in order, into objects of a fixed number of events:
//!    `{prefix}/{ns}/{yyyy}/{mm}/{dd}/{first event}.jsonl.gz`.
//! 3. `storage` writes the object; then its events are deleted in one transaction.
//!
//! A crash in between leaves all events of the object, and the next run writes the same object with the same content.
//! Because events are deleted together, no other object can begin with the same event: so no object is overwritten by a
//! shorter one, even if two instances work at once.

mod expired;
mod object;
mod storage;

pub use storage::Archive;

use weir_table::{Backend, Error as StoreError, Get, Item, Transaction, Write};

use self::expired::ExpiredEvent;
use crate::error::Result;
use crate::limiter::Limiter;

const DAY_MS: i64 = 86_400_000;
/// Events per object. They are read at once and deleted in one transaction, which is limited to four megabytes; an event
/// has at most about seventy kilobytes.
const OBJECT_EVENTS: usize = 50;

impl<B: Backend> Limiter<B> {
    /// Moves up to about `max` events past retention to the archive. Returns how many, and whether there are more.
    ///
    /// # Errors
    /// The archive or the store fails. Events are deleted only after they were archived.
    pub async fn archive_audit(&self, archive: &Archive, max: u64) -> Result<(u64, bool)> {
        let retention_ms = i64::from(self.settings().audit_retention_days) * DAY_MS;
        let before_ms = (self.now_ms() - retention_ms).max(0) / DAY_MS * DAY_MS;
        let mut moved = 0;
        for ns in self.audited_namespaces().await? {
            let (days, is_complete) = self.expired_events(&ns, before_ms).await?;
            for events in days.values() {
                let mut events: Vec<&ExpiredEvent> = events.iter().collect();
                events.sort_by(|a, b| (&a.id, &a.key).cmp(&(&b.id, &b.key)));
                for events in events.chunks(OBJECT_EVENTS) {
                    if moved >= max {
                        return Ok((moved, true));
                    }
                    moved += self.archive_object(archive, &ns, events).await?;
                }
            }
            if !is_complete {
                return Ok((moved, true));
            }
        }
        Ok((moved, false))
    }

    /// Archives the events of one object, and deletes them. Returns how many; none if another instance is doing it.
    async fn archive_object(
        &self,
        archive: &Archive,
        ns: &str,
        events: &[&ExpiredEvent],
    ) -> Result<u64> {
        let gets: Vec<Get> =
            events.iter().map(|event| Get::new(self.table(), event.key.clone())).collect();
        let items = match self.store().transact_get(&gets).await {
            Ok(items) => items,
            Err(StoreError::Conflict) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        // Events are deleted together, so a missing one means that the index lags.
        let Some(items) = items.into_iter().collect::<Option<Vec<Item>>>() else { return Ok(0) };
        let Some(first) = events.first() else { return Ok(0) };
        archive.put(&object::name(ns, first), object::content(ns, &items)?).await?;
        let deletes = events.iter().map(|event| Write::delete(self.table(), event.key.clone()));
        match self.store().transact(Transaction::new(deletes)).await {
            Ok(_) => Ok(events.len() as u64),
            Err(StoreError::Conflict) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}
