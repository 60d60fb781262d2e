//! Background jobs: aggregators, sweepers, refreshes, monitors.
//!
//! A job is an idempotent function of the state of the store. A [`PeriodicJob`] runs periodically, on one instance at a time
//! or on all. A [`FeedJob`] receives windows of a table's change feed and returns the writes that follow from them. [`Jobs`]
//! runs each in a task and handles period and jitter, retry with backoff, deadline, panics, leases, results and shutdown.
//!
//! Invariants, for any number of instances and crashes:
//! - Each change of a table counts once in the writes of a feed job, because each transaction also records how far the
//!   window is written.
//! - A job with a lease runs on one instance while clocks agree and the store responds. When the lease is lost, the run gets a
//!   signal to stop and is then dropped. A job that must not overlap even then puts a condition on its writes, as all jobs
//!   here do.
//! - A full pass that is due is made, even if the instance that recorded it dies.
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
//! Read next: `job`, the traits; `leased`, a run under a lease; `reader`, how changes are counted once.

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
pub(crate) use keys::readiness_key;
pub use keys::{JOBS_TABLE, table_spec};
pub use mailbox::RunResult;
pub use run_context::RunContext;
pub use settings::Settings;
