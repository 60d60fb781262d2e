//! The keeper's behaviour, on every back-end.
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

mod aggregate;
mod apps;
mod audit;
mod batch;
mod cost;
mod counters;
mod credential_faults;
mod credentials;
mod deletion;
mod deletion_faults;
mod deliveries;
mod effective;
mod export;
mod finalize;
mod history;
mod open;
mod orgs;
mod prices;
mod profiles;
mod scene;
mod spending;
mod sticky;
mod submit;
mod sums;
mod totals;
mod webhooks;
