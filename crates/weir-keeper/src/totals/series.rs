//! The totals of a series of days: one range of each model's partition.

use std::collections::BTreeMap;

use weir_table::{Backend, Query};

use super::apps::quota;
use super::view::{Counted, DayTotals};
use crate::bounds::SERIES_DAYS_MAX;
use crate::config::{Effective, QuotaScope};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;

/// What was counted, by day.
type Days = BTreeMap<OrgDay, Counted>;

impl<B: Backend> Keeper<B> {
    /// What was used and spent on each day from one to another, both included; at most [`SERIES_DAYS_MAX`]. Days on which
    /// nothing was counted are there too, days that the zone does not have and days to come are not.
    ///
    /// # Errors
    /// There is no such org or app, the days are too many or none, or the store fails.
    pub async fn series(&self, scope: &Scope, from: OrgDay, to: OrgDay) -> Result<Vec<DayTotals>> {
        if from > to {
            return Err(Error::invalid("from", format!("{from} is after {to}")));
        }
        let days = usize::try_from(from.days_until(to)).unwrap_or(usize::MAX).saturating_add(1);
        if days > SERIES_DAYS_MAX {
            let problem = format!("{days} days are asked for; {SERIES_DAYS_MAX} are allowed");
            return Err(Error::invalid("to", problem));
        }
        let effective = self.effective(scope.org(), scope.app()).await?;
        let mut found = Days::new();
        let mut parts = None;
        if matches!(scope, Scope::App(..)) || effective.quota_scope == QuotaScope::Org {
            let labels = self.labels_of(scope, &effective).await?;
            let of = (scope, labels.as_slice(), effective.first_day());
            self.make_final(of, &effective, (from, to)).await?;
            self.range_in(scope, &labels, (from, to), &mut found).await?;
        }
        if matches!(scope, Scope::Org(_)) {
            parts = self.fill_in(scope, &effective, (from, to), &mut found).await?;
        }
        let all = found.values().fold(Counted::default(), |mut all, day| {
            all.models.extend(day.models.clone());
            all
        });
        let models = self.models_of(scope, &all).await?;
        let quota = |label: &Label| quota(&effective, parts.as_deref(), label);
        let model =
            |label: &Label| models.iter().find(|(of, _)| of == label).map(|(_, id)| id.clone());
        let today = effective.timezone.day_of(self.now_ms());
        let dates = std::iter::successors(Some(from), |day| day.next());
        dates
            .take(days)
            .filter(|day| *day <= today && effective.timezone.has(*day))
            .map(|day| {
                let counted = found.remove(&day).unwrap_or_default();
                DayTotals::new(&effective, day, &counted, quota, model)
            })
            .collect()
    }

    /// Sums up the apps of an org for the days on which it has no totals of its own.
    async fn fill_in(
        &self,
        scope: &Scope,
        effective: &Effective,
        days: (OrgDay, OrgDay),
        found: &mut Days,
    ) -> Result<Option<Vec<super::apps::Part>>> {
        // Once the quotas are the org's, each day after has totals of its own: only days before can want for any.
        let is_own = effective.quota_scope == QuotaScope::Org;
        if is_own && found.keys().next() == Some(&days.0) {
            return Ok(None);
        }
        let parts = self.parts_of(scope.org()).await?;
        let mut of_apps = Days::new();
        for part in &parts {
            let of = (&part.scope, part.labels.as_slice(), part.since);
            self.make_final(of, effective, days).await?;
            self.range_in(&part.scope, &part.labels, days, &mut of_apps).await?;
        }
        for (day, counted) in of_apps {
            found.entry(day).or_insert(counted);
        }
        Ok(Some(parts))
    }

    async fn range_in(
        &self,
        scope: &Scope,
        labels: &[Label],
        (from, to): (OrgDay, OrgDay),
        found: &mut Days,
    ) -> Result<()> {
        let table = &self.tables().daily_total;
        for label in labels {
            let partition = keys::total_partition(scope, label);
            let range = Query::partition(table.clone(), partition).eventual();
            let range = range.between(keys::day(from), keys::day(to));
            // As many days as a series has are far from what a page holds.
            let page = self.store().query(&range).await?;
            for item in &page.items {
                if let Some(day) = item.s("SK").and_then(keys::parse_day) {
                    found.entry(day).or_default().add(label, item)?;
                }
            }
        }
        Ok(())
    }
}
