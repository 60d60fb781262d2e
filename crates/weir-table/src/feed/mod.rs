//! The change feed: every change of a table, once and in order per item.
//!
//! A feed has shards. The embedded log is one; a DynamoDB stream has many, and a shard that was
//! split or merged names its parent, whose changes come first. A consumer keeps its position in
//! each shard as an item of an ordinary table, so it can move the position in the same transaction
//! as what it wrote from the changes.

mod consumer;
mod image;
mod keys;
mod lease;
mod leasing;
mod lineage;
mod merge;
mod settle;
mod stretch;

pub use consumer::{Batch, Consumer, LEASE_MS};
pub use image::{Both, Image};
#[cfg(feature = "embedded")]
pub(crate) use image::{Stored, Wanted};
pub use keys::{positions_spec, shard_of};
pub use merge::{Merge, Merged};
pub use stretch::Stretch;

use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::value::Name;

/// One change of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The table.
    pub table: Name,
    /// The item's key.
    pub key: Key,
    /// The item before, if there was one.
    pub old: Option<Image>,
    /// The item after, if there is one.
    pub new: Option<Image>,
    /// When, in milliseconds since 1970. DynamoDB knows it to the second.
    pub at_ms: u64,
    /// Whether the item was removed because it had expired.
    pub expired: bool,
    /// Where the change stands in its shard.
    pub position: Name,
    /// What it tells as one, where it tells several changes.
    pub merged: Option<Merged>,
}

/// A shard of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedShard {
    /// Its id.
    pub id: String,
    /// The shard whose changes come before its own.
    pub parent: Option<String>,
}

/// A place in a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// The oldest change there is.
    Oldest,
    /// What comes from now on.
    Latest,
    /// What follows this change.
    After(String),
}

/// Changes read from a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// The changes, in order; merged ones where the first of them stood.
    pub changes: Vec<Change>,
    /// How many changes they tell.
    pub read: usize,
    /// The position of the last change that they tell.
    pub last: Option<Name>,
    /// Where to read next. It moves on even when there are no changes.
    pub next: Position,
    /// Whether the shard ends here for good.
    pub ended: bool,
}

impl FeedPage {
    /// Changes as they were made, none of them merged.
    #[must_use]
    pub fn new(changes: Vec<Change>, next: Position, ended: bool) -> FeedPage {
        let last = changes.last().map(|change| change.position.clone());
        FeedPage { read: changes.len(), last, changes, next, ended }
    }
}

/// The table that consumers keep their positions in, unless told otherwise.
pub const POSITIONS_TABLE: &str = "weir-feeds";
/// The attribute of a consumer's item that holds where it reads next.
pub const POSITION_ATTRIBUTE: &str = "position";
