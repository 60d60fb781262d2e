//! Usage: the tokens that entities consumed, by hour, day and month.
//!
//! `accumulate` turns changes of buckets into writes of snapshots, `snapshot` is the stored form, `list` reads them: those of
//! an entity from its own partition (`by_entity`), those of a resource through an index (`by_resource`). `summary` sums them.

pub(crate) mod accumulate;
mod by_entity;
mod by_resource;
mod cursor;
mod list;
mod snapshot;
mod summary;
mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_table::Backend;
use weir_table::retry::Listed;

use crate::error::Result;
use crate::ids::{EntityId, LimitName, Resource};
use crate::limiter::Namespace;

pub use accumulate::UsageAccumulator;

/// The length of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// An hour.
    Hourly,
    /// A day in UTC.
    Daily,
    /// A month in UTC.
    Monthly,
}

/// The usage of a resource by an entity in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The entity.
    pub entity: EntityId,
    /// The resource.
    pub resource: Resource,
    /// The length of the window.
    pub window: Window,
    /// When the window began, in milliseconds since 1970.
    pub start_ms: i64,
    /// Tokens of each limit, rounded down. They are whole unless a take from several shards is recorded in part, for a moment
    /// or because an hour ended in between.
    pub used: BTreeMap<LimitName, i64>,
    /// Millitokens of each limit, exact.
    pub used_milli: BTreeMap<LimitName, i64>,
    /// Number of changes recorded.
    pub events: i64,
}

/// Selects snapshots: of an entity (on one resource or on all), or of a resource (of all entities).
#[derive(Debug, Clone)]
pub struct Filter {
    /// The entity.
    pub entity: Option<EntityId>,
    /// The resource.
    pub resource: Option<Resource>,
    /// The length of the windows.
    pub window: Window,
    /// A time in the first window, in milliseconds since 1970.
    pub from_ms: i64,
    /// End of the time range, exclusive, in milliseconds since 1970.
    pub to_ms: i64,
    /// Most snapshots to return.
    pub limit: u32,
    /// The cursor of the previous page.
    pub cursor: Option<String>,
}

/// The sums over selected snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Number of snapshots.
    pub snapshots: u64,
    /// Tokens of each limit.
    pub total: BTreeMap<LimitName, i64>,
    /// Most tokens in one window, of each limit.
    pub peak: BTreeMap<LimitName, i64>,
    /// Number of changes recorded.
    pub events: i64,
}

impl<B: Backend> Namespace<B> {
    /// Lists snapshots by time, a page at a time. A page may have fewer than `limit` even if there are more.
    ///
    /// # Errors
    /// Neither an entity nor a resource is given, the cursor belongs to another list, the entity used too many resources to
    /// list them together, or the store fails.
    pub async fn usage(&self, filter: &Filter) -> Result<Listed<Snapshot>> {
        list::page(self, filter).await
    }

    /// Sums all selected snapshots; ignores `limit` and `cursor`.
    ///
    /// # Errors
    /// As [`Namespace::usage`], or there are too many to sum.
    pub async fn usage_summary(&self, filter: &Filter) -> Result<Summary> {
        summary::summarize(self, filter).await
    }
}
