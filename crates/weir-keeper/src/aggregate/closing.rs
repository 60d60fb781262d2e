//! Days that are over: once nothing can be counted in them any more, their totals are made final.
//!
//! Each scope has a mark: until this day every total says what the shards say, for good. A full pass sums up the days that came to
//! an end since, once, and moves the mark. Whoever asks for a day that is over and beyond the mark sums it up first, so that a
//! total which nobody summed up in time is never told.

use weir_table::Backend;

use super::sum::Total;
use crate::bounds::FINAL_DAYS_MAX;
use crate::config::Effective;
use crate::day::OrgDay;
use crate::error::Result;
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;

impl<B: Backend> Keeper<B> {
    /// Makes totals final of days that are over and not yet marked, up to [`FINAL_DAYS_MAX`]; tells how many totals that
    /// changed.
    pub(super) async fn close_days(
        &self,
        scope: &Scope,
        effective: &Effective,
        labels: &[Label],
        now_ms: i64,
    ) -> Result<u64> {
        let first = self.first_unmarked(scope, effective.first_day(), now_ms, effective).await?;
        let open = effective.first_open_day(now_ms);
        let days: Vec<OrgDay> =
            days_from(first).take_while(|day| *day < open).take(FINAL_DAYS_MAX).collect();
        let Some(last) = days.last().copied() else { return Ok(0) };
        let mut changed = 0;
        for day in days {
            changed += self.sum_up(scope, labels, day, now_ms).await?;
        }
        self.move_mark(keys::summed(scope), last).await?;
        Ok(changed)
    }

    /// Sums up what is over and not yet marked of these days, before somebody is told of them. `since` is the first day of which
    /// the scope can have told anything.
    pub(crate) async fn make_final(
        &self,
        (scope, labels, since): (&Scope, &[Label], OrgDay),
        effective: &Effective,
        (from, to): (OrgDay, OrgDay),
    ) -> Result<()> {
        let now_ms = self.now_ms();
        let open = effective.first_open_day(now_ms);
        if from >= open || to < since {
            return Ok(());
        }
        let first = self.first_unmarked(scope, since, now_ms, effective).await?.max(from);
        for day in days_from(first).take_while(|day| *day < open && *day <= to) {
            self.sum_up(scope, labels, day, now_ms).await?;
        }
        Ok(())
    }

    /// The first day that is not marked, of those whose counters are kept.
    async fn first_unmarked(
        &self,
        scope: &Scope,
        since: OrgDay,
        now_ms: i64,
        effective: &Effective,
    ) -> Result<OrgDay> {
        let marked = self.mark(keys::summed(scope)).await?;
        let today = effective.timezone.day_of(now_ms);
        let kept = usize::try_from(self.settings().retention_days).unwrap_or(usize::MAX);
        let mut back = std::iter::successors(Some(today), |day| day.previous());
        let oldest = back.nth(kept).unwrap_or(since).max(since);
        Ok(marked.and_then(OrgDay::next).unwrap_or(oldest).max(oldest))
    }

    async fn sum_up(
        &self,
        scope: &Scope,
        labels: &[Label],
        day: OrgDay,
        now_ms: i64,
    ) -> Result<u64> {
        let mut changed = 0;
        for label in labels {
            let spot = (scope.clone(), label.clone(), day);
            let total = self.total_up(&spot, now_ms).await?;
            changed += u64::from(matches!(total, Total::Written(_)));
        }
        Ok(changed)
    }
}

fn days_from(first: OrgDay) -> impl Iterator<Item = OrgDay> {
    std::iter::successors(Some(first), |day| day.next())
}
