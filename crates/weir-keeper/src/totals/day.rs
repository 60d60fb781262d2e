//! The totals of one day.

use weir_table::{Backend, Get};

use super::day_totals::{DayTotals, DayUsage};
use super::source::{TotalsSource, quota};
use crate::config::{EffectiveConfig, QuotaScope};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{Label, ModelId, Scope};
use crate::keeper::Keeper;
use crate::keys;

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
        let effective = self.config_or_deleted(scope.org(), scope.app()).await?;
        let today = effective.timezone.day_of(self.now_ms());
        if day > today {
            let problem = format!("{day} is in the future; today is {today}");
            return Err(Error::invalid("date", problem));
        }
        let (usage, apps) = self.usage_on(scope, &effective, day).await?;
        if usage.models.is_empty() {
            return Err(Error::not_found("usage on", day.to_string()));
        }
        let quota = |label: &Label| quota(&effective, apps.as_deref(), label);
        let models = self.model_ids(scope, &usage).await?;
        let model =
            |label: &Label| models.iter().find(|(of, _)| of == label).map(|(_, id)| id.clone());
        let mut totals = DayTotals::new(&effective, day, &usage, quota, model);
        totals.sticky = self.sticky_state(&effective.scope(), day).await?.map(Into::into);
        Ok(totals)
    }

    /// The usage of a day; and the apps whose usage it sums, if any.
    async fn usage_on(
        &self,
        scope: &Scope,
        effective: &EffectiveConfig,
        day: OrgDay,
    ) -> Result<(DayUsage, Option<Vec<TotalsSource>>)> {
        let mut usage = DayUsage::default();
        if matches!(scope, Scope::App(..)) || effective.quota_scope == QuotaScope::Org {
            let source = self.totals_source(scope, effective).await?;
            self.add_day(&source, effective, day, &mut usage).await?;
        }
        if matches!(scope, Scope::App(..)) || !usage.models.is_empty() {
            return Ok((usage, None));
        }
        let apps = self.app_sources(scope.org()).await?;
        for app in &apps {
            self.add_day(app, effective, day, &mut usage).await?;
        }
        Ok((usage, Some(apps)))
    }

    /// Adds the totals of a day, finalized if the day has ended.
    async fn add_day(
        &self,
        source: &TotalsSource,
        effective: &EffectiveConfig,
        day: OrgDay,
        usage: &mut DayUsage,
    ) -> Result<()> {
        self.finalize_days(source, effective, (day, day)).await?;
        let table = &self.tables().daily_total;
        let get =
            |label| Get::new(table.clone(), keys::total(&source.scope, label, day)).eventual();
        let items = self.batch_get(source.labels.iter().map(get)).await?;
        for (label, item) in source.labels.iter().zip(&items) {
            if let Some(item) = item {
                usage.add(label, item);
            }
        }
        Ok(())
    }

    /// The id of each model that was used.
    pub(super) async fn model_ids(
        &self,
        scope: &Scope,
        usage: &DayUsage,
    ) -> Result<Vec<(Label, ModelId)>> {
        let mut models: Vec<(Label, ModelId)> = self
            .catalog()
            .iter()
            .map(|(label, def)| (label.clone(), def.model_id.clone()))
            .collect();
        if let Scope::App(org, app) = scope {
            for label in usage.models.keys().filter(|label| self.catalog().get(label).is_none()) {
                let profile = self.profile(org, app, label).await?;
                models.extend(profile.map(|it| (label.clone(), it.inference_profile_arn.clone())));
            }
        }
        Ok(models)
    }
}
