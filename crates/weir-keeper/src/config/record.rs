//! The versioned record of a configuration, with changes that wait for the next local midnight.
//!
//! The time zone and the quota scope decide which counter a cost is metered in. A change during the day would leave
//! part of the day's spend in counters that nobody reads. So they change at the next midnight of the time zone in
//! force.

use std::borrow::Cow;

use weir_calendar::Zone;

use super::{AppConfig, OrgConfig, PastSettings, QuotaScope};
use crate::bounds::PAST_RETENTION_MS;
use crate::ids::{AppId, OrgId};

/// The stored configuration of an org.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgRecord {
    /// The org.
    pub org: OrgId,
    /// The configuration in force until a pending change.
    pub config: OrgConfig,
    /// The pending change, if any.
    pub pending: Option<PendingChange>,
    /// Earlier time zones and quota scopes, the oldest first, as long as submissions of that time are accepted.
    pub past: Vec<PastSettings>,
    /// Version: the number of times it was written.
    pub config_version: u64,
    /// When it was created, in seconds since 1970.
    pub created_at_epoch: i64,
    /// When it was last written, in seconds since 1970.
    pub updated_at_epoch: i64,
    /// When it was deleted, in seconds since 1970.
    pub deleted_at_epoch: Option<i64>,
    /// Since when no quota is per app, in seconds since 1970, if none is now: the org's own totals of earlier days may lack
    /// submissions.
    pub shared_since_epoch: i64,
}

/// A time zone and quota scope that take effect later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingChange {
    /// The new time zone.
    pub timezone: Zone,
    /// The new quota scope.
    pub quota_scope: QuotaScope,
    /// When it takes effect, in milliseconds since 1970; midnights are at whole seconds.
    pub at_ms: i64,
}

impl OrgRecord {
    /// A new org; everything takes effect at once.
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
            deleted_at_epoch: None,
            shared_since_epoch: 0,
        }
    }

    /// The configuration in force at a time.
    #[must_use]
    pub fn config_at(&self, now_ms: i64) -> Cow<'_, OrgConfig> {
        match &self.pending {
            Some(pending) if pending.at_ms <= now_ms => self.upcoming(),
            _ => Cow::Borrowed(&self.config),
        }
    }

    /// The configuration once the pending change has taken effect.
    #[must_use]
    pub fn upcoming(&self) -> Cow<'_, OrgConfig> {
        match &self.pending {
            Some(pending) => Cow::Owned(OrgConfig {
                timezone: pending.timezone.clone(),
                quota_scope: pending.quota_scope,
                ..self.config.clone()
            }),
            None => Cow::Borrowed(&self.config),
        }
    }

    /// The quota scope once the pending change has taken effect.
    #[must_use]
    pub fn upcoming_scope(&self) -> QuotaScope {
        self.pending.as_ref().map_or(self.config.quota_scope, |pending| pending.quota_scope)
    }

    /// Earlier time zones and quota scopes at a time, the oldest first.
    #[must_use]
    pub fn past_at(&self, now_ms: i64) -> Vec<PastSettings> {
        let applied = self.pending.as_ref().filter(|pending| pending.at_ms <= now_ms);
        let last = applied.map(|pending| PastSettings {
            timezone: self.config.timezone.clone(),
            quota_scope: self.config.quota_scope,
            until_ms: pending.at_ms,
        });
        let is_retained =
            |before: &PastSettings| before.until_ms > now_ms.saturating_sub(PAST_RETENTION_MS);
        self.past.iter().cloned().chain(last).filter(is_retained).collect()
    }

    /// Whether a day of the org may have ended between two times.
    #[must_use]
    pub fn has_day_ended(&self, since_ms: i64, now_ms: i64) -> bool {
        let past = self.past_at(now_ms);
        let is_since = |before: &&PastSettings| since_ms < before.until_ms;
        let zone = match past.iter().find(is_since) {
            // Zones change when a day ends.
            Some(before) if before.until_ms <= now_ms => return true,
            Some(before) => before.timezone.clone(),
            None => self.config_at(now_ms).timezone.clone(),
        };
        zone.day_of(since_ms) != zone.day_of(now_ms)
    }

    /// The record after a change. A pending change that has not taken effect is dropped; one that has is kept in
    /// `past`, because late submissions are metered by it.
    #[must_use]
    pub fn changed(&self, requested: OrgConfig, now_ms: i64) -> OrgRecord {
        let in_force = self.config_at(now_ms);
        let is_deferred = requested.timezone != in_force.timezone
            || requested.quota_scope != in_force.quota_scope;
        let pending = is_deferred.then(|| PendingChange {
            timezone: requested.timezone.clone(),
            quota_scope: requested.quota_scope,
            at_ms: in_force.timezone.next_midnight(now_ms),
        });
        let config = OrgConfig {
            timezone: in_force.timezone.clone(),
            quota_scope: in_force.quota_scope,
            ..requested
        };
        let mut new = OrgRecord {
            org: self.org.clone(),
            config,
            pending,
            past: self.past_at(now_ms),
            config_version: self.config_version.saturating_add(1),
            created_at_epoch: self.created_at_epoch,
            updated_at_epoch: now_ms.div_euclid(1000),
            deleted_at_epoch: self.deleted_at_epoch,
            shared_since_epoch: self.shared_since_epoch,
        };
        // A pending change that this one drops may have taken effect by another instance's clock.
        if self.has_quotas_per_app() || new.has_quotas_per_app() {
            let change_ms = new.pending.as_ref().map_or(now_ms, |pending| pending.at_ms);
            new.shared_since_epoch = self.shared_since_epoch.max(change_ms.div_euclid(1000));
        }
        new
    }

    /// Whether quotas are per app before or after the pending change.
    fn has_quotas_per_app(&self) -> bool {
        [self.config.quota_scope, self.upcoming_scope()].contains(&QuotaScope::App)
    }
}

/// The stored configuration of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppRecord {
    /// The org.
    pub org: OrgId,
    /// The app.
    pub app: AppId,
    /// The settings of the app.
    pub config: AppConfig,
    /// Version: the number of times it was written.
    pub config_version: u64,
    /// When it was created, in seconds since 1970.
    pub created_at_epoch: i64,
    /// When it was last written, in seconds since 1970.
    pub updated_at_epoch: i64,
    /// When it was deleted, in seconds since 1970.
    pub deleted_at_epoch: Option<i64>,
    /// Whether it was purged after its deletion: it cannot be restored, and its id is free.
    pub is_purged: bool,
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
            deleted_at_epoch: None,
            is_purged: false,
        }
    }

    /// The record after a change.
    #[must_use]
    pub fn changed(&self, requested: AppConfig, now_ms: i64) -> AppRecord {
        AppRecord {
            config: requested,
            config_version: self.config_version.saturating_add(1),
            updated_at_epoch: now_ms.div_euclid(1000),
            ..self.clone()
        }
    }
}
