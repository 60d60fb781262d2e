//! The full pass: updates the totals of every scope for the days that still accept submissions, whatever the feed
//! delivered, and finalizes ended days.

use weir_table::{Backend, Query};

use super::{AggregateReport, DirtySet};
use crate::bounds::OPEN_DAYS_MAX;
use crate::error::Result;
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;

/// The result of one page of a full pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FullPassReport {
    /// Scopes visited.
    pub scopes: u64,
    /// The aggregated results.
    pub report: AggregateReport,
    /// Cursor of the next page; `None` at the end.
    pub next: Option<String>,
}

impl<B: Backend> Keeper<B> {
    /// Updates the open days (usually today and yesterday) and finalizes ended days of the orgs and apps among the next
    /// `limit` items of the config table.
    ///
    /// # Errors
    /// The cursor is not of this pass, or the store fails.
    pub async fn full_pass(&self, cursor: Option<&str>, limit: u32) -> Result<FullPassReport> {
        let mut query =
            Query::scan(self.tables().config.clone()).project(["PK", "SK"]).limit(limit.max(1));
        query.cursor = cursor.map(str::to_owned);
        let page = self.store().query(&query).await?;
        let mut pass = FullPassReport { next: page.cursor, ..FullPassReport::default() };
        let (mut dirty, mut finalized) = (DirtySet::default(), AggregateReport::default());
        for item in &page.items {
            let key = item.s("PK").zip(item.s("SK"));
            if let Some(scope) = key.and_then(|(pk, sk)| keys::parse_config(pk, sk)) {
                self.visit_scope(&scope, &mut dirty, &mut finalized).await?;
                pass.scopes += 1;
            }
        }
        pass.report = self.aggregate(&dirty).await?;
        pass.report.written += finalized.written;
        pass.report.add_failures(finalized);
        // These totals were not triggered by submissions, so there is no lag to report.
        pass.report.lag_ms = 0;
        Ok(pass)
    }

    /// Marks every total of the scope's open days as dirty, and finalizes the ended days.
    async fn visit_scope(
        &self,
        scope: &Scope,
        dirty: &mut DirtySet,
        finalized: &mut AggregateReport,
    ) -> Result<()> {
        let now_ms = self.now_ms();
        let config = self.stored_config(scope.org(), scope.app()).await;
        let Some(effective) = finalized.failed_scope(scope, config)? else { return Ok(()) };
        let labels = self.usable_labels(scope, &effective.model_ordering).await;
        let Some(labels) = finalized.failed_scope(scope, labels)? else { return Ok(()) };
        let (first, last) = (effective.first_open_day(now_ms), effective.latest_day(now_ms));
        let back = std::iter::successors(Some(last), |day| day.previous());
        for day in back.take(OPEN_DAYS_MAX).take_while(|day| *day >= first) {
            for label in &labels {
                dirty.mark(scope.clone(), Label::clone(label), day, now_ms);
            }
        }
        let done = self.finalize_ended_days(scope, &effective, &labels, now_ms, finalized).await;
        finalized.failed_scope(scope, done)?;
        Ok(())
    }
}
