//! Background jobs of the limiter.
//!
//! | job | effect |
//! |---|---|
//! | `limiter-usage` | records usage from the table's change feed |
//! | `limiter-maintain` | refills and splits buckets ahead of demand; schedules the propagation of changed limits |
//! | `limiter-propagate` | applies changed limits to live buckets |
//! | `limiter-leases` | rolls back leases that expired unsettled |
//! | `limiter-leases-open` | counts open leases, on every instance |
//! | `limiter-purge` | removes the items of purged namespaces |
//! | `limiter-audit-archive` | moves old audit events to object storage |

use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use weir_limiter::Limiter;
use weir_limiter::aggregate::ObservedChanges;
use weir_limiter::audit::archive::Archive;
use weir_limiter::usage::UsageAccumulator;
use weir_table::feed::{Change, Merge};
use weir_table::{AnyBackend, Write};

use weir_framework::jobs::{Done, FeedJob, Jobs, PeriodicJob, Placement, Result, RunContext};

/// Interval of the purge job. It scans a namespace twice, minutes apart, for items that were written meanwhile.
const PURGE_EVERY: Duration = Duration::from_secs(30);
/// Interval of the audit archive, which has one file per day.
const ARCHIVE_EVERY: Duration = Duration::from_secs(3600);

type Limits = Limiter<AnyBackend>;

/// Declares the jobs of a limiter. Periodic jobs run every `interval`; maintenance follows the change feed at the driver's
/// pace. `leases_open` is set to the number of open leases.
#[must_use]
pub fn declare(limiter: Limits, interval: Duration, leases_open: Gauge, jobs: Jobs) -> Jobs {
    jobs.feed_job(Maintain { limiter: limiter.clone(), full_pass_cursor: Mutex::default() })
        .periodic_job(Propagate { limiter: limiter.clone(), interval })
        .periodic_job(Leases { limiter: limiter.clone(), interval })
        .periodic_job(LeasesOpen { limiter: limiter.clone(), interval, leases_open })
        .periodic_job(Purge { limiter })
}

/// Declares the job that records usage, every `interval`.
#[must_use]
pub fn declare_usage(limiter: Limits, interval: Duration, jobs: Jobs) -> Jobs {
    jobs.feed_job(Usage { limiter, interval })
}

/// Declares the job that archives audit events. Without it they expire.
#[must_use]
pub fn declare_archive(limiter: Limits, archive: Archive, jobs: Jobs) -> Jobs {
    jobs.periodic_job(AuditArchive { limiter, archive })
}

/// Records usage.
struct Usage {
    limiter: Limits,
    interval: Duration,
}

impl FeedJob for Usage {
    type Accumulator = UsageAccumulator;

    fn name(&self) -> &str {
        "limiter-usage"
    }

    fn table(&self) -> &str {
        &self.limiter.settings().table
    }

    fn every(&self) -> Option<Duration> {
        Some(self.interval)
    }

    fn merge(&self) -> Option<Merge> {
        self.limiter.usage_merge()
    }

    fn fold(&self, usage: &mut UsageAccumulator, changes: Vec<Change>) -> Result<usize> {
        Ok(self.limiter.accumulate_usage(usage, &changes)?)
    }

    async fn writes(&self, usage: UsageAccumulator, _: &RunContext) -> Result<Vec<Write>> {
        Ok(self.limiter.usage_writes(usage))
    }

    /// Bucket counters do not say in which hours they grew. Recording all of it in the current hour would invent a peak, so
    /// the usage of the trimmed changes is not recorded, and the log reports it.
    async fn full_pass(&self, _: &RunContext) -> Result<Done> {
        let detail =
            "the change feed was trimmed before it was read: usage of that time is not recorded";
        tracing::warn!(job = self.name(), "{detail}");
        Ok(Done { detail: Some(detail.to_owned()), ..Done::default() })
    }
}

/// Refills and splits buckets ahead of demand, and schedules the propagation of changed limits.
struct Maintain {
    limiter: Limits,
    /// Cursor of a full pass that is not complete.
    full_pass_cursor: Mutex<Option<String>>,
}

impl FeedJob for Maintain {
    type Accumulator = ObservedChanges;

    fn name(&self) -> &str {
        "limiter-maintain"
    }

    fn table(&self) -> &str {
        &self.limiter.settings().table
    }

    fn merge(&self) -> Option<Merge> {
        Some(self.limiter.observe_merge())
    }

    fn fold(&self, observed: &mut ObservedChanges, changes: Vec<Change>) -> Result<usize> {
        Ok(self.limiter.observe(observed, changes)?)
    }

    async fn writes(&self, observed: ObservedChanges, _: &RunContext) -> Result<Vec<Write>> {
        // Maintenance only saves work: requests refill and split on demand. Its failure must not hold up the propagation.
        if let Err(error) = self.limiter.maintain(&observed).await {
            tracing::warn!(job = self.name(), %error, "buckets could not be maintained ahead of demand");
        }
        Ok(self.limiter.propagation_writes(&observed))
    }

    /// A trimmed feed may have had changes of limits, so every namespace is scheduled for propagation.
    async fn full_pass(&self, _: &RunContext) -> Result<Done> {
        let cursor = self.full_pass_cursor.lock().take();
        let (namespaces, cursor) = self.limiter.propagate_everything(cursor).await?;
        let more = cursor.is_some();
        *self.full_pass_cursor.lock() = cursor;
        Ok(Done { more, ..Done::all(namespaces) })
    }
}

/// Applies changed limits to live buckets.
struct Propagate {
    limiter: Limits,
    interval: Duration,
}

impl PeriodicJob for Propagate {
    fn name(&self) -> &str {
        "limiter-propagate"
    }

    fn every(&self) -> Duration {
        self.interval
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        let (items, more) = self.limiter.run_propagation().await?;
        Ok(Done { more, ..Done::all(items) })
    }
}

/// Rolls back leases that expired unsettled.
struct Leases {
    limiter: Limits,
    interval: Duration,
}

impl PeriodicJob for Leases {
    fn name(&self) -> &str {
        "limiter-leases"
    }

    fn every(&self) -> Duration {
        self.interval
    }

    async fn run(&self, run: &RunContext) -> Result<Done> {
        let (items, more) = self.limiter.roll_back_expired(run.items_max()).await?;
        Ok(Done { more, ..Done::all(items) })
    }
}

/// Counts open leases for the metrics of each instance.
struct LeasesOpen {
    limiter: Limits,
    interval: Duration,
    leases_open: Gauge,
}

impl PeriodicJob for LeasesOpen {
    fn name(&self) -> &str {
        "limiter-leases-open"
    }

    fn every(&self) -> Duration {
        self.interval
    }

    fn placement(&self) -> Placement {
        Placement::EveryInstance
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        let open = self.limiter.open_leases().await?;
        self.leases_open.set(i64::try_from(open).unwrap_or(i64::MAX));
        Ok(Done::all(open))
    }
}

/// Removes the items of purged namespaces.
struct Purge {
    limiter: Limits,
}

impl PeriodicJob for Purge {
    fn name(&self) -> &str {
        "limiter-purge"
    }

    fn every(&self) -> Duration {
        PURGE_EVERY
    }

    async fn run(&self, run: &RunContext) -> Result<Done> {
        let (items, more) = self.limiter.purge_step(run.items_max()).await?;
        Ok(Done { more, ..Done::all(items) })
    }
}

/// Moves old audit events to object storage.
struct AuditArchive {
    limiter: Limits,
    archive: Archive,
}

impl PeriodicJob for AuditArchive {
    fn name(&self) -> &str {
        "limiter-audit-archive"
    }

    fn every(&self) -> Duration {
        ARCHIVE_EVERY
    }

    async fn run(&self, run: &RunContext) -> Result<Done> {
        let (items, more) = self.limiter.archive_audit(&self.archive, run.items_max()).await?;
        Ok(Done { more, ..Done::all(items) })
    }
}
