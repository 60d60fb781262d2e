//! The configuration in force for an app, or for its org as a whole.

use std::collections::BTreeMap;

use weir_calendar::Zone;

use super::{AppRecord, OrgRecord, PendingChange, QuotaScope, Unpriced};
use crate::bounds::{DAYS_BEFORE_CREATION_MAX, FINALIZE_DELAY_MS, LATE_MS};
use crate::day::OrgDay;
use crate::decide::{ChainEntry, DecisionInput, Refresh, StickyState};
use crate::error::{Error, Result};
use crate::ids::{AppId, Label, OrgId, Scope, shown};
use crate::money::MicroUsd;

/// The configuration in force at a time: the app's own settings, else its org's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveConfig {
    /// The org.
    pub org_id: OrgId,
    /// The app; `None` for the org as a whole.
    pub app_id: Option<AppId>,
    /// Name of the org.
    pub org_name: String,
    /// Name of the app.
    pub app_name: Option<String>,
    /// Time zone of the org's days.
    pub timezone: Zone,
    /// Whether quotas apply to the org or to each app.
    pub quota_scope: QuotaScope,
    /// The chain of models, the preferred one first.
    pub model_ordering: Vec<Label>,
    /// Daily quota of each model, in micro-USD.
    pub quotas: BTreeMap<Label, MicroUsd>,
    /// Percentage of its quota from which a model is tight.
    pub tight_mode_threshold_pct: u8,
    /// Number of shards that counters are spread over.
    pub agg_shard_count: u8,
    /// Whether a fallback is sticky: it lasts for the rest of the day.
    pub sticky_fallback_enabled: bool,
    /// Seconds between two checks of a client below the threshold.
    pub refresh_interval_normal_secs: u32,
    /// Seconds between two checks of a client near a quota.
    pub refresh_interval_tight_secs: u32,
    /// The treatment of submissions whose model has no price.
    pub unpriced: Unpriced,
    /// Version that grows with every change of the org or the app.
    pub config_version: u64,
    /// Fields that the app inherits from its org.
    pub inherited_fields: Vec<&'static str>,
    /// When the app (or org) was created, in seconds since 1970.
    pub created_at_epoch: i64,
    /// When the app or its org (or the org) was deleted, in seconds since 1970.
    pub deleted_at_epoch: Option<i64>,
    /// When the app (or org) was last changed, in seconds since 1970.
    pub updated_at_epoch: i64,
    /// Time zone and quota scope that take effect at the next midnight.
    pub pending: Option<PendingChange>,
    /// Earlier time zones and quota scopes, the oldest first, for late submissions.
    pub past: Vec<PastSettings>,
}

/// A time zone and quota scope that were in force until some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastSettings {
    /// The time zone.
    pub timezone: Zone,
    /// The quota scope.
    pub quota_scope: QuotaScope,
    /// The end of the period, in milliseconds since 1970.
    pub until_ms: i64,
}

/// Fields an app may set itself when quotas are per app.
const APP_FIELDS: [&str; 6] = [
    "model_ordering",
    "quotas",
    "tight_mode_threshold_pct",
    "sticky_fallback_enabled",
    "refresh_interval_normal_secs",
    "refresh_interval_tight_secs",
];
/// Fields that only an org has.
const ORG_FIELDS: [&str; 4] = ["timezone", "quota_scope", "agg_shard_count", "unpriced"];

impl EffectiveConfig {
    /// The configuration of an org as a whole.
    #[must_use]
    pub fn for_org(record: &OrgRecord, now_ms: i64) -> EffectiveConfig {
        let config = record.config_at(now_ms).into_owned();
        EffectiveConfig {
            org_id: record.org.clone(),
            app_id: None,
            org_name: config.org_name,
            app_name: None,
            timezone: config.timezone,
            quota_scope: config.quota_scope,
            model_ordering: config.model_ordering,
            quotas: config.quotas,
            tight_mode_threshold_pct: config.tight_mode_threshold_pct,
            agg_shard_count: config.agg_shard_count,
            sticky_fallback_enabled: config.sticky_fallback_enabled,
            refresh_interval_normal_secs: config.refresh_interval_normal_secs,
            refresh_interval_tight_secs: config.refresh_interval_tight_secs,
            unpriced: config.unpriced,
            config_version: record.config_version,
            inherited_fields: Vec::new(),
            created_at_epoch: record.created_at_epoch,
            deleted_at_epoch: record.deleted_at_epoch,
            updated_at_epoch: record.updated_at_epoch,
            pending: record.pending.clone().filter(|pending| pending.at_ms > now_ms),
            past: record.past_at(now_ms),
        }
    }

    /// The configuration of an app. With quota scope `ORG` all apps share the org's chain, whatever they set before.
    #[must_use]
    pub fn for_app(org: &OrgRecord, app: &AppRecord, now_ms: i64) -> EffectiveConfig {
        let base = EffectiveConfig::for_org(org, now_ms);
        let config = &app.config;
        let is_own = base.quota_scope == QuotaScope::App;
        let ordering = config.model_ordering.clone().filter(|_| is_own);
        let quotas = config.quotas.clone().filter(|_| is_own);
        let sticky = config.sticky_fallback_enabled.filter(|_| is_own);
        let threshold = config.tight_mode_threshold_pct;
        let (normal, tight) =
            (config.refresh_interval_normal_secs, config.refresh_interval_tight_secs);
        let is_set = [
            ordering.is_some(),
            quotas.is_some(),
            threshold.is_some(),
            sticky.is_some(),
            normal.is_some(),
            tight.is_some(),
        ];
        let inherited = APP_FIELDS.into_iter().zip(is_set).filter(|(_, is_set)| !is_set);
        EffectiveConfig {
            app_id: Some(app.app.clone()),
            app_name: Some(config.app_name.clone()),
            model_ordering: ordering.unwrap_or(base.model_ordering),
            quotas: quotas.unwrap_or(base.quotas),
            tight_mode_threshold_pct: threshold.unwrap_or(base.tight_mode_threshold_pct),
            sticky_fallback_enabled: sticky.unwrap_or(base.sticky_fallback_enabled),
            refresh_interval_normal_secs: normal.unwrap_or(base.refresh_interval_normal_secs),
            refresh_interval_tight_secs: tight.unwrap_or(base.refresh_interval_tight_secs),
            // Both versions only grow, so their sum grows with either. A shared chain uses the org's alone, or its apps
            // would disagree about which fallback is newer.
            config_version: if is_own {
                base.config_version.saturating_add(app.config_version)
            } else {
                base.config_version
            },
            inherited_fields: inherited.map(|(field, _)| field).chain(ORG_FIELDS).collect(),
            created_at_epoch: app.created_at_epoch,
            deleted_at_epoch: app.deleted_at_epoch.or(base.deleted_at_epoch),
            updated_at_epoch: app.updated_at_epoch,
            ..base
        }
    }

    /// The time zone and quota scope that were in force at a recent time. A submission is metered by those, so that
    /// each belongs to exactly one day.
    #[must_use]
    pub fn settings_at(&self, at_ms: i64) -> (&Zone, QuotaScope) {
        match self.past.iter().find(|before| at_ms < before.until_ms) {
            Some(before) => (&before.timezone, before.quota_scope),
            None => (&self.timezone, self.quota_scope),
        }
    }

    /// The first day that still accepts submissions; the totals of earlier days are final.
    #[must_use]
    pub fn first_open_day(&self, now_ms: i64) -> OrgDay {
        let now_ms = now_ms.saturating_sub(FINALIZE_DELAY_MS);
        let mut first = self.timezone.day_of(now_ms);
        let mut since_ms = i64::MIN;
        let past = self.past.iter().map(|before| (&before.timezone, before.until_ms));
        for (zone, until_ms) in past.chain([(&self.timezone, i64::MAX)]) {
            let oldest_ms = zone.span_of(now_ms).start_ms.saturating_sub(LATE_MS).max(since_ms);
            if oldest_ms < until_ms {
                first = first.min(zone.day_of(oldest_ms));
            }
            since_ms = until_ms;
        }
        first
    }

    /// The latest day that can have submissions. It is after today when a change of zone has set the date back.
    #[must_use]
    pub fn latest_day(&self, now_ms: i64) -> OrgDay {
        let last = |before: &PastSettings| {
            before.timezone.day_of(before.until_ms.saturating_sub(1).min(now_ms))
        };
        let latest = self.past.iter().map(last).max();
        let today = self.timezone.day_of(now_ms);
        latest.map_or(today, |latest| latest.max(today))
    }

    /// The first day that can have submissions.
    #[must_use]
    pub fn first_day(&self) -> OrgDay {
        let made = self.timezone.day_of(self.created_at_epoch.saturating_mul(1000));
        let mut back = std::iter::successors(Some(made), |day| day.previous());
        back.nth(DAYS_BEFORE_CREATION_MAX).unwrap_or(made)
    }

    /// The scope that the quotas apply to.
    #[must_use]
    pub fn scope(&self) -> Scope {
        match (&self.app_id, self.quota_scope) {
            (Some(app), QuotaScope::App) => Scope::App(self.org_id.clone(), app.clone()),
            _ => Scope::Org(self.org_id.clone()),
        }
    }

    /// The label that a submission names, which must be in the chain: no quota caps the spend of any other.
    ///
    /// # Errors
    /// It is not in the chain; the error lists the labels that are.
    pub fn chain_label(&self, field: &str, text: &str) -> Result<&Label> {
        self.model_ordering.iter().find(|label| label.as_str() == text).ok_or_else(|| {
            let all: Vec<&str> = self.model_ordering.iter().map(Label::as_str).collect();
            let problem = format!(
                "{} is not in the chain of the app; use one of {}",
                shown(text),
                all.join(", ")
            );
            Error::label(field, problem)
        })
    }

    /// Daily quota of a model. A model without a quota is closed: the org may have changed since the app was
    /// configured.
    #[must_use]
    pub fn quota(&self, label: &Label) -> MicroUsd {
        self.quotas.get(label).copied().unwrap_or_default()
    }

    /// The chain with today's spend.
    #[must_use]
    pub fn chain(&self, spend: impl Fn(&Label) -> MicroUsd) -> Vec<ChainEntry> {
        let entry = |label: &Label| ChainEntry {
            label: label.clone(),
            spend: spend(label),
            quota: self.quota(label),
        };
        self.model_ordering.iter().map(entry).collect()
    }

    /// How often clients select.
    #[must_use]
    pub fn refresh(&self) -> Refresh {
        Refresh {
            normal_secs: self.refresh_interval_normal_secs,
            tight_secs: self.refresh_interval_tight_secs,
        }
    }

    /// The input of the decision which model to use now, on spend that is known.
    #[must_use]
    pub fn decision_input<'a>(
        &self,
        chain: &'a [ChainEntry],
        sticky: Option<&'a StickyState>,
        now_ms: i64,
    ) -> DecisionInput<'a> {
        DecisionInput {
            chain,
            is_summed: true,
            threshold_pct: self.tight_mode_threshold_pct,
            is_sticky: self.sticky_fallback_enabled,
            sticky,
            refresh: self.refresh(),
            today: self.timezone.span_of(now_ms),
            now_ms,
        }
    }
}
