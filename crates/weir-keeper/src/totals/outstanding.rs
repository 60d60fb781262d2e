//! Which submissions the totals lack: the shards have all, and a total has them after the next aggregation.

use weir_table::{Backend, Get, Item};

use super::source::TotalsSource;
use super::usage::{DayRange, Days, days};
use crate::counters::{Counters, UPDATED};
use crate::day::OrgDay;
use crate::error::Result;
use crate::keeper::Keeper;
use crate::keys;

impl<B: Backend> Keeper<B> {
    /// Adds to each day that still accepts submissions since when its totals lack some. Only models of the present chain
    /// accept submissions.
    pub(super) async fn add_outstanding(
        &self,
        source: &TotalsSource,
        range: DayRange,
        now_ms: i64,
        found: &mut Days,
    ) -> Result<()> {
        let (first, last) =
            (source.present.first_open_day(now_ms), source.present.latest_day(now_ms));
        for day in days((range.0.max(first), range.1.min(last))) {
            if let Some(since) = self.outstanding_since(source, day).await? {
                let usage = found.entry(day).or_default();
                let earliest =
                    usage.outstanding_since_epoch.map_or(since, |other| other.min(since));
                usage.outstanding_since_epoch = Some(earliest);
            }
        }
        Ok(())
    }

    async fn outstanding_since(&self, source: &TotalsSource, day: OrgDay) -> Result<Option<i64>> {
        let TotalsSource { scope, present, .. } = source;
        let (totals, usage) = (&self.tables().daily_total, &self.tables().usage_agg_sharded);
        let mut gets = Vec::new();
        for label in &present.model_ordering {
            gets.push(Get::new(totals.clone(), keys::total(scope, label, day)).eventual());
            gets.extend((0..present.agg_shard_count).map(|shard| {
                Get::new(usage.clone(), keys::usage(scope, label, shard, day)).eventual()
            }));
        }
        let mut items = self.batch_get(gets).await?.into_iter();
        let mut earliest: Option<i64> = None;
        for _ in &present.model_ordering {
            let total = items.next().flatten();
            let shards = items.by_ref().take(usize::from(present.agg_shard_count)).flatten();
            if let Some(since) = missing_since(total.as_ref(), &shards.collect::<Vec<_>>()) {
                earliest = Some(earliest.map_or(since, |other| other.min(since)));
            }
        }
        Ok(earliest)
    }
}

/// Since when a total lacks submissions of its shards; `None` when it has all. A shard says when it was last incremented, so
/// this is the earliest of the shards that changed since the total was written. Pure.
fn missing_since(total: Option<&Item>, shards: &[Item]) -> Option<i64> {
    let sum = |items: &[Item]| {
        let numbers = items.iter().map(|item| Counters::decode_numbers(item).unwrap_or_default());
        Counters::sum(numbers)
    };
    let (counted, summed) = (sum(shards), total.map(|total| sum(std::slice::from_ref(total))));
    let summed = summed.unwrap_or_default();
    if counted.requests <= summed.requests {
        return None;
    }
    let written = total.and_then(|total| total.i64(UPDATED));
    let changed = shards.iter().filter_map(|shard| shard.i64(UPDATED));
    changed.filter(|at| written.is_none_or(|written| *at > written)).min().or(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(requests: u64, updated: i64) -> Item {
        Item::new().with("requests", requests).with(UPDATED, updated)
    }

    #[test]
    fn a_total_lacks_what_its_shards_have_more() {
        assert_eq!(missing_since(None, &[]), None);
        assert_eq!(missing_since(None, &[item(1, 50), item(2, 40)]), Some(40));
        let total = item(3, 60);
        assert_eq!(missing_since(Some(&total), &[item(1, 50), item(2, 40)]), None, "all are there");
        // The first shard has not changed since.
        assert_eq!(missing_since(Some(&total), &[item(1, 50), item(3, 75)]), Some(75));
        assert_eq!(missing_since(Some(&total), &[item(2, 90), item(3, 75)]), Some(75));
        // Within the second in which the total was written, or after a clock went back.
        assert_eq!(missing_since(Some(&total), &[item(2, 50), item(2, 40)]), Some(60));
        // Shards expire before their total does.
        assert_eq!(missing_since(Some(&total), &[item(2, 75)]), None);
    }
}
