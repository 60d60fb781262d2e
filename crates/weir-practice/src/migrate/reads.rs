//! Shifts reads from PostgreSQL to our table by percentage, with the other side as fallback.
//!
//! Which side a record is read from depends on a hash of its id: it stays the same until the percentage moves, on every
//! instance.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sha2::{Digest as _, Sha256};
use weir_table::Backend;

use super::Migration;
use super::error::{Error, Result};
use super::record::Record;
use super::record_key::RecordKey;
use super::select::Lock;

/// Reads whose side depends on a percentage. Cheap to clone.
#[derive(Debug)]
pub struct ShiftedReads<B> {
    migration: Migration<B>,
    shared: Arc<Shared>,
}

impl<B> Clone for ShiftedReads<B> {
    fn clone(&self) -> Self {
        let shared = Arc::clone(&self.shared);
        ShiftedReads { migration: self.migration.clone(), shared }
    }
}

#[derive(Debug, Default)]
struct Shared {
    percent: AtomicU32,
    compared_percent: AtomicU32,
    hits: AtomicU64,
    fallbacks: AtomicU64,
    postgres: AtomicU64,
    compared: AtomicU64,
    differences: AtomicU64,
}

/// Counts of reads since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadCounts {
    /// Reads that our table answered.
    pub hits: u64,
    /// Reads that our table should have answered and PostgreSQL did, because the record was missing or the table failed.
    pub fallbacks: u64,
    /// Reads that were of PostgreSQL by their hash.
    pub postgres: u64,
    /// Reads of both sides.
    pub compared: u64,
    /// Reads of both sides that differed.
    pub differences: u64,
}

impl<B: Backend> ShiftedReads<B> {
    /// Reads of our table for `percent` of all records; for `compared_percent` of the reads both sides are compared.
    ///
    /// # Errors
    /// A percentage is larger than 100.
    pub fn new(
        migration: Migration<B>,
        percent: u32,
        compared_percent: u32,
    ) -> Result<ShiftedReads<B>> {
        let reads = ShiftedReads { migration, shared: Arc::default() };
        reads.set_percent(percent)?;
        check_percent("compared_percent", compared_percent)?;
        reads.shared.compared_percent.store(compared_percent, Ordering::Relaxed);
        Ok(reads)
    }

    /// Moves the percentage.
    ///
    /// # Errors
    /// It is larger than 100.
    pub fn set_percent(&self, percent: u32) -> Result<()> {
        check_percent("percent", percent)?;
        self.shared.percent.store(percent, Ordering::Relaxed);
        Ok(())
    }

    /// Counts of reads.
    #[must_use]
    pub fn counts(&self) -> ReadCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ReadCounts {
            hits: read(&self.shared.hits),
            fallbacks: read(&self.shared.fallbacks),
            postgres: read(&self.shared.postgres),
            compared: read(&self.shared.compared),
            differences: read(&self.shared.differences),
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// The side that answers fails.
    pub async fn read(&self, key: &RecordKey) -> Result<Option<Record>> {
        if hash_percent(key) >= self.shared.percent.load(Ordering::Relaxed) {
            self.shared.postgres.fetch_add(1, Ordering::Relaxed);
            return self.of_postgres(key).await;
        }
        let found = match self.of_table(key).await {
            Err(error) if error.is_unavailable() => None,
            found => found?,
        };
        let Some(found) = found else {
            self.shared.fallbacks.fetch_add(1, Ordering::Relaxed);
            return self.of_postgres(key).await;
        };
        self.shared.hits.fetch_add(1, Ordering::Relaxed);
        if fastrand::u32(..100) < self.shared.compared_percent.load(Ordering::Relaxed) {
            self.compare(key, &found).await;
        }
        Ok(Some(found))
    }

    /// A comparison is for the counters: that PostgreSQL fails is no reason not to answer.
    async fn compare(&self, key: &RecordKey, found: &Record) {
        let Ok(other) = self.of_postgres(key).await else { return };
        self.shared.compared.fetch_add(1, Ordering::Relaxed);
        if !other.is_some_and(|other| other.is_same(found)) {
            self.shared.differences.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn of_table(&self, key: &RecordKey) -> Result<Option<Record>> {
        Ok(self.migration.load(std::slice::from_ref(key)).await?.remove(key))
    }

    async fn of_postgres(&self, key: &RecordKey) -> Result<Option<Record>> {
        let client = self.migration.source().client().await?;
        let keys = std::slice::from_ref(key);
        let mut found = self.migration.load_rows(&*client, keys, Lock::No).await?;
        Ok(found.remove(key).map(|(_, record)| record))
    }
}

fn check_percent(field: &str, percent: u32) -> Result<()> {
    if percent <= 100 {
        return Ok(());
    }
    let problem = format!("is {percent}; at most 100");
    Err(Error::Practice(crate::Error::invalid(field, problem)))
}

/// A number below 100 that every instance computes for a record.
fn hash_percent(key: &RecordKey) -> u32 {
    let digest = Sha256::digest(key.to_string());
    let number = digest.iter().take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    number % 100
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::UserId;

    #[test]
    fn a_record_stays_on_its_side_as_the_percentage_grows() {
        let key = |number: u32| RecordKey::User(UserId::new(number.to_string()).unwrap());
        assert_eq!(hash_percent(&key(1)), hash_percent(&key(1)));
        for percent in [0, 25, 50, 75, 100] {
            let shifted = (0..10_000).filter(|n| hash_percent(&key(*n)) < percent).count();
            let expected = percent as usize * 100;
            assert!(shifted.abs_diff(expected) < 200, "{percent} %: {shifted}");
        }
    }
}
