//! Reads the stored totals that make up those of an org or app.

use std::collections::BTreeMap;

use weir_table::{Backend, Get, Item, Query};

use super::source::TotalsSource;
use crate::config::QuotaScope;
use crate::counters::{Counters, UPDATED};
use crate::day::OrgDay;
use crate::error::Result;
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;

/// The first and the last day of a range.
pub(super) type DayRange = (OrgDay, OrgDay);

/// Usage by day.
pub(super) type Days = BTreeMap<OrgDay, DayUsage>;

/// Usage of one day by model, and when it was last updated.
#[derive(Debug, Clone, Default)]
pub(super) struct DayUsage {
    pub(super) models: BTreeMap<Label, Counters>,
    pub(super) updated_at_epoch: Option<i64>,
    /// Since when submissions are missing from it, in seconds since 1970; `None` when it has all.
    pub(super) outstanding_since_epoch: Option<i64>,
}

/// The usage of a range of days.
#[derive(Debug, Default)]
pub(super) struct RangeUsage {
    pub(super) days: Days,
    /// The apps of an org, where the usage of a day is the sum of theirs.
    pub(super) apps: Vec<TotalsSource>,
    /// The org's usage, where its quotas apply to an app.
    pub(super) of_org: Days,
}

impl DayUsage {
    /// Spend on a model.
    pub(super) fn spend(&self, label: &Label) -> crate::money::MicroUsd {
        self.models.get(label).map(|counters| counters.cost).unwrap_or_default()
    }

    /// Adds the stored total of a model. One that cannot be read counts as all spent, as it does in a decision.
    fn add(&mut self, label: &Label, item: &Item) {
        let numbers = Counters::decode_numbers(item).unwrap_or_default();
        let more = Counters { cost: Counters::spend_of_total(Some(item)), ..numbers };
        let sum = self.models.entry(label.clone()).or_default();
        *sum = sum.plus(more);
        self.updated_at_epoch = self.updated_at_epoch.max(item.i64(UPDATED));
    }
}

impl<B: Backend> Keeper<B> {
    /// The usage of an org or app on a range of days.
    pub(super) async fn range_usage(
        &self,
        source: &TotalsSource,
        range: DayRange,
        now_ms: i64,
    ) -> Result<RangeUsage> {
        let mut usage = RangeUsage::default();
        let org = source.history.org();
        if matches!(source.scope, Scope::App(..)) {
            self.add_range(source, range, now_ms, &mut usage.days).await?;
            self.add_outstanding(source, range, now_ms, &mut usage.days).await?;
            let is_shared = |day| {
                let at_ms = org.last_instant(day, now_ms).unwrap_or(now_ms);
                source.history.at(at_ms).effective.quota_scope == QuotaScope::Org
            };
            if days(range).any(is_shared) {
                let scope = Scope::Org(source.scope.org().clone());
                let shared = TotalsSource { scope, ..source.clone() };
                self.add_range(&shared, range, now_ms, &mut usage.of_org).await?;
            }
            return Ok(usage);
        }
        if days(range).any(|day| !org.is_sum_of_apps(day)) {
            self.add_range(source, range, now_ms, &mut usage.days).await?;
            self.add_outstanding(source, range, now_ms, &mut usage.days).await?;
            usage.days.retain(|day, _| !org.is_sum_of_apps(*day));
        }
        if days(range).any(|day| org.is_sum_of_apps(day)) {
            usage.apps = self.app_sources(source.scope.org(), org, now_ms).await?;
            let mut sums = Days::new();
            for app in &usage.apps {
                self.add_range(app, range, now_ms, &mut sums).await?;
                self.add_outstanding(app, range, now_ms, &mut sums).await?;
            }
            usage.days.extend(sums.into_iter().filter(|(day, _)| org.is_sum_of_apps(*day)));
        }
        Ok(usage)
    }

    /// Adds the totals of a range of days; ended days are finalized first.
    async fn add_range(
        &self,
        source: &TotalsSource,
        range: DayRange,
        now_ms: i64,
        found: &mut Days,
    ) -> Result<()> {
        self.finalize_days(source, range, now_ms).await?;
        if range.0 == range.1 {
            self.add_day(source, range.0, found).await
        } else {
            self.add_days(source, range, found).await
        }
    }

    /// One day: a batch of gets.
    async fn add_day(&self, source: &TotalsSource, day: OrgDay, found: &mut Days) -> Result<()> {
        let table = &self.tables().daily_total;
        let get =
            |label| Get::new(table.clone(), keys::total(&source.scope, label, day)).eventual();
        let items = self.batch_get(source.labels.iter().map(get)).await?;
        for (label, item) in source.labels.iter().zip(&items) {
            if let Some(item) = item {
                found.entry(day).or_default().add(label, item);
            }
        }
        Ok(())
    }

    /// Several days: one range query for each model.
    async fn add_days(
        &self,
        source: &TotalsSource,
        (from, to): DayRange,
        found: &mut Days,
    ) -> Result<()> {
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

/// The dates of a range.
pub(super) fn days((from, to): DayRange) -> impl Iterator<Item = OrgDay> {
    std::iter::successors(Some(from), |day| day.next()).take_while(move |day| *day <= to)
}
