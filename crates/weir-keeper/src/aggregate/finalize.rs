//! Finalizes ended days: once no submission can be metered in a day any more, its totals are computed one last time.
//!
//! Each scope has a checkpoint: every total up to that day equals its shards for good. A full pass finalizes the days
//! that ended since and advances the checkpoint. A read of an ended day beyond the checkpoint finalizes it first, so
//! that it never returns a total that was not updated in time.

use weir_table::Backend;

use super::AggregateReport;
use super::update_total::TotalUpdate;
use crate::bounds::FINALIZE_DAYS_MAX;
use crate::config::EffectiveConfig;
use crate::day::OrgDay;
use crate::error::Result;
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::totals::TotalsSource;

impl<B: Backend> Keeper<B> {
    /// Finalizes ended days beyond the checkpoint, up to [`FINALIZE_DAYS_MAX`] and up to the first that cannot be summed.
    pub(super) async fn finalize_ended_days(
        &self,
        scope: &Scope,
        effective: &EffectiveConfig,
        labels: &[Label],
        now_ms: i64,
        report: &mut AggregateReport,
    ) -> Result<()> {
        let first =
            self.first_day_to_finalize(scope, effective.first_day(), now_ms, effective).await?;
        let open = effective.first_open_day(now_ms);
        let days: Vec<OrgDay> =
            days_from(first).take_while(|day| *day < open).take(FINALIZE_DAYS_MAX).collect();
        let mut last = None;
        for day in days {
            if !self.update_totals(scope, labels, day, now_ms, report).await? {
                break;
            }
            last = Some(day);
        }
        match last {
            Some(last) => self.advance_day_checkpoint(keys::finalized(scope), last).await,
            None => Ok(()),
        }
    }

    /// Finalizes those of the days `from..=to` that have ended and lie beyond the checkpoint.
    pub(crate) async fn finalize_days(
        &self,
        source: &TotalsSource,
        (from, to): (OrgDay, OrgDay),
        now_ms: i64,
    ) -> Result<()> {
        let TotalsSource { scope, labels, present, .. } = source;
        let (since, open) = (present.first_day(), present.first_open_day(now_ms));
        if from >= open || to < since {
            return Ok(());
        }
        let first = self.first_day_to_finalize(scope, since, now_ms, present).await?.max(from);
        for day in days_from(first).take_while(|day| *day < open && *day <= to) {
            // A total that cannot be summed is marked, and the caller returns it as all spent.
            let mut unreported = AggregateReport::default();
            self.update_totals(scope, labels, day, now_ms, &mut unreported).await?;
        }
        Ok(())
    }

    /// The first day beyond the checkpoint whose counters are still retained.
    async fn first_day_to_finalize(
        &self,
        scope: &Scope,
        since: OrgDay,
        now_ms: i64,
        effective: &EffectiveConfig,
    ) -> Result<OrgDay> {
        let done = self.day_checkpoint(keys::finalized(scope)).await?;
        let today = effective.timezone.day_of(now_ms);
        let days = usize::try_from(self.settings().retention_days).unwrap_or(usize::MAX);
        let mut back = std::iter::successors(Some(today), |day| day.previous());
        let oldest = back.nth(days).unwrap_or(since).max(since);
        Ok(done.and_then(OrgDay::next).unwrap_or(oldest).max(oldest))
    }

    /// Updates the totals of a day. Returns whether all of them could be summed.
    async fn update_totals(
        &self,
        scope: &Scope,
        labels: &[Label],
        day: OrgDay,
        now_ms: i64,
        report: &mut AggregateReport,
    ) -> Result<bool> {
        let failed = report.failed;
        for label in labels {
            let id = (scope.clone(), label.clone(), day);
            match self.update_total(&id, now_ms).await? {
                TotalUpdate::Unchanged => {}
                TotalUpdate::Written(_) => report.written += 1,
                TotalUpdate::Unsummed(error) => report.record_failure(scope, &error),
            }
        }
        Ok(report.failed == failed)
    }
}

fn days_from(first: OrgDay) -> impl Iterator<Item = OrgDay> {
    std::iter::successors(Some(first), |day| day.next())
}
