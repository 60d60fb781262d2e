//! The totals of one day.

use weir_table::{Backend, Consistency};

use super::apps::{Part, quota};
use super::view::{Counted, DayTotals};
use crate::config::{Effective, QuotaScope};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{Label, ModelId, Scope};
use crate::keeper::Keeper;
use crate::keys;

impl<B: Backend> Keeper<B> {
    /// The day that it is for a scope.
    ///
    /// # Errors
    /// There is no such org or app, or the store fails.
    pub async fn today(&self, scope: &Scope) -> Result<OrgDay> {
        let effective = self.effective(scope.org(), scope.app()).await?;
        Ok(effective.timezone.day_of(self.now_ms()))
    }

    /// What was used and spent on a day, as far as it is summed up.
    ///
    /// # Errors
    /// There is no such org or app, the day is in the future, nothing was counted on it ([`Error::NotFound`]), or the store
    /// fails.
    pub async fn day_totals(&self, scope: &Scope, day: OrgDay) -> Result<DayTotals> {
        let effective = self.effective(scope.org(), scope.app()).await?;
        let today = effective.timezone.day_of(self.now_ms());
        if day > today {
            return Err(Error::invalid("date", format!("{day} is in the future; it is {today}")));
        }
        let (counted, parts) = self.counted_on(scope, &effective, day).await?;
        if counted.models.is_empty() {
            return Err(Error::not_found("aggregate of", day.to_string()));
        }
        let quota = |label: &Label| quota(&effective, parts.as_deref(), label);
        let models = self.models_of(scope, &counted).await?;
        let model =
            |label: &Label| models.iter().find(|(of, _)| of == label).map(|(_, id)| id.clone());
        let mut totals = DayTotals::new(&effective, day, &counted, quota, model)?;
        totals.sticky = self.sticky(&effective.scope(), day).await?.map(Into::into);
        Ok(totals)
    }

    /// What was counted on a day; and the apps, where it is the sum of theirs.
    async fn counted_on(
        &self,
        scope: &Scope,
        effective: &Effective,
        day: OrgDay,
    ) -> Result<(Counted, Option<Vec<Part>>)> {
        let mut counted = Counted::default();
        if matches!(scope, Scope::App(..)) || effective.quota_scope == QuotaScope::Org {
            let labels = self.labels_of(scope, effective).await?;
            let of = (scope, labels.as_slice(), effective.first_day());
            self.make_final(of, effective, (day, day)).await?;
            self.count_in(scope, &labels, day, &mut counted).await?;
        }
        if matches!(scope, Scope::App(..)) || !counted.models.is_empty() {
            return Ok((counted, None));
        }
        let parts = self.parts_of(scope.org()).await?;
        for part in &parts {
            let of = (&part.scope, part.labels.as_slice(), part.since);
            self.make_final(of, effective, (day, day)).await?;
            self.count_in(&part.scope, &part.labels, day, &mut counted).await?;
        }
        Ok((counted, Some(parts)))
    }

    async fn count_in(
        &self,
        scope: &Scope,
        labels: &[Label],
        day: OrgDay,
        counted: &mut Counted,
    ) -> Result<()> {
        let keys = labels.iter().map(|label| keys::total(scope, label, day));
        let table = &self.tables().daily_total;
        let items = self.batch_get(table, keys, Consistency::Eventual).await?;
        for (label, item) in labels.iter().zip(&items) {
            if let Some(item) = item {
                counted.add(label, item)?;
            }
        }
        Ok(())
    }

    /// What Bedrock calls each model that was used.
    pub(super) async fn models_of(
        &self,
        scope: &Scope,
        counted: &Counted,
    ) -> Result<Vec<(Label, ModelId)>> {
        let mut models: Vec<(Label, ModelId)> = self
            .labels()
            .iter()
            .map(|(label, def)| (label.clone(), def.bedrock_model_id.clone()))
            .collect();
        if let Scope::App(org, app) = scope {
            for label in counted.models.keys().filter(|label| self.labels().get(label).is_none()) {
                let profile = self.profile(org, app, label).await?;
                models.extend(profile.map(|it| (label.clone(), it.inference_profile_arn.clone())));
            }
        }
        Ok(models)
    }
}
