//! The totals of a day, and of a series of days.

use weir_table::Backend;

use super::day_totals::{DayTotals, Judgement};
use super::source::TotalsSource;
use super::usage::{DayRange, DayUsage, RangeUsage, days};
use crate::bounds::{SERIES_DAYS_MAX, STICKY_RETENTION_MS};
use crate::config::QuotaScope;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{Label, ModelId, Scope};
use crate::keeper::Keeper;
use crate::money::MicroUsd;

impl<B: Backend> Keeper<B> {
    /// The current day of a scope.
    ///
    /// # Errors
    /// The org or app does not exist, or the store fails.
    pub async fn today(&self, scope: &Scope) -> Result<OrgDay> {
        let effective = self.config_or_deleted(scope.org(), scope.app()).await?;
        Ok(effective.timezone.day_of(self.now_ms()))
    }

    /// Usage and spend of a day, as far as they are aggregated.
    ///
    /// # Errors
    /// The org or app does not exist, the day is in the future, it has no usage ([`Error::NotFound`]), or the store fails.
    pub async fn day_totals(&self, scope: &Scope, day: OrgDay) -> Result<DayTotals> {
        let now_ms = self.now_ms();
        let source = self.totals_source(scope, day, now_ms).await?;
        let mut usage = self.range_usage(&source, (day, day), now_ms).await?;
        let found = usage.days.remove(&day).filter(|usage| !usage.models.is_empty());
        let today = source.present.timezone.day_of(now_ms);
        let Some(found) = found else {
            return Err(match day > today {
                true => {
                    let problem = format!("{day} is in the future; today is {today}");
                    Error::invalid("date", problem)
                }
                false => Error::not_found("usage on", day.to_string()),
            });
        };
        let models = self.model_ids(scope, found.models.keys()).await?;
        self.judge(&source, &usage, (day, &found), &models, now_ms).await
    }

    /// Usage and spend of each day of a range, both ends included; at most [`SERIES_DAYS_MAX`] days. Days without usage are
    /// included; future days, and days that no time zone in force had, are not.
    ///
    /// # Errors
    /// The org or app does not exist, the range is empty or too long, or the store fails.
    pub async fn series(&self, scope: &Scope, from: OrgDay, to: OrgDay) -> Result<Vec<DayTotals>> {
        check_range((from, to))?;
        let now_ms = self.now_ms();
        let source = self.totals_source(scope, from, now_ms).await?;
        let usage = self.range_usage(&source, (from, to), now_ms).await?;
        let labels = usage.days.values().flat_map(|day| day.models.keys());
        let models = self.model_ids(scope, labels).await?;
        let (org, none) = (source.history.org(), DayUsage::default());
        let mut all = Vec::new();
        for day in days((from, to)) {
            let found = usage.days.get(&day);
            if found.is_some() || org.last_instant(day, now_ms).is_some() {
                let found = (day, found.unwrap_or(&none));
                all.push(self.judge(&source, &usage, found, &models, now_ms).await?);
            }
        }
        Ok(all)
    }

    /// Judges the usage of a day by the configuration that held at its end.
    async fn judge(
        &self,
        source: &TotalsSource,
        range: &RangeUsage,
        (day, usage): (OrgDay, &DayUsage),
        models: &[(Label, ModelId)],
        now_ms: i64,
    ) -> Result<DayTotals> {
        let at_ms = source.history.org().last_instant(day, now_ms).unwrap_or(now_ms);
        let held = source.history.at(at_ms);
        let is_sum =
            matches!(source.scope, Scope::Org(_)) && held.effective.quota_scope == QuotaScope::App;
        let quota = |label: &Label| match is_sum {
            true => quota_of_apps(&range.apps, label, at_ms),
            false => held.effective.quota(label),
        };
        // The chain of an app under its org's quotas moves with the spend of all apps.
        let chain_usage = match (&source.scope, held.effective.quota_scope) {
            (Scope::App(..), QuotaScope::Org) => range.of_org.get(&day).unwrap_or(usage),
            _ => usage,
        };
        let is_recent = at_ms.saturating_add(STICKY_RETENTION_MS) >= now_ms;
        let sticky = match is_recent && !is_sum {
            true => self.sticky_state(&held.effective.scope(), day).await?,
            false => None,
        };
        let judgement = Judgement { held: &held, at_ms, chain_usage, sticky };
        let model = |label: &Label| {
            models.iter().find(|(of, _)| of == label).map(|(_, model)| model.clone())
        };
        Ok(DayTotals::new(judgement, day, usage, quota, model))
    }

    /// The id of each model that was used.
    async fn model_ids<'a>(
        &self,
        scope: &Scope,
        used: impl Iterator<Item = &'a Label>,
    ) -> Result<Vec<(Label, ModelId)>> {
        let mut models: Vec<(Label, ModelId)> = self
            .catalog()
            .iter()
            .map(|(label, def)| (label.clone(), def.model_id.clone()))
            .collect();
        if let Scope::App(org, app) = scope {
            let used: std::collections::BTreeSet<&Label> = used.collect();
            for label in used.into_iter().filter(|label| self.catalog().get(label).is_none()) {
                let profile = self.profile(org, app, label).await?;
                models.extend(profile.map(|it| (label.clone(), it.inference_profile_arn.clone())));
            }
        }
        Ok(models)
    }
}

fn check_range((from, to): DayRange) -> Result<()> {
    if from > to {
        return Err(Error::invalid("from", format!("{from} is after {to}")));
    }
    let days = usize::try_from(from.days_until(to)).unwrap_or(usize::MAX).saturating_add(1);
    if days > SERIES_DAYS_MAX {
        let problem = format!("the range has {days} days; at most {SERIES_DAYS_MAX} allowed");
        return Err(Error::invalid("to", problem));
    }
    Ok(())
}

/// The sum of the quotas of a model over all apps that existed at a time.
fn quota_of_apps(apps: &[TotalsSource], label: &Label, at_ms: i64) -> MicroUsd {
    let existing = apps.iter().filter(|app| app.history.existed_at(at_ms));
    let quotas = existing.map(|app| app.history.at(at_ms).effective.quota(label).0);
    MicroUsd(quotas.fold(0, u64::saturating_add))
}
