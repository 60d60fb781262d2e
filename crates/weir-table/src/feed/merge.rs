//! Telling many changes of an item as one.
//!
//! Whoever counts or looks after items wants to know how each was before many changes and after them, not every step. A
//! back-end that has the changes as bytes tells that for a fraction of what the steps cost. It is a permission, not a
//! duty: DynamoDB Streams tell every step.

use super::Change;
use crate::key::Key;

/// Which changes may be told as one.
#[derive(Debug, Clone, Copy)]
pub struct Merge {
    /// The items whose changes may.
    pub items: fn(&Key) -> bool,
    /// Only changes in the same span of so many milliseconds since 1970.
    pub within_ms: u64,
    /// Attributes: how many of the changes touched one is told.
    pub counted: fn(&str) -> bool,
}

/// What several changes of an item were, that are told as one: the item was there before and after each of them, and none
/// but the first took an attribute away. None added one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// When the first was made, in milliseconds since 1970.
    pub first_ms: u64,
    /// How many touched a counted attribute.
    pub counted: u32,
}

impl Change {
    /// When the first of the changes that it tells was made.
    #[must_use]
    pub fn first_ms(&self) -> u64 {
        self.merged.map_or(self.at_ms, |merged| merged.first_ms)
    }
}
