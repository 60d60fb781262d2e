//! The full pass: the days of every scope in which something can still be counted, whatever the feed told; and those that are
//! over, once.

use weir_table::{Backend, Query};

use super::{Dirty, Summed};
use crate::bounds::OPEN_DAYS_MAX;
use crate::error::Result;
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;

/// What a part of a full pass came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Passed {
    /// Scopes that were looked at.
    pub scopes: u64,
    /// What that came to.
    pub summed: Summed,
    /// Where to go on; nothing at the end.
    pub next: Option<String>,
}

impl<B: Backend> Keeper<B> {
    /// Sums up the open days of some orgs and apps, today and yesterday as a rule, and makes the days before final: of those among
    /// the next `limit` things of the configuration.
    ///
    /// # Errors
    /// The cursor is not of this pass, or the store fails.
    pub async fn full_pass(&self, cursor: Option<&str>, limit: u32) -> Result<Passed> {
        let mut query =
            Query::scan(self.tables().config.clone()).project(["PK", "SK"]).limit(limit.max(1));
        query.cursor = cursor.map(str::to_owned);
        let page = self.store().query(&query).await?;
        let mut passed = Passed { next: page.cursor, ..Passed::default() };
        let (mut dirty, mut closed) = (Dirty::default(), Summed::default());
        for item in &page.items {
            let key = item.s("PK").zip(item.s("SK"));
            if let Some(scope) = key.and_then(|(pk, sk)| keys::parse_config(pk, sk)) {
                self.pass_by(&scope, &mut dirty, &mut closed).await?;
                passed.scopes += 1;
            }
        }
        passed.summed = self.aggregate(&dirty).await?;
        passed.summed.written += closed.written;
        passed.summed.failed += closed.failed;
        // Nobody submitted when this pass began, so there is no lag to tell.
        passed.summed.lag_ms = 0;
        Ok(passed)
    }

    /// Marks every model that the scope may have used on its open days, and makes the days before final.
    async fn pass_by(&self, scope: &Scope, dirty: &mut Dirty, closed: &mut Summed) -> Result<()> {
        let now_ms = self.now_ms();
        let effective = self.effective(scope.org(), scope.app()).await?;
        let labels = self.labels_of(scope, &effective).await?;
        let (first, today) = (effective.first_open_day(now_ms), effective.timezone.day_of(now_ms));
        let back = std::iter::successors(Some(today), |day| day.previous());
        for day in back.take(OPEN_DAYS_MAX).take_while(|day| *day >= first) {
            for label in &labels {
                dirty.mark(scope.clone(), Label::clone(label), day, now_ms);
            }
        }
        let changed = self.close_days(scope, &effective, &labels, now_ms).await;
        closed.written += closed.passable(scope, changed)?.unwrap_or_default();
        Ok(())
    }
}
