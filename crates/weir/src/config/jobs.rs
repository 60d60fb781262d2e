//! `[jobs]`: background jobs.

use serde::Serialize;

/// Background jobs.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Jobs {
    /// Seconds between two runs of the aggregators.
    #[config(default = 10, env = "WEIR_AGGREGATE_INTERVAL")]
    pub(crate) aggregate_interval_secs: u64,
    /// Whether this instance runs background jobs.
    #[config(default = true, env = "WEIR_JOBS_ENABLED")]
    pub(crate) enabled: bool,
}
