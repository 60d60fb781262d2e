//! Sums the shards of a model into its daily total.
//!
//! Shards only grow and are read strongly consistent, so a later reader sees at least as much. A total is written only
//! if neither its requests nor its cost would decrease; otherwise another writer read later, and everything is read
//! again.

use weir_table::{Backend, Error as Fault, Get, Item};

use super::dirty_set::TotalId;
use crate::bounds::TRIES_MAX;
use crate::config::EffectiveConfig;
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::money::MicroUsd;
use crate::retry::pause;
use crate::submit::retained_until_ms;

/// The result of updating a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TotalUpdate {
    /// The total already equals its shards.
    Unchanged,
    /// The total was written; the cost it gained, in micro-USD.
    Written(MicroUsd),
}

impl<B: Backend> Keeper<B> {
    /// The sum of a model's shards on a day.
    ///
    /// # Errors
    /// The org does not exist, the sum overflows, or the store fails.
    pub async fn sum_shards(&self, scope: &Scope, label: &Label, day: OrgDay) -> Result<Counters> {
        let shards = self.effective_config(scope.org(), None).await?.agg_shard_count;
        let table = &self.tables().usage_agg_sharded;
        let get = |shard| Get::new(table.clone(), keys::usage(scope, label, shard, day));
        let items = self.batch_get((0..shards).map(get)).await?;
        Counters::sum(items.iter().flatten().map(Counters::decode))
    }

    /// Brings a total up to date with its shards.
    pub(super) async fn update_total(
        &self,
        (scope, label, day): &TotalId,
        now_ms: i64,
    ) -> Result<TotalUpdate> {
        let org = self.effective_config(scope.org(), None).await?;
        let days = self.settings().retention_days;
        let expires_ms = retained_until_ms(&org.timezone, *day, days);
        let mut before = None;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let (sum, stored) = self.shards_and_total(scope, label, *day, &org).await?;
            let stored = stored.as_ref().map(Counters::decode).unwrap_or_default();
            // A total ahead of shards that do not move includes shards that have expired since.
            if sum == stored || before == Some((sum, stored)) {
                return Ok(TotalUpdate::Unchanged);
            }
            let key = keys::total(scope, label, *day);
            let table = self.tables().daily_total.clone();
            match self.store().write(sum.put_as_total(table, key, now_ms, expires_ms)).await {
                Ok(done) if done.is_applied() => {
                    self.inner.metrics.total_written();
                    return Ok(TotalUpdate::Written(sum.cost.saturating_sub(stored.cost)));
                }
                // Another writer's total is stored, which the next read shows; a conflict says nothing about it.
                Ok(_) => before = Some((sum, stored)),
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
        org: &EffectiveConfig,
    ) -> Result<(Counters, Option<Item>)> {
        let total = Get::new(self.tables().daily_total.clone(), keys::total(scope, label, day));
        let usage = &self.tables().usage_agg_sharded;
        let shard = |shard| Get::new(usage.clone(), keys::usage(scope, label, shard, day));
        let gets = [total].into_iter().chain((0..org.agg_shard_count).map(shard));
        let mut items = self.batch_get(gets).await?.into_iter();
        let stored = items.next().flatten();
        let sum = Counters::sum(items.flatten().map(|item| Counters::decode(&item)))?;
        Ok((sum, stored))
    }
}
