//! A rate limiter: token buckets whose state is in a table. Any number of processes may acquire from the same bucket at
//! once, and together they never grant more than the bucket has.
//!
//! [`Limiter::namespace`] opens a namespace. [`Namespace::acquire`] validates a request and takes from the bucket with one
//! conditional update (`acquire/fast_path`), or reads, refills and takes (`acquire/slow_path`); if the entity cascades, its
//! parent pays too (`acquire/cascade`). Further modules: [`bucket`] is the token bucket arithmetic, [`keys`] the text of every
//! key, [`config`] the levels of limits, [`lease`] what happens after an acquire, [`aggregate`] the background work that
//! follows the change feed.

pub mod acquire;
pub mod aggregate;
pub mod audit;
pub mod bounds;
pub mod bucket;
pub mod buckets;
pub mod config;
pub mod entities;
mod error;
pub mod faults;
mod idempotency;
pub mod ids;
pub mod import;
pub mod item;
pub mod keys;
pub mod lease;
mod limiter;
pub mod migrations;
pub mod namespaces;
mod retry;
pub mod settings;
mod shared_table;
pub mod table;
mod time;
pub mod usage;
pub mod version;
mod writes;

pub use error::{Error, Result};
pub use limiter::{Limiter, Namespace};
pub use settings::{Compat, Settings};
