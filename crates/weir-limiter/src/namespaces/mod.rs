//! Tenants: a name, and the opaque id that all keys of the tenant begin with.
//!
//! A namespace in use has an item under its name and one under its id; both say the same, and they change together. A deleted one
//! has only the item under its id, until it is purged. Ids are never used again.

mod cache;
mod create;
mod find;
mod purge;
mod record;
mod remove;

use serde::{Deserialize, Serialize};

pub use cache::Cache;
pub(crate) use purge::key_of;

use crate::ids::{NamespaceId, NamespaceName};

/// The namespace that is always there.
pub const DEFAULT: &str = "default";

/// Where a namespace is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It can be used.
    Active,
    /// It was deleted; its data is there and it can be recovered.
    Deleted,
    /// Its data is being removed.
    Purging,
}

/// A namespace's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub name: NamespaceName,
    /// Its id.
    pub id: NamespaceId,
    /// Where it is in its life.
    pub state: State,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// When it was deleted.
    pub deleted_ms: Option<i64>,
}
