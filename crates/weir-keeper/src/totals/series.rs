//! The totals of a series of days: one range query per model.

use std::collections::BTreeMap;

use weir_table::{Backend, Query};

use super::day_totals::{DayTotals, DayUsage};
use super::source::{TotalsSource, quota};
use crate::bounds::SERIES_DAYS_MAX;
use crate::config::{EffectiveConfig, QuotaScope};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;

/// Usage by day.
type Days = BTreeMap<OrgDay, DayUsage>;

impl<B: Backend> Keeper<B> {
    /// Usage and spend of each day of a range, both ends included; at most [`SERIES_DAYS_MAX`] days. Days without usage are
    /// included; future days, and days that the time zone skips, are not.
    ///
    /// # Errors
    /// The org or app does not exist, the range is empty or too long, or the store fails.
    pub async fn series(&self, scope: &Scope, from: OrgDay, to: OrgDay) -> Result<Vec<DayTotals>> {
        if from > to {
            return Err(Error::invalid("from", format!("{from} is after {to}")));
        }
        let days = usize::try_from(from.days_until(to)).unwrap_or(usize::MAX).saturating_add(1);
        if days > SERIES_DAYS_MAX {
            let problem = format!("the range has {days} days; at most {SERIES_DAYS_MAX} allowed");
            return Err(Error::invalid("to", problem));
        }
        let effective = self.config_or_deleted(scope.org(), scope.app()).await?;
        let mut found = Days::new();
        let mut apps = None;
        if matches!(scope, Scope::App(..)) || effective.quota_scope == QuotaScope::Org {
            let source = self.totals_source(scope, &effective).await?;
            self.add_range(&source, &effective, (from, to), &mut found).await?;
        }
        if matches!(scope, Scope::Org(_)) {
            apps = self.fill_from_apps(scope, &effective, (from, to), &mut found).await?;
        }
        let all = found.values().fold(DayUsage::default(), |mut all, day| {
            all.models.extend(day.models.clone());
            all
        });
        let models = self.model_ids(scope, &all).await?;
        let quota = |label: &Label| quota(&effective, apps.as_deref(), label);
        let model =
            |label: &Label| models.iter().find(|(of, _)| of == label).map(|(_, id)| id.clone());
        let today = effective.timezone.day_of(self.now_ms());
        let dates = std::iter::successors(Some(from), |day| day.next());
        let totals = dates
            .take(days)
            .filter(|day| *day <= today && effective.timezone.has(*day))
            .map(|day| {
                let usage = found.remove(&day).unwrap_or_default();
                DayTotals::new(&effective, day, &usage, quota, model)
            });
        Ok(totals.collect())
    }

    /// Sums the apps of an org for the days on which it has no totals of its own.
    async fn fill_from_apps(
        &self,
        scope: &Scope,
        effective: &EffectiveConfig,
        days: (OrgDay, OrgDay),
        found: &mut Days,
    ) -> Result<Option<Vec<TotalsSource>>> {
        // Since the quotas became the org's, every day has totals of its own: only earlier days can lack them.
        let is_own = effective.quota_scope == QuotaScope::Org;
        if is_own && found.keys().next() == Some(&days.0) {
            return Ok(None);
        }
        let apps = self.app_sources(scope.org()).await?;
        let mut from_apps = Days::new();
        for app in &apps {
            self.add_range(app, effective, days, &mut from_apps).await?;
        }
        for (day, usage) in from_apps {
            found.entry(day).or_insert(usage);
        }
        Ok(Some(apps))
    }

    /// Adds the totals of a range of days; ended days are finalized first.
    async fn add_range(
        &self,
        source: &TotalsSource,
        effective: &EffectiveConfig,
        (from, to): (OrgDay, OrgDay),
        found: &mut Days,
    ) -> Result<()> {
        self.finalize_days(source, effective, (from, to)).await?;
        let table = &self.tables().daily_total;
        for label in &source.labels {
            let partition = keys::total_partition(&source.scope, label);
            let range = Query::partition(table.clone(), partition).eventual();
            let range = range.between(keys::day_sort(from), keys::day_sort(to));
            // A series is far smaller than a page.
            let page = self.store().query(&range).await?;
            for item in &page.items {
                if let Some(day) = item.s("SK").and_then(keys::parse_day) {
                    found.entry(day).or_default().add(label, item);
                }
            }
        }
        Ok(())
    }
}
