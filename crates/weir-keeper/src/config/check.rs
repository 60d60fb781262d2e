//! Validates configuration requests. Every error names its field.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::record::OrgRecord;
use super::request::{Overrides, PutApp, PutOrg};
use super::{
    AppConfig, OrgConfig, QuotaScope, REFRESH_DEFAULT, SHARD_COUNT_DEFAULT, THRESHOLD_PCT_DEFAULT,
    Unpriced,
};
use crate::bounds::{
    CHAIN_MAX, LABELS_MAX, NAME_MAX, REFRESH_SECS, SHARD_COUNTS, THRESHOLD_PCT, USD_MICROS_MAX,
};
use crate::catalog::ModelCatalog;
use crate::day::parse_zone;
use crate::error::{Error, Result};
use crate::ids::{Label, shown};
use crate::money::MicroUsd;

impl PutOrg {
    /// Validates the request; `old` is the current configuration, if any.
    ///
    /// # Errors
    /// Names the invalid field.
    pub fn check(&self, labels: &ModelCatalog, old: Option<&OrgConfig>) -> Result<OrgConfig> {
        let timezone = parse_zone(&self.timezone).map_err(|error| error.into_config("timezone"))?;
        let model_ordering = ordering(&self.model_ordering, labels, &[])?;
        let quotas = quotas(&self.quotas, labels, &[])?;
        covered(&model_ordering, &quotas)?;
        let kept = old.map(Overrides::from);
        let overrides = self.overrides.clone().or(kept).unwrap_or_default();
        let (normal, tight) = overrides.refresh()?;
        Ok(OrgConfig {
            org_name: name("org_name", &self.org_name)?,
            timezone,
            quota_scope: word("quota_scope", &self.quota_scope, QuotaScope::parse, "ORG or APP")?,
            model_ordering,
            quotas,
            tight_mode_threshold_pct: overrides.threshold()?.unwrap_or(THRESHOLD_PCT_DEFAULT),
            agg_shard_count: overrides.shards(old.map(|old| old.agg_shard_count))?,
            sticky_fallback_enabled: overrides.sticky_fallback_enabled.unwrap_or(true),
            refresh_interval_normal_secs: normal.unwrap_or(REFRESH_DEFAULT.normal_secs),
            refresh_interval_tight_secs: tight.unwrap_or(REFRESH_DEFAULT.tight_secs),
            unpriced: match &self.unpriced {
                Some(text) => word("unpriced", text, Unpriced::parse, "refuse or zero")?,
                None => old.map_or(Unpriced::Refuse, |old| old.unpriced),
            },
        })
    }
}

impl PutApp {
    /// Validates the request of an app with these inference profiles; `old` is its current configuration, if any.
    ///
    /// # Errors
    /// Names the invalid field.
    pub fn check(
        &self,
        labels: &ModelCatalog,
        profiles: &[Label],
        org: &OrgRecord,
        old: Option<&AppConfig>,
    ) -> Result<AppConfig> {
        let kept = old.map(Overrides::from);
        let overrides = self.overrides.clone().or(kept).unwrap_or_default();
        self.check_scope(&overrides, org)?;
        let own_ordering = self.model_ordering.as_deref();
        let model_ordering =
            own_ordering.map(|texts| ordering(texts, labels, profiles)).transpose()?;
        let own_quotas = self.quotas.as_ref();
        let quotas = own_quotas.map(|quotas| self::quotas(quotas, labels, profiles)).transpose()?;
        if model_ordering.is_some() || quotas.is_some() {
            covered(
                model_ordering.as_ref().unwrap_or(&org.config.model_ordering),
                quotas.as_ref().unwrap_or(&org.config.quotas),
            )?;
        }
        let (normal, tight) = overrides.refresh()?;
        Ok(AppConfig {
            app_name: name("app_name", &self.app_name)?,
            model_ordering,
            quotas,
            tight_mode_threshold_pct: overrides.threshold()?,
            sticky_fallback_enabled: overrides.sticky_fallback_enabled,
            refresh_interval_normal_secs: normal,
            refresh_interval_tight_secs: tight,
        })
    }

    /// Rejects fields that only an org has, and where all apps share one chain, those of the chain.
    fn check_scope(&self, own: &Overrides, org: &OrgRecord) -> Result<()> {
        if own.agg_shard_count.is_some() {
            return Err(Error::config("overrides.agg_shard_count", "can only be set for the org"));
        }
        let shared = [
            ("model_ordering", self.model_ordering.is_some()),
            ("quotas", self.quotas.is_some()),
            ("overrides.sticky_fallback_enabled", own.sticky_fallback_enabled.is_some()),
        ];
        match shared.into_iter().find(|(_, is_set)| *is_set) {
            Some((field, _)) if org.upcoming_scope() == QuotaScope::Org => {
                let problem =
                    "cannot be set for an app: quota_scope is ORG, so all apps share one chain";
                Err(Error::config(field, problem))
            }
            _ => Ok(()),
        }
    }
}

/// What a request repeats that keeps an org's settings.
impl From<&OrgConfig> for Overrides {
    fn from(old: &OrgConfig) -> Overrides {
        Overrides {
            tight_mode_threshold_pct: Some(old.tight_mode_threshold_pct.into()),
            agg_shard_count: Some(old.agg_shard_count.into()),
            sticky_fallback_enabled: Some(old.sticky_fallback_enabled),
            refresh_interval_normal_secs: Some(old.refresh_interval_normal_secs.into()),
            refresh_interval_tight_secs: Some(old.refresh_interval_tight_secs.into()),
            refresh_interval_secs: None,
        }
    }
}

/// What a request repeats that keeps an app's settings.
impl From<&AppConfig> for Overrides {
    fn from(old: &AppConfig) -> Overrides {
        Overrides {
            tight_mode_threshold_pct: old.tight_mode_threshold_pct.map(Into::into),
            agg_shard_count: None,
            sticky_fallback_enabled: old.sticky_fallback_enabled,
            refresh_interval_normal_secs: old.refresh_interval_normal_secs.map(Into::into),
            refresh_interval_tight_secs: old.refresh_interval_tight_secs.map(Into::into),
            refresh_interval_secs: None,
        }
    }
}

impl Overrides {
    fn threshold(&self) -> Result<Option<u8>> {
        within("overrides.tight_mode_threshold_pct", self.tight_mode_threshold_pct, THRESHOLD_PCT)
    }

    fn refresh(&self) -> Result<(Option<u32>, Option<u32>)> {
        let (normal, other) = (self.refresh_interval_normal_secs, self.refresh_interval_secs);
        if normal.is_some() && other.is_some() && normal != other {
            let problem = "is an alias of refresh_interval_normal_secs, which has another value";
            return Err(Error::config("overrides.refresh_interval_secs", problem));
        }
        let normal =
            within("overrides.refresh_interval_normal_secs", normal.or(other), REFRESH_SECS)?;
        let tight = self.refresh_interval_tight_secs;
        Ok((normal, within("overrides.refresh_interval_tight_secs", tight, REFRESH_SECS)?))
    }

    fn shards(&self, old: Option<u8>) -> Result<u8> {
        let field = "overrides.agg_shard_count";
        let Some(requested) = self.agg_shard_count else {
            return Ok(old.unwrap_or(SHARD_COUNT_DEFAULT));
        };
        let count = SHARD_COUNTS.into_iter().find(|count| i64::from(*count) == requested);
        let count = count.ok_or_else(|| {
            Error::config(field, format!("is {requested}, must be 8, 16, 32 or 64"))
        })?;
        match old {
            Some(old) if old != count => {
                Err(Error::config(field, format!("is {old} and cannot be changed to {count}")))
            }
            _ => Ok(count),
        }
    }
}

fn name(field: &str, text: &str) -> Result<String> {
    let length = text.chars().take(NAME_MAX + 1).count();
    let is_blank = text.trim().is_empty();
    if is_blank || length > NAME_MAX || text.contains(char::is_control) {
        let problem =
            format!("{} must have 1 to {NAME_MAX} characters, not all blank", shown(text));
        return Err(Error::config(field, problem));
    }
    Ok(text.to_owned())
}

fn word<T>(field: &str, text: &str, parse: fn(&str) -> Option<T>, words: &str) -> Result<T> {
    parse(text).ok_or_else(|| Error::config(field, format!("is {}, must be {words}", shown(text))))
}

fn within<T>(field: &str, value: Option<i64>, range: RangeInclusive<T>) -> Result<Option<T>>
where
    T: TryFrom<i64> + PartialOrd + std::fmt::Display,
{
    let Some(value) = value else { return Ok(None) };
    let good = T::try_from(value).ok().filter(|value| range.contains(value));
    let wrong = || {
        let problem = format!("is {value}, must be from {} to {}", range.start(), range.end());
        Error::config(field, problem)
    };
    good.map(Some).ok_or_else(wrong)
}

fn ordering(texts: &[String], labels: &ModelCatalog, profiles: &[Label]) -> Result<Vec<Label>> {
    let field = "model_ordering";
    if !(1..=CHAIN_MAX).contains(&texts.len()) {
        let problem = format!("has {} labels, must have 1 to {CHAIN_MAX}", texts.len());
        return Err(Error::config(field, problem));
    }
    let mut chain: Vec<Label> = Vec::with_capacity(texts.len());
    for text in texts {
        let label = labels.find(field, text, profiles)?;
        if chain.contains(&label) {
            return Err(Error::config(field, format!("has {label} twice")));
        }
        chain.push(label);
    }
    Ok(chain)
}

fn quotas(
    requested: &BTreeMap<String, i64>,
    labels: &ModelCatalog,
    profiles: &[Label],
) -> Result<BTreeMap<Label, MicroUsd>> {
    if requested.len() > LABELS_MAX {
        return Err(Error::config("quotas", format!("has more than {LABELS_MAX} entries")));
    }
    let quota = |(text, micros): (&String, &i64)| {
        let label = labels.find("quotas", text, profiles)?;
        let quota = u64::try_from(*micros).ok().filter(|quota| *quota <= USD_MICROS_MAX);
        let quota = quota.ok_or_else(|| {
            let problem = format!("is {micros}, must be from 0 to {USD_MICROS_MAX} micro-USD");
            Error::config(format!("quotas.{label}"), problem)
        })?;
        Ok((label, MicroUsd(quota)))
    };
    requested.iter().map(quota).collect()
}

fn covered(chain: &[Label], quotas: &BTreeMap<Label, MicroUsd>) -> Result<()> {
    match chain.iter().find(|label| !quotas.contains_key(*label)) {
        Some(label) => Err(Error::config(
            format!("quotas.{label}"),
            "is missing; every label of the chain needs a quota",
        )),
        None => Ok(()),
    }
}
