//! The behaviour of the practice service, on every back-end.
//!
//! A scenario is written once, as an async function of a [`scene::Scene`], in the file of its theme. `scenes!` at the top of
//! the file makes one test of it per back-end: `theme::embedded::scenario`, `theme::embedded_delayed_index::scenario`
//! (indexes lag) and `theme::dynamodb_local::scenario`. The clock stands still until a scenario moves it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

#[macro_use(scenes)]
extern crate weir_testkit;

mod audit;
mod cost;
mod counters;
mod failing_objects;
mod history;
mod jobs;
mod migrate;
mod plans;
mod problem_faults;
mod problem_lists;
mod problem_samples;
mod problem_views;
mod problems;
mod scene;
mod service;
mod source_queries;
mod stats;
mod tasks;
mod test_cases;
mod text_properties;
mod uploads;
mod usage;
mod usage_archive;
mod usage_races;
mod users;
mod users_erasure;
