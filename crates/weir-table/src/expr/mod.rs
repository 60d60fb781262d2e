//! Conditions, filters and updates as a typed tree.
//!
//! They are built in Rust (`attr("tk").ge(5)`, `add("cost", 7)`) and checked by [`check`]. The embedded back-end evaluates them
//! with [`eval`] and [`apply`]; the DynamoDB back-end renders them as expression text.

pub mod apply;
pub mod check;
mod condition;
pub mod eval;
mod path;
mod text;
mod update;

pub use condition::{Compare, Condition, Operand, attr, size};
pub use path::{Path, Step};
pub use update::{Change, Term, Update, add, delete_from, remove, set, set_if_absent};
