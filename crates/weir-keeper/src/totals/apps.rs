//! Whose totals make up those of a scope.

use std::collections::BTreeMap;

use weir_table::Backend;

use crate::bounds::{APP_PAGES_MAX, PAGE_MAX};
use crate::config::{Effective, QuotaScope};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{Label, OrgId, Scope};
use crate::keeper::Keeper;
use crate::money::MicroUsd;

/// An app, as far as a sum needs it.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) scope: Scope,
    pub(crate) labels: Vec<Label>,
    pub(crate) quotas: BTreeMap<Label, MicroUsd>,
    /// The first day of which it can have told anything.
    pub(crate) since: OrgDay,
}

impl<B: Backend> Keeper<B> {
    /// The labels that a scope may have used: those for everybody, and an app's own.
    pub(crate) async fn labels_of(
        &self,
        scope: &Scope,
        effective: &Effective,
    ) -> Result<Vec<Label>> {
        let mut labels: Vec<Label> = self.labels().iter().map(|(label, _)| label.clone()).collect();
        if let Scope::App(org, app) = scope {
            labels.extend(self.profile_labels(org, app).await?);
        }
        // A label may have been taken out of the catalogue since.
        labels.extend(effective.model_ordering.iter().cloned());
        labels.sort_unstable();
        labels.dedup();
        Ok(labels)
    }

    /// All apps of an org.
    pub(crate) async fn parts_of(&self, org: &OrgId) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        let mut cursor = None;
        for _ in 0..APP_PAGES_MAX {
            let page = self.list_apps(org, PAGE_MAX, cursor).await?;
            for effective in page.items {
                let Some(app) = effective.app_id.clone() else { continue };
                let scope = Scope::App(org.clone(), app);
                let labels = self.labels_of(&scope, &effective).await?;
                let since = effective.first_day();
                parts.push(Part { scope, labels, quotas: effective.quotas, since });
            }
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(parts);
            }
        }
        Err(Error::Overflow("the number of apps"))
    }
}

/// What may be spent on a model: what the scope may spend, or what the apps may that its totals are the sum of.
pub(super) fn quota(effective: &Effective, parts: Option<&[Part]>, label: &Label) -> MicroUsd {
    match parts {
        Some(parts) if effective.quota_scope == QuotaScope::App => {
            let of = |part: &Part| part.quotas.get(label).map_or(0, |quota| quota.0);
            MicroUsd(parts.iter().map(of).fold(0, u64::saturating_add))
        }
        _ => effective.quota(label),
    }
}
