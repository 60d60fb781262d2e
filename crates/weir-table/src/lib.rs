//! The store under Weir: tables shaped like DynamoDB's, embedded on one machine or on DynamoDB.
//!
//! A domain builds a [`request`], [`Store`] checks it against the table's [`spec`], and a [`backend::Backend`] executes it.
//! Both back-ends enforce DynamoDB's limits, and one contract suite (`tests/contract`) runs on both. Read next: [`Store`],
//! then [`retry`] for writes that race, [`feed`] for changes, and `embedded` for the engine.

pub mod addition;
#[cfg(any(feature = "embedded", feature = "dynamodb"))]
mod any;
pub mod attrs;
pub mod audit;
pub mod backend;
pub mod capacity;
pub mod check;
pub mod clock;
pub mod cursor;
#[cfg(feature = "dynamodb")]
pub mod dynamodb;
#[cfg(feature = "embedded")]
pub mod embedded;
mod error;
pub mod event_ids;
pub mod expr;
mod faults;
pub mod feed;
pub mod id;
pub mod item;
pub mod json;
pub mod key;
pub mod limits;
pub mod number;
pub mod request;
pub mod retry;
pub mod spec;
mod store;
pub mod value;

pub use addition::{Add, Added, Addition, Guard, Prepared};
#[cfg(any(feature = "embedded", feature = "dynamodb"))]
pub use any::AnyBackend;
pub use backend::{Backend, WriteState};
pub use error::{Error, Result};
pub use item::Item;
pub use key::{Key, KeyValue};
pub use number::Number;
pub use request::{
    Consistency, Durability, Get, Page, Query, ReturnAttributes, SortRange, Transacted,
    Transaction, Verdict, Write, Written,
};
pub use spec::{IndexSpec, Projection, TableSpec};
pub use store::Store;
pub use value::{Kind, Name, Value};
