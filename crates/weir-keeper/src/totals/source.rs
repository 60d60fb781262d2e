//! The scopes whose stored totals make up those of an org or app.

use std::collections::BTreeMap;

use weir_table::Backend;

use crate::bounds::{APP_PAGES_MAX, PAGE_MAX};
use crate::config::{EffectiveConfig, QuotaScope};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{Label, OrgId, Scope};
use crate::keeper::Keeper;
use crate::money::MicroUsd;

/// A scope with totals of its own.
#[derive(Debug, Clone)]
pub(crate) struct TotalsSource {
    pub(crate) scope: Scope,
    /// Every label that may have been used.
    pub(crate) labels: Vec<Label>,
    pub(crate) quotas: BTreeMap<Label, MicroUsd>,
    /// The first day that can have submissions.
    pub(crate) since: OrgDay,
}

impl<B: Backend> Keeper<B> {
    /// A scope as the source of its own totals.
    pub(crate) async fn totals_source(
        &self,
        scope: &Scope,
        effective: &EffectiveConfig,
    ) -> Result<TotalsSource> {
        Ok(TotalsSource {
            scope: scope.clone(),
            labels: self.usable_labels(scope, effective).await?,
            quotas: effective.quotas.clone(),
            since: effective.first_day(),
        })
    }

    /// All apps of an org, deleted ones too: what they spent is part of its totals.
    pub(crate) async fn app_sources(&self, org: &OrgId) -> Result<Vec<TotalsSource>> {
        let mut sources = Vec::new();
        let mut cursor = None;
        for _ in 0..APP_PAGES_MAX {
            let page = self.apps_ever(org, PAGE_MAX, cursor).await?;
            for effective in page.items {
                let Some(app) = effective.app_id.clone() else { continue };
                let scope = Scope::App(org.clone(), app);
                let mut source = self.totals_source(&scope, &effective).await?;
                if effective.deleted_at_epoch.is_some() {
                    // It spent, and may spend no more.
                    source.quotas.clear();
                }
                sources.push(source);
            }
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(sources);
            }
        }
        Err(Error::Overflow("the number of apps"))
    }

    /// The labels that a scope may have used: those of the catalog, and an app's inference profiles.
    pub(crate) async fn usable_labels(
        &self,
        scope: &Scope,
        effective: &EffectiveConfig,
    ) -> Result<Vec<Label>> {
        let mut labels: Vec<Label> =
            self.catalog().iter().map(|(label, _)| label.clone()).collect();
        if let Scope::App(org, app) = scope {
            labels.extend(self.profile_labels_ever(org, app).await?);
        }
        // The chain may name labels that have left the catalog.
        labels.extend(effective.model_ordering.iter().cloned());
        labels.sort_unstable();
        labels.dedup();
        Ok(labels)
    }
}

/// The daily quota of a model: the scope's own, or the sum of the apps' where its totals are the sum of theirs.
pub(super) fn quota(
    effective: &EffectiveConfig,
    apps: Option<&[TotalsSource]>,
    label: &Label,
) -> MicroUsd {
    match apps {
        Some(apps) if effective.quota_scope == QuotaScope::App => {
            let quota = |app: &TotalsSource| app.quotas.get(label).map_or(0, |quota| quota.0);
            MicroUsd(apps.iter().map(quota).fold(0, u64::saturating_add))
        }
        _ => effective.quota(label),
    }
}
