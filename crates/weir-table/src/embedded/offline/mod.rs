//! Checks and repairs a store that no process has open.
//!
//! `verify` reads everything and changes nothing: the base store is opened in a private copy (`scratch`), and the log is read
//! around its gaps. `repair` writes a new base store and a new log from whatever can be read (`salvage`), and puts them in
//! the place of the old ones, which it keeps (`swap`). ADR 0041 says what is recovered without it.

mod damage;
mod repair;
mod salvage;
mod scratch;
mod swap;
#[cfg(test)]
mod tests;
mod verify;

pub use damage::{Damage, Effect};
pub use repair::{RepairReport, repair_folder};
pub use verify::{FolderReport, verify_folder};
