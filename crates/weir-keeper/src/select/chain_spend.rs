//! Reads what a decision depends on: the day's spend on each model of a chain, and the day's fallback.

use weir_table::{Backend, Consistency, Get, Key, Name};

use crate::config::EffectiveConfig;
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::decide::{ChainEntry, StickyState};
use crate::error::Result;
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;
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

impl<B: Backend> Keeper<B> {
    /// The chain with the spend of a day, and the fallback of that day. Reading totals takes one batch.
    pub(crate) async fn chain_spend(
        &self,
        effective: &EffectiveConfig,
        scope: &Scope,
        day: OrgDay,
        read: SpendRead,
        now_ms: i64,
    ) -> Result<(Vec<ChainEntry>, Option<StickyState>)> {
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
        let entry = |label: &Label| -> Result<ChainEntry> {
            let of_model = items.by_ref().take(usize::from(items_per_model));
            let spend = Counters::sum(of_model.flatten().map(|item| Counters::decode(&item)))?.cost;
            Ok(ChainEntry { label: label.clone(), spend, quota: effective.quota(label) })
        };
        Ok((effective.model_ordering.iter().map(entry).collect::<Result<_>>()?, sticky))
    }
}
