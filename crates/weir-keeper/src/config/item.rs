//! The stored form of records. Credentials are attributes of the same item; they are ignored here and left unchanged.

use std::collections::BTreeMap;

use weir_calendar::Zone;
use weir_table::{Item, Key, Name, Value};

use super::{
    AppConfig, AppRecord, OrgConfig, OrgRecord, PastSettings, PendingChange, QuotaScope, Unpriced,
};
use crate::error::{Error, Result};
use crate::ids::{AppId, Label, OrgId, Scope};
use crate::keys;
use crate::money::MicroUsd;

/// Version of the record: the condition of every write.
pub(crate) const VERSION: &str = "config_version";
/// When the org or app was deleted, in seconds since 1970; absent while it is in use.
pub(crate) const DELETED_AT: &str = "deleted_at_epoch";
/// When a deleted app was purged: its credentials are gone, and the rest is kept as long as its totals.
pub(crate) const PURGED_AT: &str = "purged_at_epoch";
const ORG_NAME: &str = "org_name";
const APP_NAME: &str = "app_name";
const TIMEZONE: &str = "timezone";
const QUOTA_SCOPE: &str = "quota_scope";
const ORDERING: &str = "model_ordering";
const QUOTAS: &str = "quotas";
const THRESHOLD: &str = "tight_mode_threshold_pct";
const SHARDS: &str = "agg_shard_count";
const STICKY: &str = "sticky_fallback_enabled";
const REFRESH_NORMAL: &str = "refresh_interval_normal_secs";
const REFRESH_TIGHT: &str = "refresh_interval_tight_secs";
const UNPRICED: &str = "unpriced";
const PENDING_TIMEZONE: &str = "pending_timezone";
const PENDING_SCOPE: &str = "pending_quota_scope";
const PENDING_AT: &str = "pending_at_epoch";
const PAST: &str = "past_zones";
const PAST_UNTIL: &str = "until_epoch";
const CLIENT_ID: &str = "client_id";
const CREATED: &str = "created_at_epoch";
const UPDATED: &str = "updated_at_epoch";
const SHARED_SINCE: &str = "shared_since_epoch";

impl OrgRecord {
    /// Encodes the record. Other attributes of `old` stay.
    #[must_use]
    pub fn encode(&self, old: Option<&Item>) -> Item {
        let config = &self.config;
        let mut item = keyed(keys::org(&self.org), old);
        item.set(ORG_NAME, config.org_name.as_str());
        item.set(TIMEZONE, config.timezone.name());
        item.set(QUOTA_SCOPE, config.quota_scope.as_str());
        item.set(ORDERING, ordering(&config.model_ordering));
        item.set(QUOTAS, quotas(&config.quotas));
        item.set(THRESHOLD, config.tight_mode_threshold_pct);
        item.set(SHARDS, config.agg_shard_count);
        item.set(STICKY, config.sticky_fallback_enabled);
        item.set(REFRESH_NORMAL, config.refresh_interval_normal_secs);
        item.set(REFRESH_TIGHT, config.refresh_interval_tight_secs);
        item.set(UNPRICED, config.unpriced.as_str());
        let pending = self.pending.as_ref();
        set(&mut item, PENDING_TIMEZONE, pending.map(|pending| pending.timezone.name()));
        set(&mut item, PENDING_SCOPE, pending.map(|pending| pending.quota_scope.as_str()));
        set(&mut item, PENDING_AT, pending.map(|pending| pending.at_ms.div_euclid(1000)));
        let past: Vec<Value> = self.past.iter().map(past).collect();
        set(&mut item, PAST, Some(past).filter(|past| !past.is_empty()).map(Value::list));
        item.set(CLIENT_ID, Scope::Org(self.org.clone()).client_id());
        item.set(VERSION, self.config_version);
        item.set(CREATED, self.created_at_epoch);
        item.set(UPDATED, self.updated_at_epoch);
        set(&mut item, DELETED_AT, self.deleted_at_epoch);
        item.set(SHARED_SINCE, self.shared_since_epoch);
        item
    }

    /// Decodes the item of an org.
    ///
    /// # Errors
    /// An attribute is missing or invalid.
    pub fn decode(org: OrgId, item: &Item) -> Result<OrgRecord> {
        let read = Reader { what: format!("the configuration of org {org}"), item };
        let config = OrgConfig {
            org_name: read.text(ORG_NAME)?.to_owned(),
            timezone: read.zone(TIMEZONE)?,
            quota_scope: read.word(QUOTA_SCOPE, QuotaScope::parse)?,
            model_ordering: read.needed(ORDERING, read.ordering()?)?,
            quotas: read.needed(QUOTAS, read.quotas()?)?,
            tight_mode_threshold_pct: read.number(THRESHOLD)?,
            agg_shard_count: read.number(SHARDS)?,
            sticky_fallback_enabled: read.needed(STICKY, read.flag(STICKY)?)?,
            refresh_interval_normal_secs: read.number(REFRESH_NORMAL)?,
            refresh_interval_tight_secs: read.number(REFRESH_TIGHT)?,
            unpriced: read.word(UNPRICED, Unpriced::parse)?,
        };
        let (config_version, created_at_epoch, updated_at_epoch) = read.history()?;
        let (pending, past) = (read.pending()?, read.past()?);
        // An earlier version did not store it. Nothing has changed since the record was written.
        let pending_at = pending.as_ref().map_or(0, |pending| pending.at_ms.div_euclid(1000));
        let unknown = || updated_at_epoch.max(pending_at);
        let shared_since_epoch = read.maybe_number(SHARED_SINCE)?.unwrap_or_else(unknown);
        Ok(OrgRecord {
            org,
            config,
            pending,
            past,
            config_version,
            created_at_epoch,
            updated_at_epoch,
            deleted_at_epoch: read.maybe_number(DELETED_AT)?,
            shared_since_epoch,
        })
    }
}

impl AppRecord {
    /// Encodes the record. Other attributes of `old` stay.
    #[must_use]
    pub fn encode(&self, old: Option<&Item>) -> Item {
        let config = &self.config;
        let mut item = keyed(keys::app(&self.org, &self.app), old);
        item.set(APP_NAME, config.app_name.as_str());
        set(&mut item, ORDERING, config.model_ordering.as_deref().map(ordering));
        set(&mut item, QUOTAS, config.quotas.as_ref().map(quotas));
        set(&mut item, THRESHOLD, config.tight_mode_threshold_pct);
        set(&mut item, STICKY, config.sticky_fallback_enabled);
        set(&mut item, REFRESH_NORMAL, config.refresh_interval_normal_secs);
        set(&mut item, REFRESH_TIGHT, config.refresh_interval_tight_secs);
        item.set(CLIENT_ID, Scope::App(self.org.clone(), self.app.clone()).client_id());
        item.set(VERSION, self.config_version);
        item.set(CREATED, self.created_at_epoch);
        item.set(UPDATED, self.updated_at_epoch);
        set(&mut item, DELETED_AT, self.deleted_at_epoch);
        item
    }

    /// Decodes the item of an app.
    ///
    /// # Errors
    /// An attribute is missing or invalid.
    pub fn decode(org: OrgId, app: AppId, item: &Item) -> Result<AppRecord> {
        let read = Reader { what: format!("the configuration of app {app} of org {org}"), item };
        let config = AppConfig {
            app_name: read.text(APP_NAME)?.to_owned(),
            model_ordering: read.ordering()?,
            quotas: read.quotas()?,
            tight_mode_threshold_pct: read.maybe_number(THRESHOLD)?,
            sticky_fallback_enabled: read.flag(STICKY)?,
            refresh_interval_normal_secs: read.maybe_number(REFRESH_NORMAL)?,
            refresh_interval_tight_secs: read.maybe_number(REFRESH_TIGHT)?,
        };
        let (config_version, created_at_epoch, updated_at_epoch) = read.history()?;
        Ok(AppRecord {
            org,
            app,
            config,
            config_version,
            created_at_epoch,
            updated_at_epoch,
            deleted_at_epoch: read.maybe_number(DELETED_AT)?,
            is_purged: item.get(PURGED_AT).is_some(),
        })
    }
}

fn keyed(key: Key, old: Option<&Item>) -> Item {
    let mut item = old.cloned().unwrap_or_default();
    for (name, value) in keys::item(key).attrs().iter() {
        item.set(name.clone(), value.clone());
    }
    item
}

fn set(item: &mut Item, name: &'static str, value: Option<impl Into<Value>>) {
    match value {
        Some(value) => item.set(name, value),
        None => {
            item.remove(name);
        }
    }
}

fn ordering(labels: &[Label]) -> Value {
    Value::list(labels.iter().map(Label::as_str))
}

fn quotas(quotas: &BTreeMap<Label, MicroUsd>) -> Value {
    Value::map(quotas.iter().map(|(label, quota)| (Name::from(label.as_str()), quota.0)))
}

fn past(before: &PastSettings) -> Value {
    Value::map([
        (TIMEZONE, Value::from(before.timezone.name())),
        (QUOTA_SCOPE, Value::from(before.quota_scope.as_str())),
        (PAST_UNTIL, Value::from(before.until_ms.div_euclid(1000))),
    ])
}

/// Reads attributes, and names the item in errors.
struct Reader<'a> {
    what: String,
    item: &'a Item,
}

impl<'a> Reader<'a> {
    fn wrong(&self, name: &str) -> Error {
        Error::damaged(self.what.as_str(), format!("{name} is missing or invalid"))
    }

    fn needed<T>(&self, name: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| self.wrong(name))
    }

    /// Reads an optional attribute.
    fn maybe<T>(&self, name: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<Option<T>> {
        let value = self.item.get(name);
        value.map(|value| read(value).ok_or_else(|| self.wrong(name))).transpose()
    }

    fn text(&self, name: &str) -> Result<&'a str> {
        self.needed(name, self.item.s(name))
    }

    fn word<T>(&self, name: &str, parse: fn(&str) -> Option<T>) -> Result<T> {
        self.needed(name, parse(self.text(name)?))
    }

    fn zone(&self, name: &str) -> Result<Zone> {
        Zone::new(self.text(name)?).ok_or_else(|| self.wrong(name))
    }

    fn number<T: TryFrom<i64>>(&self, name: &str) -> Result<T> {
        self.needed(name, self.maybe_number(name)?)
    }

    fn maybe_number<T: TryFrom<i64>>(&self, name: &str) -> Result<Option<T>> {
        self.maybe(name, |value| T::try_from(value.as_i64()?).ok())
    }

    fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.maybe(name, Value::as_bool)
    }

    fn ordering(&self) -> Result<Option<Vec<Label>>> {
        let label = |value: &Value| Label::new(value.as_s()?).ok();
        self.maybe(ORDERING, |value| match value {
            Value::L(labels) => labels.iter().map(label).collect(),
            _ => None,
        })
    }

    fn quotas(&self) -> Result<Option<BTreeMap<Label, MicroUsd>>> {
        let quota = |(name, value): (&Name, &Value)| {
            let micros = u64::try_from(value.as_i64()?).ok()?;
            Some((Label::new(name).ok()?, MicroUsd(micros)))
        };
        self.maybe(QUOTAS, |value| match value {
            Value::M(quotas) => quotas.iter().map(quota).collect(),
            _ => None,
        })
    }

    fn pending(&self) -> Result<Option<PendingChange>> {
        let Some(at) = self.maybe_number::<i64>(PENDING_AT)? else { return Ok(None) };
        Ok(Some(PendingChange {
            timezone: self.zone(PENDING_TIMEZONE)?,
            quota_scope: self.word(PENDING_SCOPE, QuotaScope::parse)?,
            at_ms: at.saturating_mul(1000),
        }))
    }

    fn past(&self) -> Result<Vec<PastSettings>> {
        let before = |value: &Value| {
            let Value::M(fields) = value else { return None };
            Some(PastSettings {
                timezone: Zone::new(fields.get(TIMEZONE)?.as_s()?)?,
                quota_scope: QuotaScope::parse(fields.get(QUOTA_SCOPE)?.as_s()?)?,
                until_ms: fields.get(PAST_UNTIL)?.as_i64()?.saturating_mul(1000),
            })
        };
        let all = self.maybe(PAST, |value| match value {
            Value::L(all) => all.iter().map(before).collect(),
            _ => None,
        })?;
        Ok(all.unwrap_or_default())
    }

    fn history(&self) -> Result<(u64, i64, i64)> {
        Ok((self.number(VERSION)?, self.number(CREATED)?, self.number(UPDATED)?))
    }
}
