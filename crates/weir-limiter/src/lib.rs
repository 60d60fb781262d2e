//! Token buckets whose state lives in a table. Any number of processes may acquire from the same bucket at once;
//! none hands out more than the bucket holds.
//!
//! The path of an acquire: [`Limiter::namespace`] finds the tenant, [`Namespace::acquire`] checks the request, takes
//! from the bucket with one conditional update (`acquire/fast`) or reads, refills and takes (`acquire/slow`), and the
//! parent pays too where the entity cascades. [`bucket`] is the arithmetic, [`keys`] the text of every key,
//! [`config`] whose limits hold, [`lease`] what happens after an acquire, [`aggregate`] what follows the changes.

pub mod acquire;
pub mod aggregate;
pub mod audit;
pub mod bounds;
pub mod bucket;
pub mod buckets;
pub mod config;
pub mod entities;
mod error;
pub mod ids;
pub mod item;
pub mod keys;
pub mod lease;
mod limiter;
pub mod migrations;
pub mod namespaces;
mod paging;
mod retry;
pub mod settings;
pub mod table;
mod time;
pub mod usage;
pub mod version;
mod writes;

pub use error::{Error, Result};
pub use limiter::{Limiter, Namespace};
pub use settings::{Compat, Settings};
