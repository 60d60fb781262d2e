//! The behaviour of the limiter on every back-end.
//!
//! A scenario is written once, as an async function of a [`scene::Scene`], in the file of its theme. `scenes!` at the top of
//! the file makes one test of it per back-end: `theme::embedded::scenario`, `theme::embedded_delayed_index::scenario`
//! (indexes lag) and `theme::dynamodb_local::scenario` (sharded). The clock stands still until a scenario moves it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

#[macro_use(scenes)]
extern crate weir_testkit;

mod acquire;
mod acquire_once;
mod aggregate;
mod archive;
mod audit;
mod buckets;
mod cache;
mod cascade;
mod config;
mod cost;
mod edges;
mod entities;
mod fed;
mod feed_windows;
mod lease;
mod lease_acquired;
mod lease_actual;
mod lease_expiry;
mod lease_faults;
mod lease_misuse;
mod namespaces;
mod scene;
mod shards;
mod stale_config;
mod unknown;
mod usage;
mod version;
mod watched;
