//! What the limiter does in the background.
//!
//! | job | does |
//! |---|---|
//! | `limiter-usage` | counts what was used, from the table's changes |
//! | `limiter-maintain` | refills and splits buckets ahead of need; notes whom changed limits reach |
//! | `limiter-propagate` | brings live buckets to limits that changed |
//! | `limiter-leases` | rolls back leases that expired unsettled |
//! | `limiter-leases-open` | counts the leases that are held, on every instance |
//! | `limiter-purge` | removes what belonged to purged namespaces |
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

/// How long between two looks for namespaces to purge: what is left of one is looked for twice, minutes apart.
const PURGE_EVERY: Duration = Duration::from_secs(30);
/// How long between two looks for old audit events: they are archived by the day.
const ARCHIVE_EVERY: Duration = Duration::from_secs(3600);

type Limits = Limiter<AnyBackend>;

/// Declares the jobs of a limiter. Those that look for work do so every `interval`; what follows changes ahead of need has
/// the driver's own pace. `leases_open` is told how many leases are held.
#[must_use]
pub fn declare(limiter: Limits, interval: Duration, leases_open: Gauge, jobs: Jobs) -> Jobs {
    jobs.feed_job(Maintain { limiter: limiter.clone(), passed: Mutex::default() })
        .periodic_job(Propagate { limiter: limiter.clone(), interval })
        .periodic_job(Leases { limiter: limiter.clone(), interval })
        .periodic_job(LeasesOpen { limiter: limiter.clone(), interval, leases_open })
        .periodic_job(Purge { limiter })
}

/// Declares the job that counts usage, every `interval`.
#[must_use]
pub fn declare_usage(limiter: Limits, interval: Duration, jobs: Jobs) -> Jobs {
    jobs.feed_job(Usage { limiter, interval })
}

/// Declares the job that archives audit events. Without it they expire.
#[must_use]
pub fn declare_archive(limiter: Limits, archive: Archive, jobs: Jobs) -> Jobs {
    jobs.periodic_job(AuditArchive { limiter, archive })
}

/// Counts usage.
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

    /// What changes told is gone with them: the counters of buckets go on, but nobody knows in which hours they grew. All of it
    /// in the present hour would be a peak that never was, so it is not counted, and the operator is told.
    async fn full_pass(&self, _: &RunContext) -> Result<Done> {
        let detail = "the feed was trimmed before it was read: usage of that time is not counted";
        tracing::warn!(job = self.name(), "{detail}");
        Ok(Done { detail: Some(detail.to_owned()), ..Done::default() })
    }
}

/// Refills and splits buckets ahead of need, and notes whom changed limits reach.
struct Maintain {
    limiter: Limits,
    /// Where a full pass goes on.
    passed: Mutex<Option<String>>,
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
        // It is done ahead of need. When it fails, those in need do it themselves; the notes must not wait for it.
        if let Err(error) = self.limiter.maintain(&observed).await {
            tracing::warn!(job = self.name(), %error, "buckets could not be refilled ahead of need");
        }
        Ok(self.limiter.propagation_writes(&observed))
    }

    /// Limits may have changed unseen, so all buckets are looked at.
    async fn full_pass(&self, _: &RunContext) -> Result<Done> {
        let cursor = self.passed.lock().take();
        let (namespaces, cursor) = self.limiter.propagate_everything(cursor).await?;
        let more = cursor.is_some();
        *self.passed.lock() = cursor;
        Ok(Done { more, ..Done::all(namespaces) })
    }
}

/// Brings live buckets to limits that changed.
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

/// Counts the leases that are held, for the metrics of each instance.
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
        let held = self.limiter.open_leases().await?;
        self.leases_open.set(i64::try_from(held).unwrap_or(i64::MAX));
        Ok(Done::all(held))
    }
}

/// Removes what belonged to purged namespaces.
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
