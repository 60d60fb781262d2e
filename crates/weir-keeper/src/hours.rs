//! Spend of a day by the hour.
//!
//! A submission adds its cost to the hour of its timestamp, counted from the start of the org's day, in the same update of the
//! same shard as its other counters ([`crate::counters`]). Hours are read from the shards: only a chart and a simulation
//! need them, and totals stay small.

use std::collections::BTreeMap;

use weir_calendar::Zone;
use weir_table::{Backend, Get, Item};

use crate::config::EffectiveConfig;
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{AppId, Label, OrgId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::money::MicroUsd;
use crate::totals::TotalsSource;

/// An hour.
pub(crate) const HOUR_MS: i64 = 3_600_000;
/// Most hours of a day: one more where clocks are set back.
pub(crate) const HOURS_MAX: u8 = 26;

/// Spend of a day of an org or an app, by the hour.
#[derive(Debug, Clone)]
pub struct DayHours {
    /// The org.
    pub org_id: OrgId,
    /// The app; `None` for the org as a whole.
    pub app_id: Option<AppId>,
    /// The org's day.
    pub date: OrgDay,
    /// Time zone at the end of the day.
    pub timezone: Zone,
    /// Whether the hours have all spend of the day; false for a day from before hours were recorded.
    pub is_recorded: bool,
    /// Usage of each model on the whole day.
    pub models: BTreeMap<Label, Counters>,
    /// The hours that have begun.
    pub hours: Vec<HourSpend>,
}

/// Spend of an hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HourSpend {
    /// Start of the hour, in milliseconds since 1970.
    pub start_ms: i64,
    /// Spend on each model, in micro-USD.
    pub models: BTreeMap<Label, MicroUsd>,
}

/// Usage of a day of one scope.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScopeHours {
    pub(crate) models: BTreeMap<Label, Counters>,
    /// Spend by hour and model.
    pub(crate) hours: BTreeMap<u8, BTreeMap<Label, MicroUsd>>,
}

/// The hour of an instant of a day that starts at `start_ms`.
pub(crate) fn hour_of(at_ms: i64, start_ms: i64) -> u8 {
    let hour = at_ms.saturating_sub(start_ms).div_euclid(HOUR_MS);
    u8::try_from(hour.max(0)).unwrap_or(HOURS_MAX).min(HOURS_MAX - 1)
}

/// The attribute of an hour's spend in a shard.
pub(crate) fn hour_attribute(hour: u8) -> String {
    format!("h{hour:02}")
}

impl ScopeHours {
    fn add(&mut self, label: &Label, shard: &Item) -> Result<()> {
        let sum = self.models.entry(label.clone()).or_default();
        *sum = sum.plus(Counters::decode(shard)?);
        for hour in 0..HOURS_MAX {
            let spend = shard.i64(&hour_attribute(hour)).and_then(|cost| u64::try_from(cost).ok());
            if let Some(spend) = spend {
                let of_hour = self.hours.entry(hour).or_default().entry(label.clone()).or_default();
                *of_hour = of_hour.saturating_add(MicroUsd(spend));
            }
        }
        Ok(())
    }

    /// Whether the hours have all spend.
    pub(crate) fn is_recorded(&self) -> bool {
        let of_hours = self.hours.values().flat_map(BTreeMap::values);
        let in_hours = of_hours.fold(MicroUsd::ZERO, |sum, spend| sum.saturating_add(*spend));
        in_hours == Counters::sum(self.models.values().copied()).cost
    }
}

impl<B: Backend> Keeper<B> {
    /// Spend of a day by the hour, as far as it was submitted.
    ///
    /// # Errors
    /// The org or app does not exist, the day is in the future, a counter cannot be read, or the store fails.
    pub async fn day_hours(&self, scope: &Scope, day: OrgDay) -> Result<DayHours> {
        let now_ms = self.now_ms();
        let (config, sources) = self.day_sources(scope, day, now_ms).await?;
        let mut usage = ScopeHours::default();
        for source in &sources {
            self.add_hours(source, day, &mut usage).await?;
        }
        let start_ms = config.timezone.first_instant(day);
        let end_ms = day.next().map_or(now_ms, |next| config.timezone.first_instant(next));
        let starts = (0..HOURS_MAX).map(|hour| (hour, start_ms + i64::from(hour) * HOUR_MS));
        let begun = starts.take_while(|(_, start_ms)| *start_ms < end_ms && *start_ms <= now_ms);
        let hour = |(hour, start_ms)| HourSpend {
            start_ms,
            models: usage.hours.get(&hour).cloned().unwrap_or_default(),
        };
        Ok(DayHours {
            org_id: config.org_id.clone(),
            app_id: config.app_id.clone(),
            date: day,
            is_recorded: usage.is_recorded(),
            hours: begun.map(hour).collect(),
            timezone: config.timezone,
            models: usage.models,
        })
    }

    /// The configuration at the end of a day, and the scopes whose counters have its submissions.
    pub(crate) async fn day_sources(
        &self,
        scope: &Scope,
        day: OrgDay,
        now_ms: i64,
    ) -> Result<(EffectiveConfig, Vec<TotalsSource>)> {
        let source = self.totals_source(scope, day, now_ms).await?;
        let org = source.history.org();
        let Some(at_ms) = org.last_instant(day, now_ms) else {
            let today = source.present.timezone.day_of(now_ms);
            let problem =
                format!("{day} is in the future or was no day of the org; today is {today}");
            return Err(Error::invalid("date", problem));
        };
        let config = source.history.at(at_ms).effective;
        let sources = match scope {
            Scope::Org(id) if org.is_sum_of_apps(day) => self.app_sources(id, org, now_ms).await?,
            _ => vec![source],
        };
        Ok((config, sources))
    }

    /// Adds the usage of a scope on a day, from its shards.
    pub(crate) async fn add_hours(
        &self,
        source: &TotalsSource,
        day: OrgDay,
        usage: &mut ScopeHours,
    ) -> Result<()> {
        let table = &self.tables().usage_agg_sharded;
        let (scope, shards) = (&source.scope, source.present.agg_shard_count);
        let keys = source.labels.iter().flat_map(|label| {
            (0..shards).map(move |shard| (label, keys::usage(scope, label, shard, day)))
        });
        let keys: Vec<_> = keys.collect();
        let gets = keys.iter().map(|(_, key)| Get::new(table.clone(), key.clone()).eventual());
        let items = self.batch_get(gets).await?;
        for ((label, _), item) in keys.iter().zip(&items) {
            if let Some(item) = item {
                usage.add(label, item)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_counted_from_the_start_of_the_day() {
        for (at_ms, hour) in [
            (0, 0),
            (HOUR_MS - 1, 0),
            (HOUR_MS, 1),
            (25 * HOUR_MS - 1, 24),
            (-1, 0),
            (i64::MAX, 25),
        ] {
            assert_eq!(hour_of(at_ms, 0), hour, "{at_ms}");
        }
        assert_eq!((hour_attribute(7), hour_attribute(24)), ("h07".to_owned(), "h24".to_owned()));
    }
}
