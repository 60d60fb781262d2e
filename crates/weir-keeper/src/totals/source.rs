//! The scopes whose stored totals make up those of an org or app.

use std::sync::Arc;

use weir_table::Backend;

use crate::config::{ConfigHistory, EffectiveConfig, OrgHistory};
use crate::day::OrgDay;
use crate::error::Result;
use crate::ids::{Label, OrgId, Scope};
use crate::keeper::Keeper;

/// A scope with totals of its own.
#[derive(Debug, Clone)]
pub(crate) struct TotalsSource {
    pub(crate) scope: Scope,
    /// Every label that may have been used.
    pub(crate) labels: Vec<Label>,
    /// The configuration in force now.
    pub(crate) present: EffectiveConfig,
    pub(crate) history: ConfigHistory,
}

impl<B: Backend> Keeper<B> {
    /// A scope as the source of its own totals, for days from `from` on.
    pub(crate) async fn totals_source(
        &self,
        scope: &Scope,
        from: OrgDay,
        now_ms: i64,
    ) -> Result<TotalsSource> {
        let history = self.config_history(scope, from).await?;
        self.source_of(scope.clone(), history, now_ms).await
    }

    /// All apps of an org, deleted ones too: what they spent is part of its totals.
    pub(crate) async fn app_sources(
        &self,
        org: &OrgId,
        history: &Arc<OrgHistory>,
        now_ms: i64,
    ) -> Result<Vec<TotalsSource>> {
        let mut sources = Vec::new();
        for app in self.app_records(org).await? {
            let scope = Scope::App(org.clone(), app.app.clone());
            let history = self.app_history(history, app).await?;
            sources.push(self.source_of(scope, history, now_ms).await?);
        }
        Ok(sources)
    }

    async fn source_of(
        &self,
        scope: Scope,
        history: ConfigHistory,
        now_ms: i64,
    ) -> Result<TotalsSource> {
        let labels = self.usable_labels(&scope, history.chain_labels()).await?;
        let present = history.at(now_ms).effective;
        Ok(TotalsSource { scope, labels, present, history })
    }

    /// The labels that a scope may have used: those of the catalog, an app's inference profiles, and those of its chains,
    /// which may have left the catalog.
    pub(crate) async fn usable_labels(
        &self,
        scope: &Scope,
        chains: impl IntoIterator<Item = &Label>,
    ) -> Result<Vec<Label>> {
        let mut labels: Vec<Label> =
            self.catalog().iter().map(|(label, _)| label.clone()).collect();
        if let Scope::App(org, app) = scope {
            labels.extend(self.profile_labels_ever(org, app).await?);
        }
        labels.extend(chains.into_iter().cloned());
        labels.sort_unstable();
        labels.dedup();
        Ok(labels)
    }
}
