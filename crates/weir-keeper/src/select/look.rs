//! Reads what a decision rests on: what was spent on each model of a chain, and the fallback of the day.

use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Consistency, Get, Item, Key, Name};

use crate::config::Effective;
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::decide::{Rung, Sticky};
use crate::error::Result;
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::sticky;

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// At the totals, which lag anyway, so a read that is a moment behind will do.
    Eventual,
    /// At the totals as they are.
    Strong,
    /// At the shards as they are.
    Shards,
}

impl<B: Backend> Keeper<B> {
    /// The chain with what was spent on a day, and the fallback of that day. At totals it looks with one request.
    pub(crate) async fn look_at(
        &self,
        effective: &Effective,
        scope: &Scope,
        day: OrgDay,
        look: Look,
        now_ms: i64,
    ) -> Result<(Vec<Rung>, Option<Sticky>)> {
        let consistency = match look {
            Look::Eventual => Consistency::Eventual,
            Look::Strong | Look::Shards => Consistency::Strong,
        };
        let get = |table: &Name, key: Key| Get { consistency, ..Get::new(table.clone(), key) };
        let tables = self.tables();
        let mut gets = vec![get(&tables.sticky_state, keys::sticky(scope, day))];
        // How many items make up one model.
        let parts = if look == Look::Shards { effective.agg_shard_count } else { 1 };
        for label in &effective.model_ordering {
            match look {
                Look::Shards => gets.extend((0..parts).map(|shard| {
                    get(&tables.usage_agg_sharded, keys::usage(scope, label, shard, day))
                })),
                _ => gets.push(get(&tables.daily_total, keys::total(scope, label, day))),
            }
        }
        let mut items: Vec<Option<Item>> = Vec::with_capacity(gets.len());
        for some in gets.chunks(BATCH_GET_MAX) {
            items.append(&mut self.store().batch_get(some).await?);
        }
        let mut items = items.into_iter();
        let sticky = sticky::read(items.next().flatten().as_ref(), now_ms)?;
        let mut spent = || -> Result<Counters> {
            let of_one = items.by_ref().take(usize::from(parts));
            Counters::sum(of_one.flatten().map(|item| Counters::decode(&item)))
        };
        let rung = |label: &Label| -> Result<Rung> {
            let (spend, quota) = (spent()?.cost, effective.quota(label));
            Ok(Rung { label: label.clone(), spend, quota })
        };
        Ok((effective.model_ordering.iter().map(rung).collect::<Result<_>>()?, sticky))
    }
}
