//! The keeper over HTTP: real sockets, a real store, a manual clock.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests"
)]

mod access;
mod aggregates;
mod audit;
mod credentials;
mod deletion;
mod deliveries;
mod fast_path;
mod forged;
#[cfg(feature = "dynamodb")]
mod instances;
mod jobs;
mod leaks;
mod orgs;
mod original;
mod prices;
mod receiver;
mod restored;
mod runtime;
mod scene;
mod security;
mod targets;
mod tokens;
