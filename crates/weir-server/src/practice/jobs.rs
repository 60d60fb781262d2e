//! Background jobs of practice.
//!
//! | job | effect |
//! |---|---|
//! | `practice-rollup` | rolls up the usage that the table's change feed reports |
//! | `practice-leases` | observes the leases of workers, and the clock, on every instance |
//! | `practice-purges` | finishes removals of problems that failed or were killed, and removes abandoned creations |
//! | `practice-erasures` | removes what is left of deleted users in usage logs and archives |
//! | `practice-object-sweep` | deletes objects that no item names |
//! | `practice-usage-archive` | archives old usage logs, where an archive is configured |
//! | `practice-dual-write` | keeps a PostgreSQL database equal, where one is configured (`dual_write`) |

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use weir_calendar::Day;
use weir_framework::jobs::{Done, FeedJob, Jobs, PeriodicJob, Placement, Result, RunContext};
use weir_practice::Practice;
use weir_practice::kinds::JobType;
use weir_practice::stats::UsageDirtySet;
use weir_practice::usage::Repair;
use weir_table::feed::{Change, Merge};
use weir_table::{AnyBackend, Write};

use super::metrics::PracticeMetrics;

/// Interval between two reads of the leases of workers.
const LEASES_EVERY: Duration = Duration::from_secs(1);
/// Interval between two searches for removals and deletions that were not finished.
const UNFINISHED_EVERY: Duration = Duration::from_secs(60);
/// Interval between two searches for objects that no item names.
const SWEEP_EVERY: Duration = Duration::from_secs(600);
/// Interval between two searches for days to archive.
const ARCHIVE_EVERY: Duration = Duration::from_secs(3600);
/// Removals that one round finishes; each may have thousands of test cases.
const PURGES_MAX: u32 = 20;
/// Days of deleted users that one round cleans.
const ERASED_DAYS_MAX: u64 = 500;
/// Objects that one round deletes.
const SWEPT_MAX: u32 = 500;
/// Parts of the archive that one round stores.
const ARCHIVE_PARTS_MAX: u64 = 20;

/// Declares the jobs of practice.
pub(super) fn declare(
    practice: &Practice<AnyBackend>,
    rollup_every: Duration,
    metrics: &Arc<PracticeMetrics>,
    jobs: Jobs,
) -> Jobs {
    let rollup = Rollup {
        practice: practice.clone(),
        every: rollup_every,
        metrics: Arc::clone(metrics),
        full_pass_day: Mutex::default(),
    };
    jobs.feed_job(rollup)
        .periodic_job(Leases { practice: practice.clone(), metrics: Arc::clone(metrics) })
        .periodic_job(Purges(practice.clone()))
        .periodic_job(Erasures(practice.clone()))
        .periodic_job(ObjectSweep(practice.clone()))
        .periodic_job(UsageArchive(practice.clone()))
}

/// Rolls up the usage that the change feed reports. A rollup depends on the counters alone, so changes that are read again
/// after a crash count once.
struct Rollup {
    practice: Practice<AnyBackend>,
    every: Duration,
    metrics: Arc<PracticeMetrics>,
    /// The next day of a full pass that is not complete.
    full_pass_day: Mutex<Option<Day>>,
}

impl Rollup {
    const NAME: &str = "practice-rollup";
}

impl FeedJob for Rollup {
    type Accumulator = UsageDirtySet;

    fn name(&self) -> &str {
        Self::NAME
    }

    fn table(&self) -> &str {
        self.practice.table()
    }

    fn every(&self) -> Option<Duration> {
        Some(self.every)
    }

    fn merge(&self) -> Option<Merge> {
        Some(UsageDirtySet::merge())
    }

    fn fold(&self, dirty: &mut UsageDirtySet, changes: Vec<Change>) -> Result<usize> {
        dirty.add(UsageDirtySet::from_changes(&changes));
        Ok(dirty.len())
    }

    async fn writes(&self, dirty: UsageDirtySet, _: &RunContext) -> Result<Vec<Write>> {
        let report = self.practice.roll_up(&dirty).await?;
        self.metrics.rolled_up(&report);
        Ok(Vec::new())
    }

    /// A trimmed feed may have had changes of any day whose counters exist, so each is verified: one per round.
    async fn full_pass(&self, _: &RunContext) -> Result<Done> {
        let today = self.practice.day_of(self.practice.now_ms());
        // The counters of the day before expire today, an hour earlier where the wall clock changes.
        let first = today.plus_days(1 - i64::from(self.practice.settings().usage_days));
        let day = self.full_pass_day.lock().take().unwrap_or(first);
        let check = self.practice.verify_rollup(day, Repair::By(Self::NAME)).await?;
        let more = day < today;
        *self.full_pass_day.lock() = more.then(|| day.plus_days(1));
        Ok(Done { more, ..Done::all(check.active_users) })
    }
}

/// Observes the leases of workers: a lease is over by the clock of one process, so every instance observes.
struct Leases {
    practice: Practice<AnyBackend>,
    metrics: Arc<PracticeMetrics>,
}

impl PeriodicJob for Leases {
    fn name(&self) -> &str {
        "practice-leases"
    }

    fn every(&self) -> Duration {
        LEASES_EVERY
    }

    fn placement(&self) -> Placement {
        Placement::EveryInstance
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        self.metrics.clock(&self.practice.clock_reading());
        let mut expired = 0;
        for job_type in JobType::ALL.iter().copied() {
            let jobs = self.practice.observe_leases(job_type).await?;
            self.metrics.leases_expired(job_type, jobs);
            expired += jobs as u64;
        }
        Ok(Done::all(expired))
    }
}

/// Finishes removals of problems that failed or were killed, and removes abandoned creations.
struct Purges(Practice<AnyBackend>);

impl PeriodicJob for Purges {
    fn name(&self) -> &str {
        "practice-purges"
    }

    fn every(&self) -> Duration {
        UNFINISHED_EVERY
    }

    async fn run(&self, run: &RunContext) -> Result<Done> {
        let report = self.0.resume_purges(millis(run), PURGES_MAX).await?;
        // Creations that are under way stay in the list; only progress is a reason to go on at once.
        Ok(Done { more: report.more && report.removed > 0, ..Done::all(report.removed) })
    }
}

/// Removes what is left of deleted users in usage logs and archives.
struct Erasures(Practice<AnyBackend>);

impl PeriodicJob for Erasures {
    fn name(&self) -> &str {
        "practice-erasures"
    }

    fn every(&self) -> Duration {
        UNFINISHED_EVERY
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        let report = self.0.continue_erasures(ERASED_DAYS_MAX).await?;
        Ok(Done { more: report.more, ..Done::all(report.finished) })
    }
}

/// Deletes objects that no item names.
struct ObjectSweep(Practice<AnyBackend>);

impl PeriodicJob for ObjectSweep {
    fn name(&self) -> &str {
        "practice-object-sweep"
    }

    fn every(&self) -> Duration {
        SWEEP_EVERY
    }

    async fn run(&self, run: &RunContext) -> Result<Done> {
        let report = self.0.sweep_objects(millis(run), SWEPT_MAX).await?;
        Ok(Done { more: report.more, ..Done::all(report.deleted) })
    }
}

/// Archives old usage logs, where an archive is configured.
struct UsageArchive(Practice<AnyBackend>);

impl PeriodicJob for UsageArchive {
    fn name(&self) -> &str {
        "practice-usage-archive"
    }

    fn every(&self) -> Duration {
        ARCHIVE_EVERY
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        let report = self.0.archive_usage(ARCHIVE_PARTS_MAX).await?;
        Ok(Done { more: report.more, ..Done::all(report.lines) })
    }
}

fn millis(run: &RunContext) -> i64 {
    i64::try_from(run.now_ms()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use weir_practice::ids::Email;
    use weir_practice::kinds::Action;
    use weir_practice::objects::Objects;
    use weir_practice::usage::UsageRequest;
    use weir_practice::users::NewUser;
    use weir_table::Store;
    use weir_table::clock::Clock;
    use weir_table::cursor::CursorKey;
    use weir_table::embedded::{Embedded, Options};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_full_pass_rolls_up_every_day_whose_counters_exist() {
        let folder = tempfile::tempdir().unwrap();
        let embedded = Embedded::open(Options::new(folder.path())).unwrap();
        let store = Store::new(AnyBackend::Embedded(embedded), CursorKey::new([7; 32]));
        let settings =
            weir_practice::Settings { usage_days: 5, ..weir_practice::Settings::default() };
        let clock = Clock::manual(1_768_478_400_000);
        let practice = Practice::open(store, Objects::unavailable(), clock.clone(), settings);
        let practice = practice.await.unwrap();
        let ann = NewUser::new(Email::new("ann@example.com").unwrap(), "Ann");
        let ann = practice.create_user(ann, "test").await.unwrap().id;
        practice.take_usage(&ann, &UsageRequest::new(Action::Hint)).await.unwrap();
        clock.advance_ms(4 * 86_400_000);
        practice.take_usage(&ann, &UsageRequest::new(Action::Execution)).await.unwrap();
        let rollup = Rollup {
            practice: practice.clone(),
            every: LEASES_EVERY,
            metrics: Arc::default(),
            full_pass_day: Mutex::default(),
        };
        let mut rounds = 1;
        while rollup.full_pass(&RunContext::at(0, 10)).await.unwrap().more {
            rounds += 1;
        }
        assert_eq!(rounds, 5);
        let today = practice.day_of(practice.now_ms());
        let counts = practice.stats(today.plus_days(-4), today).await.unwrap().counts;
        assert_eq!((counts.hints, counts.executions), (1, 1));
    }
}
