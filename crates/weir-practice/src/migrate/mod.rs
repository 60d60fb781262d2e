//! Moves the data of an application from PostgreSQL, and back.
//!
//! 1. [`Migration::backfill`] copies rows, in batches and resumable. Ids derive from row ids, so a second run changes nothing.
//! 2. [`Migration::validate`] compares both sides field by field, in both directions.
//! 3. [`dual_write`] keeps both sides equal while either is written: the change feed of the table is the queue for
//!    PostgreSQL, and a table of PostgreSQL is the queue for ours.
//! 4. [`reads`] shifts reads by percentage, with PostgreSQL as fallback.
//! 5. [`Migration::rollback`] writes to PostgreSQL what only our table has.
//!
//! A [`Record`] is what both sides have in common: `mapping` makes it of a row, `load` of an item, and `upsert` makes a row
//! of it. ADR 0037 says why it is so.

mod audit;
mod backfill;
mod checkpoint;
mod compare;
pub mod dual_write;
mod entity;
mod error;
mod import;
mod keys;
mod load;
mod mapping;
mod pace;
mod parents;
mod postgres;
pub mod reads;
mod record;
mod record_key;
mod rollback;
mod row_ids;
mod rows;
mod scan;
mod select;
mod solution;
mod status;
mod upsert;
mod validate;
mod write_back;

use weir_table::Backend;

pub use self::backfill::{BackfillOptions, BackfillReport, BadRow, Counts, Progress};
pub use self::compare::{Difference, DifferenceKind};
pub use self::entity::Entity;
pub use self::error::{Error, Result};
pub use self::postgres::Source;
pub use self::record::Record;
pub use self::record_key::RecordKey;
pub use self::rollback::{RollbackOptions, RollbackReport};
pub use self::status::{EntityStatus, QueueStatus, Status};
pub use self::validate::{Scope, TableReport, ValidateReport};
pub use self::write_back::WriteCounts;
use crate::practice::Practice;

/// A migration from one PostgreSQL database into one table. Cheap to clone.
#[derive(Debug)]
pub struct Migration<B> {
    practice: Practice<B>,
    source: Source,
}

impl<B> Clone for Migration<B> {
    fn clone(&self) -> Self {
        Migration { practice: self.practice.clone(), source: self.source.clone() }
    }
}

impl<B> Migration<B> {
    /// The practice service.
    #[must_use]
    pub fn practice(&self) -> &Practice<B> {
        &self.practice
    }

    /// The PostgreSQL database.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }
}

impl<B: Backend> Migration<B> {
    /// Connects to PostgreSQL by a URL like `postgres://user@host/database?sslmode=require`.
    ///
    /// # Errors
    /// The URL is invalid, or PostgreSQL does not respond or refuses the connection.
    pub async fn connect(url: &str, practice: Practice<B>) -> Result<Migration<B>> {
        let source = Source::new(url)?;
        source.client().await?;
        Ok(Migration { practice, source })
    }

    /// A migration whose PostgreSQL may be down; it is connected to when it is needed.
    #[must_use]
    pub fn new(source: Source, practice: Practice<B>) -> Migration<B> {
        Migration { practice, source }
    }

    /// The first instant whose usage is migrated, in milliseconds since 1970: earlier usage has expired.
    #[must_use]
    pub fn usage_since_ms(&self) -> i64 {
        let practice = &self.practice;
        let today = practice.day_of(practice.now_ms());
        let days = i64::from(practice.settings().usage_days);
        practice.settings().zone.first_instant(today.plus_days(-days))
    }
}
