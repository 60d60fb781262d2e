//! Merges of changes of one item.
//!
//! A job that counts or maintains items needs an item before and after many changes, not every step. A back-end that has
//! the changes as bytes computes that at a fraction of the cost. Merging is optional: DynamoDB Streams return every step.

use super::Change;
use crate::key::Key;

/// Which changes a back-end may merge.
#[derive(Debug, Clone, Copy)]
pub struct Merge {
    /// Selects the items whose changes may be merged.
    pub items: fn(&Key) -> bool,
    /// Length of a time span in milliseconds; only changes in the same span, counted from 1970, are merged.
    pub within_ms: u64,
    /// Selects attributes; [`Merged::counted`] is the number of changes that touched one.
    pub counted: fn(&str) -> bool,
}

/// Describes the changes merged into one. The item existed before and after each of them, none added an attribute, and only
/// the first may have removed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// Time of the first change, in milliseconds since 1970.
    pub first_ms: u64,
    /// How many changes touched a counted attribute.
    pub counted: u32,
}

impl Change {
    /// Time of the first change merged into this one, in milliseconds since 1970.
    #[must_use]
    pub fn first_ms(&self) -> u64 {
        self.merged.map_or(self.at_ms, |merged| merged.first_ms)
    }
}
