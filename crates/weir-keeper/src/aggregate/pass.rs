//! The full pass: today and yesterday of every scope, whatever the feed told.

use weir_table::{Backend, Query};

use super::{Dirty, Summed};
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
    /// Sums up today and yesterday of some orgs and apps: those among the next `limit` things of the configuration.
    ///
    /// # Errors
    /// The cursor is not of this pass, or the store fails.
    pub async fn full_pass(&self, cursor: Option<&str>, limit: u32) -> Result<Passed> {
        let mut query =
            Query::scan(self.tables().config.clone()).project(["PK", "SK"]).limit(limit.max(1));
        query.cursor = cursor.map(str::to_owned);
        let page = self.store().query(&query).await?;
        let mut passed = Passed { next: page.cursor, ..Passed::default() };
        let mut dirty = Dirty::default();
        for item in &page.items {
            let key = item.s("PK").zip(item.s("SK"));
            if let Some(scope) = key.and_then(|(pk, sk)| keys::parse_config(pk, sk)) {
                self.mark_all(&scope, &mut dirty).await?;
                passed.scopes += 1;
            }
        }
        passed.summed = self.aggregate(&dirty).await?;
        // Nobody submitted when this pass began, so there is no lag to tell.
        passed.summed.lag_ms = 0;
        Ok(passed)
    }

    /// Marks every model that the scope may have used today and yesterday.
    async fn mark_all(&self, scope: &Scope, dirty: &mut Dirty) -> Result<()> {
        let now_ms = self.now_ms();
        let effective = self.effective(scope.org(), scope.app()).await?;
        let today = effective.timezone.day_of(now_ms);
        let labels = self.labels_of(scope, &effective).await?;
        for day in [Some(today), today.previous()].into_iter().flatten() {
            for label in &labels {
                dirty.mark(scope.clone(), Label::clone(label), day, now_ms);
            }
        }
        Ok(())
    }
}
