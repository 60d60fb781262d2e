//! Namespaces: tenants with a name and an opaque id, with which all their keys begin.
//!
//! An active namespace has one item under its name and one under its id, which change together. A deleted one has only the
//! item under its id, until it is purged. Ids are never reused.

mod cache;
mod create;
mod delete;
mod find;
mod purge;
mod record;

use serde::Serialize;

pub(crate) use cache::NamespaceCache;
pub(crate) use purge::key_of;

use crate::ids::{NamespaceId, NamespaceName};

/// The namespace that always exists.
pub const DEFAULT: &str = "default";

/// The state of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The namespace is in use.
    Active,
    /// The namespace is deleted; its data remains and it can be recovered.
    Deleted,
    /// The data of the namespace is being deleted.
    Purging,
}

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The name.
    pub name: NamespaceName,
    /// The opaque id.
    pub id: NamespaceId,
    /// The state.
    pub state: State,
    /// When the namespace was created, in milliseconds since 1970.
    pub created_ms: i64,
    /// When the namespace was deleted, in milliseconds since 1970.
    pub deleted_ms: Option<i64>,
}

/// Decodes a namespace. None, if its name is invalid here.
pub(crate) fn decode_record(item: &weir_table::Item) -> Option<Record> {
    Record::decode(item)
}
