//! The present day of many orgs at once, for lists and sums over orgs.
//!
//! The figures are those of [`crate::totals`] and [`crate::select`], read for all orgs together: the keys are known
//! beforehand, so they are fetched in batches, several at a time. Only orgs whose quotas are per app cost a query each, for
//! their apps.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Get, Item, Key, Query};

use crate::bounds::{APP_PAGES_MAX, BATCHES_AT_ONCE, PAGE_MAX};
use crate::config::{AppRecord, EffectiveConfig, OrgRecord, QuotaScope};
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::decide::{ChainEntry, Status, StickyState, decide, status};
use crate::error::{Error, Result};
use crate::ids::{Label, OrgId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::money::{MicroUsd, Percent};
use crate::orgs::decode_app;
use crate::sticky;

/// An org on its present day.
#[derive(Debug, Clone)]
pub struct OrgToday {
    /// The configuration in force.
    pub config: EffectiveConfig,
    /// The org's day.
    pub day: OrgDay,
    /// Usage of every model of the chain, and of every other that was used, in this order.
    pub models: Vec<ModelToday>,
    /// Sum over all models.
    pub totals: Counters,
    /// Sum of the quotas of the chain, in micro-USD.
    pub quota: MicroUsd,
    /// Spend as a percentage of that sum.
    pub used: Percent,
    /// The model in use; `None` when all quotas are spent.
    pub current: Option<Label>,
    /// Exceeded when all quotas are spent, tight when the spend reached the threshold of their sum.
    pub status: Status,
    /// Whether the chain has fallen back to a later model.
    pub sticky_fallback_active: bool,
    /// When the model in use reaches its quota at the rate of the day so far, in milliseconds since 1970.
    pub exhausted_at_ms: Option<i64>,
    /// Spend of each requested day.
    pub days: Vec<MicroUsd>,
}

/// Usage of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelToday {
    /// The model label.
    pub label: Label,
    /// Usage and spend.
    pub counters: Counters,
    /// Daily quota, in micro-USD.
    pub quota: MicroUsd,
}

/// An org to read, with what has to be known beforehand.
struct Wanted {
    record: OrgRecord,
    config: EffectiveConfig,
    apps: Vec<AppRecord>,
    day: OrgDay,
    days: Vec<OrgDay>,
    labels: Vec<Label>,
}

/// Usage by scope, day and label.
type Usage = BTreeMap<Key, Item>;

impl<B: Backend> Keeper<B> {
    /// The records of these orgs, without those that do not exist or are deleted.
    ///
    /// # Errors
    /// The store fails.
    pub async fn org_records(&self, orgs: &[OrgId]) -> Result<Vec<OrgRecord>> {
        let table = &self.tables().config;
        let gets = orgs.iter().map(|org| Get::new(table.clone(), keys::org(org)));
        let items = self.batch_get(gets).await?;
        let found = orgs.iter().zip(items).filter_map(|(org, item)| Some((org, item?)));
        let records = found.map(|(org, item)| OrgRecord::decode(org.clone(), &item));
        let is_there = |record: &Result<OrgRecord>| {
            record.as_ref().map_or(true, |record| record.deleted_at_epoch.is_none())
        };
        records.filter(is_there).collect()
    }

    /// These orgs on their present days, with their spend so many days ago each; 0 is today.
    ///
    /// # Errors
    /// An org has too many apps, or the store fails.
    pub async fn orgs_today(
        &self,
        records: Vec<OrgRecord>,
        days_ago: &[usize],
    ) -> Result<Vec<OrgToday>> {
        let now_ms = self.now_ms();
        let mut wanted = Vec::with_capacity(records.len());
        for group in records.chunks(BATCHES_AT_ONCE) {
            let group = group.iter().map(|record| self.wanted(record, days_ago, now_ms));
            wanted.extend(try_join_all(group).await?);
        }
        let keys: Vec<Get> = wanted.iter().flat_map(|org| self.gets(org)).collect();
        let mut usage = Usage::new();
        for group in keys.chunks(BATCH_GET_MAX * BATCHES_AT_ONCE) {
            let batches: Vec<&[Get]> = group.chunks(BATCH_GET_MAX).collect();
            let items =
                try_join_all(batches.iter().map(|gets| self.store().batch_get(gets))).await?;
            let found = group.iter().zip(items.into_iter().flatten());
            usage.extend(found.filter_map(|(get, item)| Some((get.key.clone(), item?))));
        }
        wanted.into_iter().map(|org| org.judge(&usage, now_ms)).collect()
    }

    async fn wanted(&self, record: &OrgRecord, days_ago: &[usize], now_ms: i64) -> Result<Wanted> {
        let config = EffectiveConfig::for_org(record, now_ms);
        let day = config.timezone.day_of(now_ms);
        let ago = |ago: &usize| std::iter::successors(Some(day), |day| day.previous()).nth(*ago);
        let days: Vec<OrgDay> = days_ago.iter().filter_map(ago).collect();
        let mut apps = Vec::new();
        if days.iter().chain([&day]).any(|day| record.is_sum_of_apps(*day)) {
            apps = self.app_records(&record.org).await?;
        }
        // Those of the catalog too: a label may have left the chain since it was used.
        let catalog = self.catalog().iter().map(|(label, _)| label);
        let of_apps = apps.iter().flat_map(|app| app.config.model_ordering.iter().flatten());
        let mut labels: Vec<Label> =
            config.model_ordering.iter().chain(catalog).chain(of_apps).cloned().collect();
        labels.sort_unstable();
        labels.dedup();
        Ok(Wanted { record: record.clone(), config, apps, day, days, labels })
    }

    /// All apps of an org, deleted ones too: what they spent is part of its totals.
    pub(crate) async fn app_records(&self, org: &OrgId) -> Result<Vec<AppRecord>> {
        let query = Query::partition(self.tables().config.clone(), keys::org_partition(org))
            .begins_with(keys::APP_PREFIX);
        let (mut apps, mut cursor) = (Vec::new(), None);
        for _ in 0..APP_PAGES_MAX {
            let page = self.store().page(query.clone(), PAGE_MAX, cursor).await?;
            for item in &page.items {
                apps.push(decode_app(org, item)?);
            }
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(apps);
            }
        }
        Err(Error::Overflow("the number of apps"))
    }

    /// The totals of an org, and its fallback.
    fn gets(&self, org: &Wanted) -> Vec<Get> {
        let tables = self.tables();
        let mut gets = Vec::new();
        let mut days: Vec<OrgDay> = org.days.iter().copied().chain([org.day]).collect();
        days.sort_unstable();
        days.dedup();
        for day in days {
            for scope in org.sources(day) {
                let key = |label| keys::total(&scope, label, day);
                let totals = org.labels.iter().map(key);
                gets.extend(totals.map(|key| Get::new(tables.daily_total.clone(), key).eventual()));
            }
        }
        let sticky = keys::sticky(&Scope::Org(org.record.org.clone()), org.day);
        gets.push(Get::new(tables.sticky_state.clone(), sticky).eventual());
        gets
    }
}

impl Wanted {
    /// The scopes whose totals make up those of a day.
    fn sources(&self, day: OrgDay) -> Vec<Scope> {
        let org = &self.record.org;
        match self.record.is_sum_of_apps(day) {
            true => self.apps.iter().map(|app| Scope::App(org.clone(), app.app.clone())).collect(),
            false => vec![Scope::Org(org.clone())],
        }
    }

    /// Usage of a model on a day. A total that cannot be read counts as all spent, as it does in a decision.
    fn counters(&self, usage: &Usage, label: &Label, day: OrgDay) -> Counters {
        let sources = self.sources(day);
        let items = sources.iter().filter_map(|scope| usage.get(&keys::total(scope, label, day)));
        Counters::sum(items.map(|item| {
            let numbers = Counters::decode_numbers(item).unwrap_or_default();
            Counters { cost: Counters::spend_of_total(Some(item)), ..numbers }
        }))
    }

    /// The quota of a model: the org's, or the sum of its apps'.
    fn quota(&self, label: &Label, now_ms: i64) -> MicroUsd {
        if self.config.quota_scope == QuotaScope::Org {
            return self.config.quota(label);
        }
        let apps = self.apps.iter().filter(|app| app.deleted_at_epoch.is_none());
        let quota = |app| EffectiveConfig::for_app(&self.record, app, now_ms).quota(label).0;
        MicroUsd(apps.map(quota).fold(0, u64::saturating_add))
    }

    fn sticky(&self, usage: &Usage, now_ms: i64) -> Result<Option<StickyState>> {
        let is_shared = self.config.quota_scope == QuotaScope::Org;
        let key = keys::sticky(&Scope::Org(self.record.org.clone()), self.day);
        sticky::decode_unexpired(usage.get(&key).filter(|_| is_shared), now_ms)
    }

    fn judge(self, usage: &Usage, now_ms: i64) -> Result<OrgToday> {
        let models = self.models(usage, now_ms);
        let sticky = self.sticky(usage, now_ms)?;
        let in_chain = |model: &&ModelToday| self.config.model_ordering.contains(&model.label);
        let entry = |model: &ModelToday| ChainEntry {
            label: model.label.clone(),
            spend: model.counters.cost,
            quota: model.quota,
        };
        let chain: Vec<ChainEntry> = models.iter().filter(in_chain).map(entry).collect();
        let decision = decide(&self.config.decision_input(&chain, sticky.as_ref(), now_ms));
        let totals = Counters::sum(models.iter().map(|model| model.counters));
        let quota = MicroUsd(chain.iter().map(|entry| entry.quota.0).fold(0, u64::saturating_add));
        let of_sum = status(totals.cost, quota, self.config.tight_mode_threshold_pct);
        let current = decision.model();
        let spend_on = |day: &OrgDay| {
            let all = self.labels.iter().map(|label| self.counters(usage, label, *day));
            Counters::sum(all).cost
        };
        Ok(OrgToday {
            day: self.day,
            quota,
            used: Percent::of(totals.cost, quota),
            status: match (current, of_sum) {
                (None, _) => Status::Exceeded,
                (Some(_), Status::Normal) => Status::Normal,
                (Some(_), _) => Status::Tight,
            },
            current: current.map(|model| model.label.clone()),
            exhausted_at_ms: current.and_then(|model| model.exhausted_at_ms),
            sticky_fallback_active: decision.sticky_fallback_active,
            days: self.days.iter().map(spend_on).collect(),
            models,
            totals,
            config: self.config,
        })
    }

    /// Today's usage: the models of the chain in its order, then the others that were used.
    fn models(&self, usage: &Usage, now_ms: i64) -> Vec<ModelToday> {
        let chain = &self.config.model_ordering;
        let others = self.labels.iter().filter(|label| !chain.contains(label));
        let model = |label: &Label| ModelToday {
            counters: self.counters(usage, label, self.day),
            quota: self.quota(label, now_ms),
            label: label.clone(),
        };
        let is_used = |model: &ModelToday| model.counters != Counters::default();
        chain.iter().map(model).chain(others.map(model).filter(is_used)).collect()
    }
}
