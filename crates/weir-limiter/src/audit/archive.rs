//! Events past their retention move from the table to object storage.
//!
//! 1. `find` lists the events of whole UTC days that are past retention, so that a day's events no longer change.
//! 2. `bundle` puts them, in order, into objects of a fixed number: `{prefix}/{ns}/{yyyy}/{mm}/{dd}/{first event}.jsonl.gz`.
//! 3. The object is written, then its events are deleted, in one transaction.
//!
//! A crash in between leaves all events of the object, and the next run writes the same object with the same content. Because
//! they are deleted together, no other object can begin with the same event: so an object is never overwritten
//! by one with less in it, though two instances work at once.

mod bundle;
mod find;
mod place;

pub use place::Archive;

use weir_table::{Backend, Error as StoreError, Get, Item, Transaction, Write};

use self::find::Old;
use crate::error::Result;
use crate::limiter::Limiter;

const DAY_MS: i64 = 86_400_000;
/// Events of one object. They are read at once and deleted in one transaction, which takes four megabytes; an event has
/// at most about seventy kilobytes.
const OBJECT_EVENTS: usize = 50;

impl<B: Backend> Limiter<B> {
    /// Moves up to about `max` events past retention to the archive. Returns how many, and whether there are more.
    ///
    /// # Errors
    /// The archive or the store fails. Events are deleted only after they were archived.
    pub async fn archive_audit(&self, archive: &Archive, max: u64) -> Result<(u64, bool)> {
        let kept_ms = i64::from(self.settings().audit_retention_days) * DAY_MS;
        let before_ms = (self.now_ms() - kept_ms).max(0) / DAY_MS * DAY_MS;
        let mut moved = 0;
        for ns in self.audited().await? {
            let (days, is_all) = self.old_events(&ns, before_ms).await?;
            for events in days.values() {
                let mut events: Vec<&Old> = events.iter().collect();
                events.sort_by(|a, b| (&a.id, &a.key).cmp(&(&b.id, &b.key)));
                for events in events.chunks(OBJECT_EVENTS) {
                    if moved >= max {
                        return Ok((moved, true));
                    }
                    moved += self.archive_object(archive, &ns, events).await?;
                }
            }
            if !is_all {
                return Ok((moved, true));
            }
        }
        Ok((moved, false))
    }

    /// Archives the events of one object, and deletes them. Returns how many; none when somebody else is at them.
    async fn archive_object(&self, archive: &Archive, ns: &str, events: &[&Old]) -> Result<u64> {
        let gets: Vec<Get> =
            events.iter().map(|event| Get::new(self.table(), event.key.clone())).collect();
        let items = match self.store().transact_get(&gets).await {
            Ok(items) => items,
            Err(StoreError::Conflict) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        // Events go together, so one that is gone means that the index is behind.
        let Some(items) = items.into_iter().collect::<Option<Vec<Item>>>() else { return Ok(0) };
        let Some(first) = events.first() else { return Ok(0) };
        archive.put(&bundle::name(ns, first), bundle::content(ns, &items)?).await?;
        let deletes = events.iter().map(|event| Write::delete(self.table(), event.key.clone()));
        match self.store().transact(Transaction::new(deletes)).await {
            Ok(_) => Ok(events.len() as u64),
            Err(StoreError::Conflict) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}
