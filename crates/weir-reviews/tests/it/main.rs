//! The behaviour of reviews, on every back-end.
//!
//! A scenario is written once, as an async function of a [`scene::Scene`], in the file of its theme. `scenes!` at the top of
//! the file makes one test of it per back-end: `theme::embedded::scenario`, `theme::embedded_delayed_index::scenario`
//! (indexes lag) and `theme::dynamodb_local::scenario`. The clock stands still until a scenario moves it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test says what went wrong by panicking"
)]

#[macro_use(scenes)]
extern crate weir_testkit;

mod abandoned;
mod consensus;
mod cost;
mod deletion;
mod faults;
mod feedback;
mod foreign;
mod lists;
mod races;
mod raw;
mod recording;
mod samples;
mod scene;
mod shards;
mod steps;
