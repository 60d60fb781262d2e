//! Optimistic retries and paging for domains.
//!
//! A refused condition is a result: the caller reads again and decides anew. A conflict ([`Error::Conflict`]) only says that
//! another writer touched the same item at the same time. It says nothing about the condition, so the same request is sent
//! again after a [`pause`].

use std::time::Duration;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::request::{Page, Query, Transacted, Transaction, Write, Written};
use crate::store::Store;

/// Attempts of a request that keeps losing races.
pub const TRIES_MAX: u32 = 16;
/// Upper bound of the first pause; it doubles with each attempt.
pub const BACKOFF_BASE_MS: u64 = 2;
/// Upper bound of every pause.
pub const BACKOFF_MAX_MS: u64 = 100;
/// Items of a page for a caller.
pub const PAGE_MAX: u32 = 100;

/// Waits before attempt number `attempt`; the first one does not wait. The pause is a random part of a bound that doubles,
/// so that writers that collided once do not collide again.
pub async fn pause(attempt: u32) {
    if attempt > 0 {
        tokio::time::sleep(Duration::from_millis(fastrand::u64(1..=bound_ms(attempt)))).await;
    }
}

fn bound_ms(attempt: u32) -> u64 {
    BACKOFF_BASE_MS.saturating_mul(1 << attempt.min(16)).min(BACKOFF_MAX_MS)
}

/// How [`Store::transact_with_retry`] retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactOptions {
    /// Attempts in all.
    pub tries_max: u32,
    /// Attempts while the store does not respond ([`Error::Unavailable`]). All carry one idempotency token, so a
    /// transaction whose response was lost is not applied twice.
    pub unavailable_tries_max: u32,
}

impl Default for TransactOptions {
    /// [`TRIES_MAX`] attempts; the first [`Error::Unavailable`] is returned.
    fn default() -> TransactOptions {
        TransactOptions { tries_max: TRIES_MAX, unavailable_tries_max: 1 }
    }
}

/// A page of what a domain lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    /// The entries of the page.
    pub items: Vec<T>,
    /// Cursor of the next page; `None` at the end.
    pub cursor: Option<String>,
}

impl Page {
    /// The page as a domain lists it; items that `decode` does not know are left out.
    pub fn listed<T>(self, decode: impl FnMut(&Item) -> Option<T>) -> Listed<T> {
        Listed { items: self.items.iter().filter_map(decode).collect(), cursor: self.cursor }
    }
}

impl<B: Backend> Store<B> {
    /// Does one write and retries conflicts. A refused condition is a result.
    ///
    /// # Errors
    /// [`Error::Conflict`] after [`TRIES_MAX`] attempts; otherwise as [`Store::write`].
    pub async fn write_with_retry(&self, write: Write) -> Result<Written> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            match self.write(write.clone()).await {
                Err(Error::Conflict) => {}
                done => return done,
            }
        }
        Err(Error::Conflict)
    }

    /// Does all writes or none and retries conflicts, under one idempotency token. Refused conditions are a result.
    ///
    /// # Errors
    /// [`Error::Conflict`] when every attempt met one. [`Error::Unavailable`] leaves the outcome unknown. Otherwise as
    /// [`Store::transact`].
    pub async fn transact_with_retry(
        &self,
        writes: Vec<Write>,
        options: TransactOptions,
    ) -> Result<Transacted> {
        let transaction = Transaction::new(writes).token(uuid::Uuid::new_v4().to_string());
        let mut unavailable = 0;
        for attempt in 0..options.tries_max {
            pause(attempt).await;
            match self.transact(transaction.clone()).await {
                Err(Error::Conflict) => {}
                Err(Error::Unavailable(_)) if unavailable + 1 < options.unavailable_tries_max => {
                    unavailable += 1;
                }
                done => return done,
            }
        }
        Err(Error::Conflict)
    }

    /// Does one write, once. Returns false when its condition was refused or another writer was faster: either way the
    /// caller reads again.
    ///
    /// # Errors
    /// As [`Store::write`], without conflicts.
    pub async fn try_write(&self, write: Write) -> Result<bool> {
        match self.write(write).await {
            Ok(written) => Ok(written.is_applied()),
            Err(Error::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Does all writes or none, once. Returns false when a condition was refused or another writer was faster: either way
    /// the caller reads again.
    ///
    /// # Errors
    /// As [`Store::transact`], without conflicts.
    pub async fn try_transact(&self, writes: Vec<Write>) -> Result<bool> {
        match self.transact(Transaction::new(writes)).await {
            Ok(transacted) => Ok(transacted.is_applied()),
            Err(Error::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A page for a caller: at most `limit` items, and never more than [`PAGE_MAX`], from where `cursor` points.
    ///
    /// # Errors
    /// [`Error::Invalid`] for `cursor` when it is not of this query; otherwise as [`Store::query`].
    pub async fn page(&self, query: Query, limit: u32, cursor: Option<String>) -> Result<Page> {
        self.query(&Query { cursor, ..query.limit(limit.clamp(1, PAGE_MAX)) }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_a_pause_doubles_up_to_its_maximum() {
        let bounds: Vec<u64> = (1..=8).map(bound_ms).collect();
        assert_eq!(bounds, [4, 8, 16, 32, 64, 100, 100, 100]);
        assert_eq!(bound_ms(u32::MAX), BACKOFF_MAX_MS);
    }
}
