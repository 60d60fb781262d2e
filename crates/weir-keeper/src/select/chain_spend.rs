//! Reads what a decision depends on: the day's spend on each model of a chain, and the day's fallback.

use weir_table::{Backend, Consistency, Get, Item, Key, Name};

use crate::config::EffectiveConfig;
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::decide::{ChainEntry, DecisionInput, StickyState};
use crate::error::Result;
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::money::MicroUsd;
use crate::sticky;

/// Where to read spend from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpendRead {
    /// Daily totals, eventually consistent: they lag behind the shards anyway.
    EventualTotals,
    /// Daily totals, strongly consistent.
    StrongTotals,
    /// The sharded counters, strongly consistent.
    Shards,
}

/// The state of a chain on a day.
#[derive(Debug)]
pub(crate) struct ChainSpend {
    /// The chain with its spend.
    pub(crate) entries: Vec<ChainEntry>,
    /// Whether the spend of every model is known.
    pub(crate) is_summed: bool,
    /// The day's fallback or override.
    pub(crate) sticky: Option<StickyState>,
}

impl ChainSpend {
    /// The input of the decision on this state.
    pub(crate) fn decision_input(
        &self,
        effective: &EffectiveConfig,
        now_ms: i64,
    ) -> DecisionInput<'_> {
        let input = effective.decision_input(&self.entries, self.sticky.as_ref(), now_ms);
        DecisionInput { is_summed: self.is_summed, ..input }
    }
}

impl<B: Backend> Keeper<B> {
    /// The chain with the spend of a day, and the fallback of that day. Reading totals takes one batch.
    pub(crate) async fn chain_spend(
        &self,
        effective: &EffectiveConfig,
        scope: &Scope,
        day: OrgDay,
        read: SpendRead,
        now_ms: i64,
    ) -> Result<ChainSpend> {
        let consistency = match read {
            SpendRead::EventualTotals => Consistency::Eventual,
            SpendRead::StrongTotals | SpendRead::Shards => Consistency::Strong,
        };
        let get = |table: &Name, key: Key| Get { consistency, ..Get::new(table.clone(), key) };
        let tables = self.tables();
        let mut gets = vec![get(&tables.sticky_state, keys::sticky(scope, day))];
        let items_per_model = match read {
            SpendRead::Shards => effective.agg_shard_count,
            SpendRead::EventualTotals | SpendRead::StrongTotals => 1,
        };
        for label in &effective.model_ordering {
            match read {
                SpendRead::Shards => gets.extend((0..items_per_model).map(|shard| {
                    get(&tables.usage_agg_sharded, keys::usage(scope, label, shard, day))
                })),
                _ => gets.push(get(&tables.daily_total, keys::total(scope, label, day))),
            }
        }
        let mut items = self.batch_get(gets).await?.into_iter();
        let sticky = sticky::decode_unexpired(items.next().flatten().as_ref(), now_ms)?;
        let mut is_summed = true;
        let entry = |label: &Label| {
            let of_model = items.by_ref().take(usize::from(items_per_model)).flatten();
            let sum = Counters::sum_items(&of_model.collect::<Vec<Item>>());
            is_summed &= sum.is_ok();
            let spend = sum.map_or(MicroUsd::SATURATED, |sum| sum.cost);
            ChainEntry { label: label.clone(), spend, quota: effective.quota(label) }
        };
        let entries = effective.model_ordering.iter().map(entry).collect();
        Ok(ChainSpend { entries, is_summed, sticky })
    }
}
