//! Earlier configurations: a day that is over is judged by what held at its end.
//!
//! A change stores the record that it replaces beside the totals, if a day has ended since that record was written. So
//! there is at most one for each day, and it is retained as long as the totals. See ADR 0023.

use std::sync::Arc;

use weir_calendar::Zone;
use weir_table::{Backend, Item, Query, Write};

use super::{AppRecord, EffectiveConfig, OrgRecord, QuotaScope};
use crate::bounds::{DAY_MS, PAGE_MAX, REVISION_PAGES_MAX, SCOPE_MARGIN_MS};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{AppId, Label, OrgId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::table::TTL;

/// A record of which earlier versions are stored.
pub(crate) trait Versioned: Sized {
    fn scope(&self) -> Scope;
    fn to_item(&self) -> Item;
    fn from_item(scope: &Scope, item: &Item) -> Result<Self>;
    fn created_at_ms(&self) -> i64;
    /// When this version was written.
    fn written_at_ms(&self) -> i64;
}

/// The versions of a record from some time on.
#[derive(Debug, Clone)]
struct Versions<R> {
    /// Earlier versions, the oldest first, each with the end of its time in milliseconds since 1970.
    past: Vec<(R, i64)>,
    present: R,
}

/// The versions of an org's configuration, and the time zones that follow from them.
#[derive(Debug)]
pub(crate) struct OrgHistory {
    versions: Versions<OrgRecord>,
    periods: Vec<Period>,
    from_ms: i64,
}

/// A time with one time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Period {
    timezone: Zone,
    from_ms: i64,
    until_ms: i64,
}

/// The configurations of an org or app over time.
#[derive(Debug, Clone)]
pub(crate) struct ConfigHistory {
    org: Arc<OrgHistory>,
    app: Option<Versions<AppRecord>>,
}

/// A configuration that was in force.
#[derive(Debug)]
pub(crate) struct PastConfig {
    pub(crate) effective: EffectiveConfig,
    /// False when the configuration changed since, without a record of what held then: this is a later one.
    pub(crate) is_recorded: bool,
}

impl ConfigHistory {
    /// The configuration in force at a time.
    pub(crate) fn at(&self, at_ms: i64) -> PastConfig {
        let (org, is_org_recorded) = self.org.versions.at(at_ms);
        match self.app.as_ref().map(|app| app.at(at_ms)) {
            None => PastConfig {
                effective: EffectiveConfig::for_org(org, at_ms),
                is_recorded: is_org_recorded,
            },
            Some((app, is_recorded)) => PastConfig {
                effective: EffectiveConfig::for_app(org, app, at_ms),
                is_recorded: is_org_recorded && is_recorded,
            },
        }
    }

    /// The history of the org alone.
    pub(crate) fn org(&self) -> &Arc<OrgHistory> {
        &self.org
    }

    /// Whether the app, or the org, was created by a time and not deleted by then.
    pub(crate) fn existed_at(&self, at_ms: i64) -> bool {
        let (created_ms, deleted_at_epoch) = match &self.app {
            Some(app) => (app.present.created_at_ms(), app.present.deleted_at_epoch),
            None => {
                let org = &self.org.versions.present;
                (org.created_at_ms(), org.deleted_at_epoch)
            }
        };
        let is_deleted = |at: i64| at.saturating_mul(1000) <= at_ms;
        created_ms <= at_ms && !deleted_at_epoch.is_some_and(is_deleted)
    }

    /// The labels of all chains.
    pub(crate) fn chain_labels(&self) -> impl Iterator<Item = &Label> {
        let of_org = self.org.versions.all().flat_map(|(org, _)| &org.config.model_ordering);
        let of_app = self.app.iter().flat_map(Versions::all);
        of_org.chain(of_app.flat_map(|(app, _)| app.config.model_ordering.iter().flatten()))
    }
}

impl OrgHistory {
    fn new(versions: Versions<OrgRecord>, from_ms: i64) -> OrgHistory {
        OrgHistory { periods: periods(&versions), versions, from_ms }
    }

    /// The last instant of a day, or `now_ms` while it lasts. A day that a change of zone repeats ends with its last
    /// part. `None` for a day that has not begun, or that no time zone in force had.
    pub(crate) fn last_instant(&self, day: OrgDay, now_ms: i64) -> Option<i64> {
        self.periods.iter().rev().find_map(|period| {
            let zone = &period.timezone;
            let from_ms = zone.first_instant(day).max(period.from_ms);
            let end_ms = zone.end_of(day);
            let until_ms = end_ms.min(period.until_ms).min(now_ms.saturating_add(1));
            (from_ms < until_ms).then(|| until_ms.saturating_sub(1))
        })
    }

    /// Whether the totals of a day are the sum of the apps', which have every submission. The org's own have all only if
    /// its quotas are its own since some time before that day, because clocks and caches differ.
    pub(crate) fn is_sum_of_apps(&self, day: OrgDay) -> bool {
        self.versions.present.is_sum_of_apps(day)
    }
}

impl OrgRecord {
    /// As [`OrgHistory::is_sum_of_apps`], which depends on the present record only.
    pub(crate) fn is_sum_of_apps(&self, day: OrgDay) -> bool {
        let shared_since_ms = self.shared_since_epoch.saturating_mul(1000);
        self.upcoming_scope() == QuotaScope::App || margin_before(day) < shared_since_ms
    }
}

impl<R: Versioned> Versions<R> {
    /// All versions, the oldest first, each with the end of its time.
    fn all(&self) -> impl Iterator<Item = (&R, i64)> {
        let past = self.past.iter().map(|(record, until_ms)| (record, *until_ms));
        past.chain([(&self.present, i64::MAX)])
    }

    /// The version in force at a time, and whether it is known to be.
    fn at(&self, at_ms: i64) -> (&R, bool) {
        let past = self.past.iter().find(|(_, until_ms)| at_ms < *until_ms);
        let record = past.map_or(&self.present, |(record, _)| record);
        // Before its creation nothing else held either.
        (record, at_ms >= record.written_at_ms() || at_ms < record.created_at_ms())
    }
}

/// A time before all of a day in any time zone, with the margin of [`OrgHistory::is_sum_of_apps`].
fn margin_before(day: OrgDay) -> i64 {
    Zone::utc().first_instant(day).saturating_sub(SCOPE_MARGIN_MS)
}

/// The time zones of an org, the oldest first.
fn periods(versions: &Versions<OrgRecord>) -> Vec<Period> {
    let mut periods: Vec<Period> = Vec::new();
    let mut push = |timezone: &Zone, until_ms: i64| {
        let from_ms = periods.last().map_or(i64::MIN, |last| last.until_ms);
        if from_ms < until_ms {
            periods.push(Period { timezone: timezone.clone(), from_ms, until_ms });
        }
    };
    for past in versions.all().take(1).flat_map(|(oldest, _)| &oldest.past) {
        push(&past.timezone, past.until_ms);
    }
    for (record, until_ms) in versions.all() {
        let change_ms = record.pending.as_ref().map_or(until_ms, |pending| pending.at_ms);
        push(&record.config.timezone, change_ms.min(until_ms));
        if let Some(pending) = &record.pending {
            push(&pending.timezone, until_ms);
        }
    }
    periods
}

impl<B: Backend> Keeper<B> {
    /// The configurations of an org or app, for days from `from` on.
    ///
    /// # Errors
    /// The org or app does not exist, or the store fails.
    pub(crate) async fn config_history(
        &self,
        scope: &Scope,
        from: OrgDay,
    ) -> Result<ConfigHistory> {
        let from_ms = margin_before(from);
        let ((org, _), app) = self.records_or_deleted(scope.org(), scope.app()).await?;
        let org = Arc::new(OrgHistory::new(self.versions(org, from_ms).await?, from_ms));
        let app = match app {
            Some((app, _)) => Some(self.versions(app, from_ms).await?),
            None => None,
        };
        Ok(ConfigHistory { org, app })
    }

    /// The configurations of an app of an org.
    pub(crate) async fn app_history(
        &self,
        org: &Arc<OrgHistory>,
        app: AppRecord,
    ) -> Result<ConfigHistory> {
        let app = Some(self.versions(app, org.from_ms).await?);
        Ok(ConfigHistory { org: Arc::clone(org), app })
    }

    /// The versions of a record that were in force at `from_ms` or later.
    async fn versions<R: Versioned>(&self, present: R, from_ms: i64) -> Result<Versions<R>> {
        let mut past = Vec::new();
        // A record that was never changed has no earlier versions.
        let written_ms = present.written_at_ms();
        if written_ms > from_ms && written_ms > present.created_at_ms() {
            let scope = present.scope();
            let table = self.tables().daily_total.clone();
            let query = Query::partition(table, keys::scope_prefix(&scope))
                .between(keys::revision_sort(from_ms), keys::revision_sort(i64::MAX));
            let mut cursor = None;
            for _ in 0..REVISION_PAGES_MAX {
                let page = self.store().page(query.clone(), PAGE_MAX, cursor).await?;
                for item in &page.items {
                    let until_ms = item.s("SK").and_then(keys::parse_revision);
                    let until_ms = until_ms.ok_or_else(|| {
                        Error::damaged("an earlier configuration", "its key has no time")
                    })?;
                    past.push((R::from_item(&scope, item)?, until_ms));
                }
                cursor = page.cursor;
                if cursor.is_none() {
                    break;
                }
            }
            if cursor.is_some() {
                return Err(Error::Overflow("the number of earlier configurations"));
            }
        }
        Ok(Versions { past, present })
    }

    /// The write that keeps a record which is replaced now, unless it was never in force at the end of a day of `org`.
    pub(crate) fn keep_version(
        &self,
        old: &impl Versioned,
        org: &OrgRecord,
        now_ms: i64,
    ) -> Option<Write> {
        if !org.has_day_ended(old.written_at_ms(), now_ms) {
            return None;
        }
        let key = keys::revision(&old.scope(), now_ms);
        let retained_ms = i64::from(self.settings().retention_days).saturating_mul(DAY_MS);
        let expires_ms = now_ms.saturating_add(retained_ms).saturating_add(2 * SCOPE_MARGIN_MS);
        let mut item = old.to_item();
        for (name, value) in keys::item(key).attrs().iter() {
            item.set(name.clone(), value.clone());
        }
        item.set(TTL, expires_ms.div_euclid(1000));
        Some(Write::put(self.tables().daily_total.clone(), item))
    }
}

impl Versioned for OrgRecord {
    fn scope(&self) -> Scope {
        Scope::Org(self.org.clone())
    }

    fn to_item(&self) -> Item {
        self.encode(None)
    }

    fn from_item(scope: &Scope, item: &Item) -> Result<OrgRecord> {
        OrgRecord::decode(OrgId::clone(scope.org()), item)
    }

    fn created_at_ms(&self) -> i64 {
        self.created_at_epoch.saturating_mul(1000)
    }

    fn written_at_ms(&self) -> i64 {
        self.updated_at_epoch.saturating_mul(1000)
    }
}

impl Versioned for AppRecord {
    fn scope(&self) -> Scope {
        Scope::App(self.org.clone(), self.app.clone())
    }

    fn to_item(&self) -> Item {
        self.encode(None)
    }

    fn from_item(scope: &Scope, item: &Item) -> Result<AppRecord> {
        let app: &AppId = scope.app().ok_or_else(|| Error::damaged("an app", "it has no id"))?;
        AppRecord::decode(scope.org().clone(), app.clone(), item)
    }

    fn created_at_ms(&self) -> i64 {
        self.created_at_epoch.saturating_mul(1000)
    }

    fn written_at_ms(&self) -> i64 {
        self.updated_at_epoch.saturating_mul(1000)
    }
}
