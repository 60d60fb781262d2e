//! What was used, by hour, day and month.
//!
//! `count` turns changes of buckets into writes of snapshots, `snapshot` is a snapshot's item, `list` finds them
//! again: those of an entity in its own partition, those of a resource through an index.

pub(crate) mod count;
mod cursor;
mod list;
mod of_entity;
mod of_resource;
mod snapshot;
mod sum;
mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_table::Backend;

use crate::error::Result;
use crate::ids::{EntityId, LimitName, Resource};
use crate::limiter::Namespace;

pub use count::Tally;

/// How long a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// An hour.
    Hourly,
    /// A day, in UTC.
    Daily,
    /// A month, in UTC.
    Monthly,
}

/// What an entity used of a resource in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Who.
    pub entity: EntityId,
    /// What.
    pub resource: Resource,
    /// How long the window is.
    pub window: Window,
    /// When it began, in milliseconds since 1970.
    pub start_ms: i64,
    /// Tokens of each limit, rounded down. They are whole unless a take that was gathered from several shards is
    /// counted in part, for a moment or because an hour ended in between.
    pub used: BTreeMap<LimitName, i64>,
    /// Millitokens of each limit, exact.
    pub used_milli: BTreeMap<LimitName, i64>,
    /// Changes that were counted.
    pub events: i64,
}

/// Which snapshots: of an entity (on a resource or on all), or of a resource (all entities).
#[derive(Debug, Clone)]
pub struct Filter {
    /// Of whom.
    pub entity: Option<EntityId>,
    /// Of what.
    pub resource: Option<Resource>,
    /// How long the windows are.
    pub window: Window,
    /// From which window on: milliseconds since 1970, in it.
    pub from_ms: i64,
    /// Up to before this, in milliseconds since 1970.
    pub to_ms: i64,
    /// How many at most.
    pub limit: u32,
    /// Where to go on.
    pub cursor: Option<String>,
}

/// Sums over the snapshots of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Snapshots that were summed.
    pub snapshots: u64,
    /// Tokens of each limit.
    pub total: BTreeMap<LimitName, i64>,
    /// The most in one window, of each limit.
    pub peak: BTreeMap<LimitName, i64>,
    /// Changes that were counted.
    pub events: i64,
}

impl<B: Backend> Namespace<B> {
    /// Snapshots in order of time, and where to go on. A page may have fewer than `limit` though there are more.
    ///
    /// # Errors
    /// Neither an entity nor a resource is named, the cursor is not of this list, the entity used too many resources to
    /// list them together, or the store fails.
    pub async fn usage(&self, filter: &Filter) -> Result<(Vec<Snapshot>, Option<String>)> {
        list::page(self, filter).await
    }

    /// The sums of all snapshots of a filter; `limit` and `cursor` do not matter.
    ///
    /// # Errors
    /// As [`Namespace::usage`], or there are too many to sum.
    pub async fn usage_summary(&self, filter: &Filter) -> Result<Summary> {
        sum::sum(self, filter).await
    }
}
