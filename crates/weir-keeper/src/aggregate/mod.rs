//! Aggregation: from shards to daily totals, from totals to fallbacks and webhook notifications.
//!
//! 1. The change feed of the counters names the dirty totals ([`DirtySet::from_changes`]). A full pass over the days
//!    that still accept submissions catches what the feed missed, and finalizes days that have ended.
//! 2. The shards of each dirty total are summed into it; a total never decreases.
//! 3. The quota monitor checks the totals of each affected scope: it records a fallback as soon as a quota is exceeded,
//!    and queues notifications of crossed thresholds.
//!
//! Every step is idempotent and safe to run on all instances at once. After a failure the rest stays dirty, because the
//! feed is read again.

mod dirty_set;
mod finalize;
mod full_pass;
mod quota_monitor;
mod unsummed;
mod update_total;

use weir_table::Backend;

pub use self::dirty_set::DirtySet;
pub use self::full_pass::FullPassReport;
pub(crate) use self::unsummed::UnsummedTotals;
use self::update_total::TotalUpdate;
use crate::error::{Error, Result};
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::money::{MicroUsd, Percent};

/// Entries in the list of models closest to their quotas.
const CLOSEST_MAX: usize = 10;

/// The result of an aggregation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AggregateReport {
    /// Totals written.
    pub written: u64,
    /// Totals that already equalled their shards.
    pub unchanged: u64,
    /// Fallbacks recorded.
    pub fallbacks: u64,
    /// Webhook notifications queued.
    pub notifications: u64,
    /// Totals and scopes that failed because their stored data is corrupt, while the store works. Their chains are closed.
    pub failed: u64,
    /// Why the first of them failed.
    pub first_failure: Option<String>,
    /// Spend added to totals, in micro-USD. Together with the lag it bounds how far a quota can be overshot.
    pub spend_added: MicroUsd,
    /// Age of the oldest change that is now in a total, in milliseconds.
    pub lag_ms: i64,
    /// The visited models that are closest to their quotas.
    pub closest: Vec<QuotaProximity>,
}

/// How close a model is to its quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaProximity {
    /// Spend as a percentage of the quota.
    pub percent: Percent,
    /// The org or app.
    pub scope: Scope,
    /// The model label.
    pub label: Label,
}

impl AggregateReport {
    /// Counts a scope whose data is faulty as failed, so that the others are still served; a failing store fails all. A
    /// scope that does not exist any more has nothing to sum.
    fn failed_scope<T>(&mut self, scope: &Scope, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error @ (Error::Store(_) | Error::Contended)) => Err(error),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => {
                self.record_failure(scope, &error);
                Ok(None)
            }
        }
    }

    fn record_failure(&mut self, scope: &Scope, error: &Error) {
        let client_id = scope.client_id();
        tracing::error!(scope = client_id, %error, "a scope cannot be summed");
        self.failed += 1;
        self.first_failure.get_or_insert_with(|| format!("{client_id}: {error}"));
    }

    /// Adds the failures of another report.
    fn add_failures(&mut self, other: AggregateReport) {
        self.failed += other.failed;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }

    fn record_proximity(&mut self, percent: Percent, scope: &Scope, label: &Label) {
        let rank = self.closest.partition_point(|other| other.percent >= percent);
        if rank < CLOSEST_MAX {
            let proximity = QuotaProximity { percent, scope: scope.clone(), label: label.clone() };
            self.closest.insert(rank, proximity);
            self.closest.truncate(CLOSEST_MAX);
        }
    }
}

impl<B: Backend> Keeper<B> {
    /// Which totals this process could not sum when it last tried, in words; `None` when it could sum all.
    #[must_use]
    pub fn unsummed_totals(&self) -> Option<String> {
        self.inner.unsummed.summary()
    }

    /// Updates the dirty totals, then checks the quotas of the scopes they belong to.
    ///
    /// # Errors
    /// The store fails. Completed updates stay, and the whole set can be aggregated again.
    pub async fn aggregate(&self, dirty: &DirtySet) -> Result<AggregateReport> {
        let now_ms = self.now_ms();
        let mut report = AggregateReport::default();
        for (scope, label, day, at_ms) in dirty.iter() {
            let total = (scope.clone(), label.clone(), day);
            match report.failed_scope(scope, self.update_total(&total, now_ms).await)? {
                None => self.inner.unsummed.remove(&total),
                Some(TotalUpdate::Unsummed(error)) => report.record_failure(scope, &error),
                Some(TotalUpdate::Unchanged) => report.unchanged += 1,
                Some(TotalUpdate::Written(added)) => {
                    report.written += 1;
                    // The org's spend is the sum of its apps', which is always metered for them.
                    if scope.app().is_some() {
                        report.spend_added.0 = report.spend_added.0.saturating_add(added.0);
                    }
                    report.lag_ms = report.lag_ms.max(now_ms.saturating_sub(at_ms));
                }
            }
        }
        for (scope, day) in dirty.scopes() {
            let watched = self.watch_quotas(scope, day, now_ms, &mut report).await;
            report.failed_scope(scope, watched)?;
        }
        Ok(report)
    }
}
