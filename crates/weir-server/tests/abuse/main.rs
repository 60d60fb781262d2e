//! The whole server under attack: every service, the real router and listener, as `weir serve` runs them.
//!
//! While an attack holds, every honest request succeeds, no probe fails, and no permit is taken. Each defence is shown on its
//! own: where one would stop an attack early, the test raises its bound.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod addresses;
mod attack;
mod bodies;
mod drain;
mod holding;
mod rate;
mod reserves;
mod site;
