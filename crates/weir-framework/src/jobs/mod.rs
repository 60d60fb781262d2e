//! Background jobs: aggregators, sweepers, refreshes, monitors.
//!
//! A job is an idempotent function of what is in the store. A [`PeriodicJob`] one runs every so often,
//! on one instance at a time or on all; a [`FeedJob`] one is given windows of a table's change feed and returns what to
//! write because of them. [`Jobs`] gives each a task and owns all the rest: period and jitter, retry with backoff,
//! deadline, panics, leases, results and shutdown.
//!
//! What must hold, on any number of instances, whatever is killed when:
//! - A change of a table counts once in what a counting job writes, because each of its transactions records how far the
//!   window is written.
//! - A job that runs alone does so while clocks agree and the store answers. When a lease is lost
//!   the run is asked to stop, then dropped; a job that must not be run twice even then puts a
//!   condition on its own writes, as everything here does.
//! - A full pass that is owed is done, though the instance that found it owed may die.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use weir_framework::jobs::{Done, Jobs, PeriodicJob, Result, RunContext};
//! struct Sweep;
//!
//! impl PeriodicJob for Sweep {
//!     fn name(&self) -> &str {
//!         "sweep"
//!     }
//!
//!     fn every(&self) -> Duration {
//!         Duration::from_secs(60)
//!     }
//!
//!     async fn run(&self, run: &RunContext) -> Result<Done> {
//!         // Sweep up to run.items_max() items.
//!         Ok(Done::all(run.items_max()))
//!     }
//! }
//!
//! # async fn serve(store: weir_table::Store<weir_table::AnyBackend>) -> weir_table::Result<()> {
//! let jobs = Jobs::new(store, Default::default(), "instance-1").periodic_job(Sweep).start()?;
//! jobs.wake("sweep")?;
//! jobs.drain(Duration::from_secs(30)).await;
//! # Ok(())
//! # }
//! ```
//!
//! Read next: `job`, what a domain writes; `leased`, how a run under a lease goes; `reader`, how changes are counted once.

mod background;
mod backoff;
mod context;
mod driver;
mod erased;
mod failure;
mod feed;
mod job;
mod keys;
mod lease;
mod leased;
mod mailbox;
mod periodic;
mod plan;
mod reader;
mod record;
mod run;
mod run_context;
mod run_log;
mod settings;
mod status;
mod writes;

pub use driver::{Jobs, Running};
pub use failure::{Failure, Result};
pub use job::{Done, FeedJob, PeriodicJob, Placement};
pub use keys::{JOBS_TABLE, table_spec};
pub use mailbox::RunResult;
pub use run_context::RunContext;
pub use settings::Settings;
