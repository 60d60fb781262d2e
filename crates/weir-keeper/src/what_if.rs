//! What a recorded day would have cost under another configuration: the day's counters, turned back into submissions, replayed
//! by [`crate::simulate`].
//!
//! The counters have the number of submissions, the tokens and the hourly spend of each model, but no single submission. So the
//! submissions of a model get the average tokens of the day and are spread over the hours by what was spent in each; within an
//! hour they are spread evenly. Sums are exact.

use std::collections::BTreeMap;

use weir_calendar::DaySpan;
use weir_table::Backend;

use crate::bounds::RECORDED_ROWS_MAX;
use crate::config::{
    AppRecord, EffectiveConfig, OrgConfig, OrgRecord, Overrides, PutOrg, QuotaScope,
};
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::hours::{DayHours, HOUR_MS, ScopeHours};
use crate::ids::{AppId, Label, OrgId, Scope};
use crate::keeper::Keeper;
use crate::money::{MicroUsd, Price, TokenUse};
use crate::prices::PriceQuery;
use crate::simulate::{ReplayRow, Simulation, SimulationReport};

/// What to change; absent parts stay as they are configured now.
#[derive(Debug, Clone, Default)]
pub struct WhatIf {
    /// The chain of models, the preferred one first.
    pub model_ordering: Option<Vec<String>>,
    /// Daily quotas, in micro-USD.
    pub quotas: BTreeMap<String, i64>,
    /// Whether a fallback is sticky.
    pub sticky_fallback_enabled: Option<bool>,
    /// Percentage of its quota from which a model is tight.
    pub tight_mode_threshold_pct: Option<i64>,
}

/// A recorded day beside the simulated one.
#[derive(Debug, Clone)]
pub struct WhatIfReport {
    /// The recorded day.
    pub recorded: DayHours,
    /// Number of submissions that one replayed submission stands for.
    pub requests_per_row: u64,
    /// What would have happened: one report where all apps share the quotas, else one for each app. The numbers of its
    /// submissions are already those of the day.
    pub simulated: Vec<SimulationReport>,
}

/// A day to simulate.
struct Day {
    config: EffectiveConfig,
    apps: BTreeMap<AppId, EffectiveConfig>,
    prices: BTreeMap<Label, Price>,
    rows: Vec<ReplayRow>,
    requests_per_row: u64,
    day: OrgDay,
    lag_ms: i64,
}

impl<B: Backend> Keeper<B> {
    /// Replays a recorded day of an org under a changed configuration. Nothing is written.
    ///
    /// # Errors
    /// The org does not exist, the change is invalid, a model has no price, the day has no usage, or the store fails.
    pub async fn what_if(&self, org: &OrgId, day: OrgDay, change: &WhatIf) -> Result<WhatIfReport> {
        let now_ms = self.now_ms();
        let scope = Scope::Org(org.clone());
        let recorded = self.day_hours(&scope, day).await?;
        if Counters::sum(recorded.models.values().copied()).requests == 0 {
            return Err(Error::not_found("usage on", day.to_string()));
        }
        let ((mut record, _), _) = self.read_records(org, None).await?;
        record.config = change.apply(&record.config_at(now_ms), self.catalog())?;
        record.pending = None;
        // The day began and ended where it did, whatever the zone is now.
        record.config.timezone = recorded.timezone.clone();
        let day = self.recorded_day(record, &recorded, now_ms).await?;
        let requests_per_row = day.requests_per_row;
        let run = tokio::task::spawn_blocking(move || day.run()).await;
        let run = run.map_err(|error| Error::damaged("a simulation", error.to_string()))?;
        Ok(WhatIfReport { recorded, requests_per_row, simulated: run? })
    }

    async fn recorded_day(
        &self,
        record: OrgRecord,
        recorded: &DayHours,
        now_ms: i64,
    ) -> Result<Day> {
        let (org, date) = (&recorded.org_id, recorded.date);
        let config = EffectiveConfig::for_org(&record, now_ms);
        let span = config.timezone.span_of(config.timezone.first_instant(date));
        let total = Counters::sum(recorded.models.values().copied()).requests;
        let requests_per_row = total.div_ceil(RECORDED_ROWS_MAX).max(1);
        let (mut rows, mut apps) = (Vec::new(), BTreeMap::new());
        let sources = match config.quota_scope {
            QuotaScope::Org => self.day_sources(&Scope::Org(org.clone()), date, now_ms).await?.1,
            QuotaScope::App => {
                let history = self.config_history(&Scope::Org(org.clone()), date).await?;
                self.app_sources(org, history.org(), now_ms).await?
            }
        };
        for source in &sources {
            let mut usage = ScopeHours::default();
            self.add_hours(source, date, &mut usage).await?;
            let app = source.scope.app().filter(|_| config.quota_scope == QuotaScope::App);
            rows.extend(usage.rows(app, span, requests_per_row));
        }
        if config.quota_scope == QuotaScope::App {
            let effective = |app: AppRecord| {
                let effective = EffectiveConfig::for_app(&record, &app, now_ms);
                (app.app, effective)
            };
            apps.extend(self.app_records(org).await?.into_iter().map(effective));
        }
        let prices = self.prices_of(&config, &apps, span.start_ms).await?;
        let lag_ms = i64::from(self.settings().aggregate_interval_secs).saturating_mul(1_000);
        Ok(Day { config, apps, prices, rows, requests_per_row, day: date, lag_ms })
    }

    /// The price of each model of the chains, as submissions of that time were metered.
    async fn prices_of(
        &self,
        config: &EffectiveConfig,
        apps: &BTreeMap<AppId, EffectiveConfig>,
        at_ms: i64,
    ) -> Result<BTreeMap<Label, Price>> {
        let (mut prices, mut added) = (BTreeMap::new(), BTreeMap::new());
        for label in &config.model_ordering {
            let Some(model) = self.catalog().get(label) else { continue };
            let vendor = model.vendor.as_ref();
            let query = PriceQuery { vendor, ..PriceQuery::new(&model.model_id) };
            let price = self.price_by_label(&query, (label, None), at_ms).await?;
            prices.extend(price.map(|found| (label.clone(), found.price)));
        }
        // Their chains may have inference profiles, which only they have.
        for (app, config) in apps {
            for label in config.model_ordering.iter().filter(|label| !prices.contains_key(*label)) {
                let found = self.model_for_label((&config.org_id, app), label).await?;
                let Some(model) = found else { continue };
                let vendor = model.vendor.as_ref();
                let query = PriceQuery { vendor, ..PriceQuery::new(&model.model) };
                let of_label = (label, model.profile.as_deref());
                let price = self.price_by_label(&query, of_label, at_ms).await?;
                added.extend(price.map(|found| (label.clone(), found.price)));
            }
        }
        prices.extend(added);
        Ok(prices)
    }
}

impl Day {
    fn run(self) -> Result<Vec<SimulationReport>> {
        let simulation = Simulation {
            config: &self.config,
            apps: &self.apps,
            default_app: None,
            prices: &self.prices,
            day: self.day,
            lag_ms: self.lag_ms,
            cache_ms: None,
        };
        simulation.run(&self.rows)
    }
}

impl WhatIf {
    /// The changed configuration.
    fn apply(
        &self,
        present: &OrgConfig,
        labels: &crate::catalog::ModelCatalog,
    ) -> Result<OrgConfig> {
        let present_ordering = || present.model_ordering.iter().map(Label::to_string).collect();
        let model_ordering: Vec<String> =
            self.model_ordering.clone().unwrap_or_else(present_ordering);
        let kept = present
            .quotas
            .iter()
            .map(|(label, quota)| (label.to_string(), i64::try_from(quota.0).unwrap_or(i64::MAX)));
        let mut quotas: BTreeMap<String, i64> = kept.collect();
        quotas.extend(self.quotas.clone());
        if let Some(label) = self.quotas.keys().find(|label| !model_ordering.contains(label)) {
            let problem = format!("has {label:?}, which is not in model_ordering");
            return Err(Error::invalid("quotas", problem));
        }
        quotas.retain(|label, _| model_ordering.contains(label));
        let put = PutOrg {
            org_name: present.org_name.clone(),
            timezone: present.timezone.name().to_owned(),
            quota_scope: present.quota_scope.as_str().to_owned(),
            model_ordering,
            quotas,
            overrides: Some(Overrides {
                tight_mode_threshold_pct: self
                    .tight_mode_threshold_pct
                    .or(Some(present.tight_mode_threshold_pct.into())),
                sticky_fallback_enabled: self
                    .sticky_fallback_enabled
                    .or(Some(present.sticky_fallback_enabled)),
                refresh_interval_normal_secs: Some(present.refresh_interval_normal_secs.into()),
                refresh_interval_tight_secs: Some(present.refresh_interval_tight_secs.into()),
                ..Overrides::default()
            }),
            unpriced: Some(present.unpriced.as_str().to_owned()),
        };
        put.check(labels, Some(present))
    }
}

impl ScopeHours {
    /// Submissions with the sums of these counters, `per_row` of them in each row.
    fn rows(&self, app: Option<&AppId>, span: DaySpan, per_row: u64) -> Vec<ReplayRow> {
        let hours = u64::try_from((span.end_ms - span.start_ms).div_euclid(HOUR_MS)).unwrap_or(24);
        let mut rows = Vec::new();
        for (label, counters) in &self.models {
            let count = counters.requests.div_ceil(per_row);
            let spend = |hour: u64| {
                let models = u8::try_from(hour).ok().and_then(|hour| self.hours.get(&hour));
                models.and_then(|models| models.get(label)).copied().unwrap_or_default()
            };
            let mut weights: Vec<u64> = (0..hours.max(1)).map(|hour| spend(hour).0).collect();
            if weights.iter().all(|weight| *weight == 0) {
                // A free model, or a day from before hours were recorded.
                weights.fill(1);
            }
            let slots = spread(count, &weights);
            let mut index = 0;
            for (hour, in_hour) in (0_i64..).zip(slots) {
                let start_ms = span.start_ms.saturating_add(hour.saturating_mul(HOUR_MS));
                for number in 0..in_hour {
                    let offset = share(number, in_hour, HOUR_MS.unsigned_abs());
                    rows.push(ReplayRow {
                        at_ms: start_ms.saturating_add(i64::try_from(offset).unwrap_or_default()),
                        app: app.cloned(),
                        tokens: part(counters.tokens, index, count),
                    });
                    index += 1;
                }
            }
        }
        rows
    }
}

/// `count` split by weights, exactly.
fn spread(count: u64, weights: &[u64]) -> Vec<u64> {
    let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    // So that the product below has at most 128 bits.
    let excess_bits = (u128::BITS - all.leading_zeros()).saturating_sub(u64::BITS);
    let (mut sum, mut before) = (0_u128, 0);
    let mut slot = |weight: &u64| {
        sum += u128::from(*weight);
        let until = u128::from(count) * (sum >> excess_bits);
        let until = until.checked_div(all >> excess_bits).unwrap_or_default();
        let until = u64::try_from(until).unwrap_or(u64::MAX);
        let slot = until - before;
        before = until;
        slot
    };
    weights.iter().map(&mut slot).collect()
}

/// `whole * index / count`.
fn share(index: u64, count: u64, whole: u64) -> u64 {
    let part = u128::from(whole) * u128::from(index);
    part.checked_div(u128::from(count)).map_or(0, |part| u64::try_from(part).unwrap_or(u64::MAX))
}

/// One of `count` parts of these tokens; all parts together are the whole.
fn part(tokens: TokenUse, index: u64, count: u64) -> TokenUse {
    let part = |whole| share(index + 1, count, whole) - share(index, count, whole);
    TokenUse {
        input: part(tokens.input),
        output: part(tokens.output),
        cached_read: part(tokens.cached_read),
        cached_write: part(tokens.cached_write),
    }
}

/// Spend so far at the end of each hour, by model.
#[must_use]
pub fn cumulative(day: &DayHours) -> Vec<(i64, BTreeMap<Label, MicroUsd>)> {
    let mut sums: BTreeMap<Label, MicroUsd> = BTreeMap::new();
    let point = |hour: &crate::hours::HourSpend| {
        for (label, spend) in &hour.models {
            let sum = sums.entry(label.clone()).or_default();
            *sum = sum.saturating_add(*spend);
        }
        (hour.start_ms.saturating_add(HOUR_MS), sums.clone())
    };
    day.hours.iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submissions_made_of_counters_have_their_sums() {
        let label = Label::new("premium").unwrap();
        let tokens = TokenUse { input: 1_001, output: 77, cached_read: 3, cached_write: 0 };
        let counters = Counters { cost: MicroUsd(900), tokens, requests: 10 };
        let spend = |cost| BTreeMap::from([(label.clone(), MicroUsd(cost))]);
        let day = ScopeHours {
            models: BTreeMap::from([(label.clone(), counters)]),
            hours: BTreeMap::from([(3, spend(600)), (20, spend(300))]),
        };
        let zone = weir_calendar::Zone::utc();
        let span = zone.span_of(0);
        for (per_row, rows, early) in [(1, 10, 6), (3, 4, 2), (100, 1, 0)] {
            let made = day.rows(None, span, per_row);
            assert_eq!(made.len(), rows, "{per_row}");
            let sum = |field: fn(&TokenUse) -> u64| -> u64 {
                made.iter().map(|row| field(&row.tokens)).sum()
            };
            assert_eq!((sum(|of| of.input), sum(|of| of.output)), (1_001, 77), "{per_row}");
            assert_eq!(sum(|of| of.cached_read), 3, "{per_row}");
            let hours = made.iter().map(|row| row.at_ms / HOUR_MS);
            assert_eq!(hours.clone().filter(|hour| *hour == 3).count(), early, "{per_row}");
            assert!(hours.clone().all(|hour| hour == 3 || hour == 20), "{per_row}");
        }
    }

    #[test]
    fn a_day_without_hours_is_spread_evenly() {
        let label = Label::new("premium").unwrap();
        let counters = Counters { requests: 48, ..Counters::default() };
        let day =
            ScopeHours { models: BTreeMap::from([(label, counters)]), ..ScopeHours::default() };
        let rows = day.rows(None, weir_calendar::Zone::utc().span_of(0), 1);
        let in_first = rows.iter().filter(|row| row.at_ms < HOUR_MS).count();
        assert_eq!((rows.len(), in_first), (48, 2));
    }

    #[test]
    fn parts_of_a_number_are_the_number() {
        assert_eq!(spread(10, &[0, 2, 0, 1]), [0, 6, 0, 4]);
        assert_eq!(spread(0, &[1, 1]), [0, 0]);
        assert_eq!(spread(u64::MAX, &[u64::MAX, u64::MAX]).iter().sum::<u64>(), u64::MAX);
        assert_eq!(spread(5, &[]), Vec::<u64>::new());
    }
}
