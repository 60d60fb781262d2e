//! The change feed: every change of a table, once and in order per item.
//!
//! A feed has shards. The embedded log is one; a DynamoDB stream has many, and a shard that was split or merged names its
//! parent, whose changes come first. A [`Consumer`] stores its position in each shard as an item of an ordinary table, so
//! that it moves in the same transactions as what was written because of the changes.
//!
//! Read next: `consumer` for leases, `window` and `commit` for how each change counts once (ADR 0019).

mod commit;
mod consumer;
mod image;
mod keys;
mod lease;
mod merge;
mod shard_plan;
mod shards;
mod window;

pub use consumer::{Consumer, LEASE_MS};
pub use image::{Image, ImagePair};
#[cfg(feature = "embedded")]
pub(crate) use image::{Stored, Wanted};
#[cfg(feature = "embedded")]
pub(crate) use keys::consumer_of;
pub use keys::{positions_spec, shard_of};
#[cfg(feature = "embedded")]
pub(crate) use lease::seen_ms;
pub use merge::{Merge, Merged};
pub use window::FeedWindow;

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
    /// The item before the change, unless it was created.
    pub old: Option<Image>,
    /// The item after the change, unless it was deleted.
    pub new: Option<Image>,
    /// Time of the change, in milliseconds since 1970. DynamoDB reports whole seconds.
    pub at_ms: u64,
    /// Whether the item was deleted because it had expired.
    pub expired: bool,
    /// Position of the change in its shard.
    pub position: Name,
    /// Set when the back-end merged several changes into this one.
    pub merged: Option<Merged>,
}

/// A shard of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedShard {
    /// The shard's id.
    pub id: String,
    /// The shard whose changes come first.
    pub parent: Option<String>,
}

/// A position in a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// At the oldest change of the shard.
    Oldest,
    /// After the newest change of the shard.
    Latest,
    /// After the change at this position.
    After(String),
}

/// Changes read from a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// The changes, in order. A merged change stands where the first of its changes stood.
    pub changes: Vec<Change>,
    /// How many changes were read, before merging.
    pub read: usize,
    /// The position of the last change that was read.
    pub last: Option<Name>,
    /// Where to read next. It moves even when there are no changes.
    pub next: Position,
    /// Whether the shard is closed and ends here.
    pub ended: bool,
}

impl FeedPage {
    /// A page of changes, none of them merged.
    #[must_use]
    pub fn new(changes: Vec<Change>, next: Position, ended: bool) -> FeedPage {
        let last = changes.last().map(|change| change.position.clone());
        FeedPage { read: changes.len(), last, changes, next, ended }
    }
}

/// The default name of the table of consumer positions.
pub const POSITIONS_TABLE: &str = "weir-feeds";
/// The attribute of a consumer's item with its position.
pub const POSITION_ATTRIBUTE: &str = "position";
