//! What holds for an app, or for its org as a whole.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{AppRecord, OrgRecord, Pending, QuotaScope, Unpriced};
use crate::bounds::{LATE_MS, SETTLE_MS, TOLD_BEFORE_MADE_DAYS};
use crate::day::{OrgDay, Zone};
use crate::decide::{Question, Refresh, Rung, Sticky};
use crate::ids::{AppId, Label, OrgId, Scope};
use crate::money::MicroUsd;

/// The configuration in force at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effective {
    /// The org.
    pub org_id: OrgId,
    /// The app; nothing for the org as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// The org's name.
    pub org_name: String,
    /// The app's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_name: Option<String>,
    /// By which days begin and end.
    pub timezone: Zone,
    /// Whose spend the quotas are for.
    pub quota_scope: QuotaScope,
    /// The chain.
    pub model_ordering: Vec<Label>,
    /// What may be spent on each model a day.
    pub quotas: BTreeMap<Label, MicroUsd>,
    /// From which percentage of its quota a model is tight.
    pub tight_mode_threshold_pct: u8,
    /// Over how many shards counters are spread.
    pub agg_shard_count: u8,
    /// Whether a fallback lasts for the day.
    pub sticky_fallback_enabled: bool,
    /// Seconds between two checks of a client while there is room.
    pub refresh_interval_normal_secs: u32,
    /// The same close to a quota.
    pub refresh_interval_tight_secs: u32,
    /// What to do with submissions of unknown price.
    pub unpriced: Unpriced,
    /// Greater after every change of what holds here, the org's or the app's.
    pub config_version: u64,
    /// What the app has from its org.
    pub inherited_fields: Vec<&'static str>,
    /// When the app was made, or the org, in seconds since 1970.
    #[serde(skip)]
    pub created_at_epoch: i64,
    /// What will hold instead, where something waits for the next midnight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// What was in force before, the oldest first, for what is told late.
    #[serde(skip)]
    pub past: Vec<Before>,
}

/// The time zone and quota scope that were in force until a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// The time zone.
    pub timezone: Zone,
    /// The quota scope.
    pub quota_scope: QuotaScope,
    /// Until when, in milliseconds since 1970.
    pub until_ms: i64,
}

/// What an app may say itself, where the quotas are its own.
const OWN: [&str; 6] = [
    "model_ordering",
    "quotas",
    "tight_mode_threshold_pct",
    "sticky_fallback_enabled",
    "refresh_interval_normal_secs",
    "refresh_interval_tight_secs",
];
/// What is always the org's.
const ORGS_ALONE: [&str; 4] = ["timezone", "quota_scope", "agg_shard_count", "unpriced"];

impl Effective {
    /// What holds for an org as a whole.
    #[must_use]
    pub fn of_org(record: &OrgRecord, now_ms: i64) -> Effective {
        let config = record.at(now_ms).into_owned();
        Effective {
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
            pending: record.pending.clone().filter(|pending| pending.at_ms > now_ms),
            past: record.past(now_ms),
        }
    }

    /// What holds for an app. In the scope `ORG` all apps share the org's chain, whatever they said before.
    #[must_use]
    pub fn of_app(org: &OrgRecord, app: &AppRecord, now_ms: i64) -> Effective {
        let of_org = Effective::of_org(org, now_ms);
        let config = &app.config;
        let is_own = of_org.quota_scope == QuotaScope::App;
        let ordering = config.model_ordering.clone().filter(|_| is_own);
        let quotas = config.quotas.clone().filter(|_| is_own);
        let sticky = config.sticky_fallback_enabled.filter(|_| is_own);
        let threshold = config.tight_mode_threshold_pct;
        let (normal, tight) =
            (config.refresh_interval_normal_secs, config.refresh_interval_tight_secs);
        let said = [
            ordering.is_some(),
            quotas.is_some(),
            threshold.is_some(),
            sticky.is_some(),
            normal.is_some(),
            tight.is_some(),
        ];
        let inherited = OWN.into_iter().zip(said).filter(|(_, is_said)| !is_said);
        Effective {
            app_id: Some(app.app.clone()),
            app_name: Some(config.app_name.clone()),
            model_ordering: ordering.unwrap_or(of_org.model_ordering),
            quotas: quotas.unwrap_or(of_org.quotas),
            tight_mode_threshold_pct: threshold.unwrap_or(of_org.tight_mode_threshold_pct),
            sticky_fallback_enabled: sticky.unwrap_or(of_org.sticky_fallback_enabled),
            refresh_interval_normal_secs: normal.unwrap_or(of_org.refresh_interval_normal_secs),
            refresh_interval_tight_secs: tight.unwrap_or(of_org.refresh_interval_tight_secs),
            // Each only grows, so their sum grows with either. A shared chain goes by the org alone, or its apps would
            // disagree about which fallback is newer.
            config_version: if is_own {
                of_org.config_version.saturating_add(app.config_version)
            } else {
                of_org.config_version
            },
            inherited_fields: inherited.map(|(field, _)| field).chain(ORGS_ALONE).collect(),
            created_at_epoch: app.created_at_epoch,
            ..of_org
        }
    }

    /// The time zone and quota scope that were in force at a moment not long ago: by them a submission of that time is
    /// counted, so that the day it belongs to is one.
    #[must_use]
    pub fn then(&self, at_ms: i64) -> (&Zone, QuotaScope) {
        match self.past.iter().find(|before| at_ms < before.until_ms) {
            Some(before) => (&before.timezone, before.quota_scope),
            None => (&self.timezone, self.quota_scope),
        }
    }

    /// The first day in which something can still be counted; what was counted on days before it stays as it is.
    #[must_use]
    pub fn first_open_day(&self, now_ms: i64) -> OrgDay {
        let now_ms = now_ms.saturating_sub(SETTLE_MS);
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

    /// The first day of which it can have told anything.
    #[must_use]
    pub fn first_day(&self) -> OrgDay {
        let made = self.timezone.day_of(self.created_at_epoch.saturating_mul(1000));
        let mut back = std::iter::successors(Some(made), |day| day.previous());
        back.nth(TOLD_BEFORE_MADE_DAYS).unwrap_or(made)
    }

    /// Whose spend the quotas are for.
    #[must_use]
    pub fn scope(&self) -> Scope {
        match (&self.app_id, self.quota_scope) {
            (Some(app), QuotaScope::App) => Scope::App(self.org_id.clone(), app.clone()),
            _ => Scope::Org(self.org_id.clone()),
        }
    }

    /// What may be spent on a model a day. One without a quota is closed: an org may have changed under its apps.
    #[must_use]
    pub fn quota(&self, label: &Label) -> MicroUsd {
        self.quotas.get(label).copied().unwrap_or_default()
    }

    /// The chain, with what was spent on each model today.
    #[must_use]
    pub fn rungs(&self, spend: impl Fn(&Label) -> MicroUsd) -> Vec<Rung> {
        let rung = |label: &Label| Rung {
            label: label.clone(),
            spend: spend(label),
            quota: self.quota(label),
        };
        self.model_ordering.iter().map(rung).collect()
    }

    /// The question which model of the chain to use now.
    #[must_use]
    pub fn question<'a>(
        &self,
        chain: &'a [Rung],
        sticky: Option<&'a Sticky>,
        now_ms: i64,
    ) -> Question<'a> {
        Question {
            chain,
            threshold_pct: self.tight_mode_threshold_pct,
            is_sticky: self.sticky_fallback_enabled,
            sticky,
            refresh: Refresh {
                normal_secs: self.refresh_interval_normal_secs,
                tight_secs: self.refresh_interval_tight_secs,
            },
            today: self.timezone.span_of(now_ms),
            now_ms,
        }
    }
}
