//! A configuration as it is kept: with its version, and with what waits for the next local midnight.
//!
//! A time zone and a quota scope decide which counter a cost lands in. If they changed in the middle of a day, part of the
//! day's spend would be in counters nobody looks at. So they change when a day ends: at the next midnight of the zone in force.

use std::borrow::Cow;

use serde::Serialize;

use super::{AppConfig, Before, OrgConfig, QuotaScope};
use crate::bounds::PAST_KEPT_MS;
use crate::day::Zone;
use crate::ids::{AppId, OrgId};

/// An org's configuration, kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgRecord {
    /// The org.
    pub org: OrgId,
    /// What holds until something pending does.
    pub config: OrgConfig,
    /// What waits.
    pub pending: Option<Pending>,
    /// What was in force before, the oldest first, as far as something of that time can still be told.
    pub past: Vec<Before>,
    /// How often it was set.
    pub config_version: u64,
    /// When it was set first, in seconds since 1970.
    pub created_at_epoch: i64,
    /// When it was set last.
    pub updated_at_epoch: i64,
}

/// A time zone and a quota scope that will hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pending {
    /// The time zone.
    pub timezone: Zone,
    /// The quota scope.
    pub quota_scope: QuotaScope,
    /// From when, in milliseconds since 1970; midnights are at whole seconds.
    pub at_ms: i64,
}

impl OrgRecord {
    /// A new org; all holds at once.
    #[must_use]
    pub fn new(org: OrgId, config: OrgConfig, now_ms: i64) -> OrgRecord {
        let now = now_ms.div_euclid(1000);
        OrgRecord {
            org,
            config,
            pending: None,
            past: Vec::new(),
            config_version: 1,
            created_at_epoch: now,
            updated_at_epoch: now,
        }
    }

    /// What is in force at a moment.
    #[must_use]
    pub fn at(&self, now_ms: i64) -> Cow<'_, OrgConfig> {
        match &self.pending {
            Some(pending) if pending.at_ms <= now_ms => self.coming(),
            _ => Cow::Borrowed(&self.config),
        }
    }

    /// What will be in force when nothing is pending any more.
    #[must_use]
    pub fn coming(&self) -> Cow<'_, OrgConfig> {
        match &self.pending {
            Some(pending) => Cow::Owned(OrgConfig {
                timezone: pending.timezone.clone(),
                quota_scope: pending.quota_scope,
                ..self.config.clone()
            }),
            None => Cow::Borrowed(&self.config),
        }
    }

    /// The quota scope that will hold when nothing is pending any more.
    #[must_use]
    pub fn coming_scope(&self) -> QuotaScope {
        self.pending.as_ref().map_or(self.config.quota_scope, |pending| pending.quota_scope)
    }

    /// What was in force before a moment, the oldest first.
    #[must_use]
    pub fn past(&self, now_ms: i64) -> Vec<Before> {
        let held = self.pending.as_ref().filter(|pending| pending.at_ms <= now_ms);
        let last = held.map(|pending| Before {
            timezone: self.config.timezone.clone(),
            quota_scope: self.config.quota_scope,
            until_ms: pending.at_ms,
        });
        let is_told = |before: &Before| before.until_ms > now_ms.saturating_sub(PAST_KEPT_MS);
        self.past.iter().cloned().chain(last).filter(is_told).collect()
    }

    /// The record after the org was set to what is `wanted`. What else was pending and does not hold yet is forgotten; what
    /// held before it is not, because what is told late goes by it.
    #[must_use]
    pub fn changed(&self, wanted: OrgConfig, now_ms: i64) -> OrgRecord {
        let in_force = self.at(now_ms);
        let waits =
            wanted.timezone != in_force.timezone || wanted.quota_scope != in_force.quota_scope;
        let pending = waits.then(|| Pending {
            timezone: wanted.timezone.clone(),
            quota_scope: wanted.quota_scope,
            at_ms: in_force.timezone.next_midnight(now_ms),
        });
        let config = OrgConfig {
            timezone: in_force.timezone.clone(),
            quota_scope: in_force.quota_scope,
            ..wanted
        };
        OrgRecord {
            org: self.org.clone(),
            config,
            pending,
            past: self.past(now_ms),
            config_version: self.config_version.saturating_add(1),
            created_at_epoch: self.created_at_epoch,
            updated_at_epoch: now_ms.div_euclid(1000),
        }
    }
}

/// An app's configuration, kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppRecord {
    /// The org.
    pub org: OrgId,
    /// The app.
    pub app: AppId,
    /// What it says.
    pub config: AppConfig,
    /// How often it was set.
    pub config_version: u64,
    /// When it was set first, in seconds since 1970.
    pub created_at_epoch: i64,
    /// When it was set last.
    pub updated_at_epoch: i64,
}

impl AppRecord {
    /// A new app.
    #[must_use]
    pub fn new(org: OrgId, app: AppId, config: AppConfig, now_ms: i64) -> AppRecord {
        let now = now_ms.div_euclid(1000);
        AppRecord {
            org,
            app,
            config,
            config_version: 1,
            created_at_epoch: now,
            updated_at_epoch: now,
        }
    }

    /// The record after the app was set to what is `wanted`.
    #[must_use]
    pub fn changed(&self, wanted: AppConfig, now_ms: i64) -> AppRecord {
        AppRecord {
            config: wanted,
            config_version: self.config_version.saturating_add(1),
            updated_at_epoch: now_ms.div_euclid(1000),
            ..self.clone()
        }
    }
}
