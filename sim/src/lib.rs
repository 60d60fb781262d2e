//! A seeded simulation of several instances over one store.
//!
//! One thread runs everything. A run of a seed starts requests on instances, lets one of those in flight go on to its next
//! call of the store, moves clocks, kills instances, and lets calls fail; the seed decides all of it, so a seed replays
//! exactly. After every step what was written and answered is compared with a plain [`model`] (ADR 0028).
//!
//! Read next: [`limiter`], [`keeper`], [`reviews`] and [`practice`] for what happens in a run, [`check`] for the rules, [`store`] for the faults.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a simulation ends where its own assumptions do"
)]

pub mod check;
pub mod clocks;
pub mod faults;
pub mod keeper;
pub mod limiter;
pub mod model;
pub mod objects;
pub mod practice;
pub mod random;
pub mod reviews;
mod run;
pub mod store;
pub mod task;
pub mod trace;

pub use check::{Check, Checks, KNOWN_OPEN, Violation};
pub use faults::{CASES, FaultCase};
pub use trace::{Domain, Failure, Passed};

/// Runs a seed for so many steps.
///
/// # Errors
/// A rule was broken.
pub fn run(domain: Domain, seed: u64, steps: u64, checks: &Checks) -> Result<Passed, Box<Failure>> {
    match domain {
        Domain::Limiter => limiter::run(seed, steps, checks),
        Domain::Keeper => keeper::run(seed, steps, checks),
        Domain::Reviews => reviews::run(seed, steps, checks),
        Domain::Practice => practice::run(seed, steps, checks),
    }
}
