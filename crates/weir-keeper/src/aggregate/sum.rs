//! Sums the shards of a model up into its total.
//!
//! Shards only grow and are read strongly, so whoever reads later sees at least as much. A total is written only if it has
//! at least as much of both submissions and cost as the one that is there; else somebody read later, and it is read again.

use weir_table::{Backend, Consistency, Error as Fault, Get, Item};

use super::dirty::Spot;
use crate::bounds::TRIES_MAX;
use crate::config::Effective;
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::money::MicroUsd;
use crate::retry::pause;
use crate::submit::kept_until_ms;

/// What became of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Total {
    /// It says what the shards say.
    Unchanged,
    /// It was written, with so much more spent than before.
    Written(MicroUsd),
}

impl<B: Backend> Keeper<B> {
    /// The sum of a model's shards on a day, as they are now.
    ///
    /// # Errors
    /// The org does not exist, the sum does not fit, or the store fails.
    pub async fn sum_shards(&self, scope: &Scope, label: &Label, day: OrgDay) -> Result<Counters> {
        let shards = self.effective(scope.org(), None).await?.agg_shard_count;
        let keys = (0..shards).map(|shard| keys::usage(scope, label, shard, day));
        let table = &self.tables().usage_agg_sharded;
        let items = self.batch_get(table, keys, Consistency::Strong).await?;
        Counters::sum(items.iter().flatten().map(Counters::decode))
    }

    /// Brings a total up to what the shards say.
    pub(super) async fn total_up(&self, (scope, label, day): &Spot, now_ms: i64) -> Result<Total> {
        let of_org = self.effective(scope.org(), None).await?;
        let kept = self.settings().retention_days;
        let kept_ms = kept_until_ms(&of_org.timezone, *day, kept);
        let mut before = None;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let (sum, there) = self.shards_and_total(scope, label, *day, &of_org).await?;
            let known = there.as_ref().map(Counters::decode).unwrap_or_default();
            // A total that is ahead of shards which do not move has seen shards that have expired since.
            if sum == known || before == Some((sum, known)) {
                return Ok(Total::Unchanged);
            }
            let key = keys::total(scope, label, *day);
            let table = self.tables().daily_total.clone();
            match self.store().write(sum.put_as_total(table, key, now_ms, kept_ms)).await {
                Ok(done) if done.is_applied() => {
                    self.meters().totalled();
                    return Ok(Total::Written(sum.cost.less(known.cost)));
                }
                // Another total is there, which the next look shows; a conflict says nothing about it.
                Ok(_) => before = Some((sum, known)),
                Err(Fault::Conflict) => before = None,
                Err(fault) => return Err(fault.into()),
            }
        }
        Err(Error::Contended)
    }

    async fn shards_and_total(
        &self,
        scope: &Scope,
        label: &Label,
        day: OrgDay,
        of_org: &Effective,
    ) -> Result<(Counters, Option<Item>)> {
        let total = Get::new(self.tables().daily_total.clone(), keys::total(scope, label, day));
        let usage = &self.tables().usage_agg_sharded;
        let shard = |shard| Get::new(usage.clone(), keys::usage(scope, label, shard, day));
        let gets: Vec<Get> =
            [total].into_iter().chain((0..of_org.agg_shard_count).map(shard)).collect();
        let mut items = self.store().batch_get(&gets).await?.into_iter();
        let there = items.next().flatten();
        let sum = Counters::sum(items.flatten().map(|item| Counters::decode(&item)))?;
        Ok((sum, there))
    }
}
