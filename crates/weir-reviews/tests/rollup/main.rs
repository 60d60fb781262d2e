//! Rollups and comparisons: equal to what the reviews themselves say, whatever happens on the way.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

mod brute_force;
mod by_hand;
mod changes;
mod faults;
mod generate;
mod properties;
mod races;
mod scene;
mod unreliable;
mod verify;
