//! What the embedded store keeps through kills, power cuts, failing disks and damaged files.
//!
//! A seed decides a run: the options, the writes and the moment of the crash. A failure prints it;
//! `WEIR_TEST_SEED=<seed>` runs that one alone. `WEIR_TEST_ALL=1` runs many more.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "these are tests, their helpers included"
)]

mod backup;
mod base_damage;
mod check;
mod close;
mod creation;
mod disk;
mod disk_faults;
mod expiry;
mod folder;
mod formats;
mod full_disk;
mod kill;
mod log_damage;
mod memory;
mod panics;
mod power;
mod power_loss;
mod preload;
mod seed;
mod trim;
mod workload;
