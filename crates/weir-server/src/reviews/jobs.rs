//! Background jobs of reviews.
//!
//! | job | effect |
//! |---|---|
//! | `reviews-rollup` | sums the reviews of days that changed |
//! | `reviews-deletions` | finishes deletions that failed or were killed, and removes recordings that were abandoned |
//! | `reviews-raw-sweep` | deletes raw outputs whose reviews have expired |

use std::sync::Arc;
use std::time::Duration;

use weir_framework::jobs::{Done, Failure, Jobs, PeriodicJob, Result, RunContext};
use weir_reviews::{Reviews, rollup};
use weir_table::AnyBackend;

use super::metrics::ReviewsMetrics;

/// Interval between two searches for deletions that were not finished.
const DELETIONS_EVERY: Duration = Duration::from_secs(60);
/// Interval between two searches for expired raw outputs.
const SWEEP_EVERY: Duration = Duration::from_secs(3600);
/// Days that one round rolls up; a day of a large repository takes seconds.
const ROLLUP_DAYS_MAX: u64 = 200;
/// Deletions that one round finishes, and abandoned recordings that it removes; each may have thousands of items.
const DELETIONS_MAX: u32 = 20;
/// Raw outputs that one round deletes.
const SWEPT_MAX: u32 = 500;

/// Declares the jobs of reviews.
pub(super) fn declare(
    reviews: &Reviews<AnyBackend>,
    rollup_every: Duration,
    metrics: &Arc<ReviewsMetrics>,
    jobs: Jobs,
) -> Jobs {
    let metrics = Arc::clone(metrics);
    jobs.periodic_job(Rollup { reviews: reviews.clone(), every: rollup_every, metrics })
        .periodic_job(Deletions(reviews.clone()))
        .periodic_job(RawSweep(reviews.clone()))
}

/// Sums the reviews of days that changed.
struct Rollup {
    reviews: Reviews<AnyBackend>,
    every: Duration,
    metrics: Arc<ReviewsMetrics>,
}

impl PeriodicJob for Rollup {
    fn name(&self) -> &str {
        "reviews-rollup"
    }

    fn every(&self) -> Duration {
        self.every
    }

    fn items_max(&self) -> Option<u64> {
        Some(ROLLUP_DAYS_MAX)
    }

    async fn run(&self, run: &RunContext) -> Result<Done> {
        let (store, table) = (self.reviews.store(), self.reviews.rollup_table());
        let report = rollup::run(store, &table, millis(run), run.items_max()).await?;
        self.metrics.rolled_up(&report);
        if let Some(problem) = report.first_failure {
            return Err(Failure::new(format!("{} days failed: {problem}", report.failed)));
        }
        let days = report.repository_days.saturating_add(report.all_days);
        Ok(Done { more: report.has_more, ..Done::all(days) })
    }
}

/// Finishes deletions that failed or were killed, and removes recordings that were abandoned.
struct Deletions(Reviews<AnyBackend>);

impl PeriodicJob for Deletions {
    fn name(&self) -> &str {
        "reviews-deletions"
    }

    fn every(&self) -> Duration {
        DELETIONS_EVERY
    }

    async fn run(&self, run: &RunContext) -> Result<Done> {
        let resumed = self.0.resume_deletions(DELETIONS_MAX).await?;
        let abandoned = self.0.remove_abandoned(millis(run), DELETIONS_MAX).await?;
        let finished = resumed.finished.saturating_add(abandoned.finished);
        Ok(Done { more: resumed.more || abandoned.more, ..Done::all(finished) })
    }
}

/// Deletes raw outputs whose reviews have expired.
struct RawSweep(Reviews<AnyBackend>);

impl PeriodicJob for RawSweep {
    fn name(&self) -> &str {
        "reviews-raw-sweep"
    }

    fn every(&self) -> Duration {
        SWEEP_EVERY
    }

    async fn run(&self, run: &RunContext) -> Result<Done> {
        let report = self.0.sweep_raw(millis(run), SWEPT_MAX).await?;
        Ok(Done { more: report.more, ..Done::all(report.deleted) })
    }
}

fn millis(run: &RunContext) -> i64 {
    i64::try_from(run.now_ms()).unwrap_or(i64::MAX)
}
