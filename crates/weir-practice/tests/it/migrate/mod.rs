//! The migration from a real PostgreSQL server, and back.

mod backfill;
mod bad_rows;
mod dual_write;
mod erasures;
mod interruptions;
pub(crate) mod origin;
mod reads;
mod rollback;
mod tls;
mod validate;
