//! Sums the shards of a model into its daily total.
//!
//! Shards only grow and are read strongly consistent, so a later reader sees at least as much. A total is written only
//! if neither its requests nor its cost would decrease; otherwise another writer read later, and everything is read
//! again.
//!
//! Shards that cannot be read have no sum. Their total is then marked, which closes the chain of the scope on every
//! instance, until a later sum replaces the total and with it the mark.

use weir_table::{Backend, Get, Item};

use super::dirty_set::TotalId;
use crate::bounds::TRIES_MAX;
use crate::config::EffectiveConfig;
use crate::counters::{Counters, is_unsummed, mark_unsummed};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::money::MicroUsd;
use crate::retry::pause;
use crate::submit::retained_until_ms;

/// The result of updating a total.
#[derive(Debug)]
pub(super) enum TotalUpdate {
    /// The total already equals its shards.
    Unchanged,
    /// The total was written; the cost it gained, in micro-USD.
    Written(MicroUsd),
    /// The shards have no sum, so the total was marked.
    Unsummed(Error),
}

impl<B: Backend> Keeper<B> {
    /// The sum of a model's shards on a day.
    ///
    /// # Errors
    /// The org does not exist, a shard cannot be read, or the store fails.
    pub async fn sum_shards(&self, scope: &Scope, label: &Label, day: OrgDay) -> Result<Counters> {
        let shards = self.config_or_deleted(scope.org(), None).await?.agg_shard_count;
        let table = &self.tables().usage_agg_sharded;
        let get = |shard| Get::new(table.clone(), keys::usage(scope, label, shard, day));
        let items = self.batch_get((0..shards).map(get)).await?;
        Counters::sum_items(items.iter().flatten())
    }

    /// Brings a total up to date with its shards.
    pub(super) async fn update_total(&self, id: &TotalId, now_ms: i64) -> Result<TotalUpdate> {
        let (scope, label, day) = id;
        let org = self.config_or_deleted(scope.org(), None).await?;
        let days = self.settings().retention_days;
        let expires_ms = retained_until_ms(&org.timezone, *day, days);
        let mut before = None;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let (shards, total) = self.shards_and_total(scope, label, *day, &org).await?;
            let is_marked = total.as_ref().is_some_and(is_unsummed);
            let (key, table) = (keys::total(scope, label, *day), self.tables().daily_total.clone());
            let (sum, stored) = match sum_and_stored(&shards, total.as_ref()) {
                Ok(both) => both,
                Err(error) => {
                    if !is_marked {
                        let mark = mark_unsummed(table, key, now_ms, expires_ms);
                        self.store().write(mark).await?;
                    }
                    self.inner.unsummed.insert(id, &error);
                    return Ok(TotalUpdate::Unsummed(error));
                }
            };
            if sum.cost.is_saturated() && faults::is(Fault::OverflowSkipped) {
                return Ok(TotalUpdate::Unchanged);
            }
            // A total ahead of shards that do not move includes shards that have expired since.
            if (sum == stored && !is_marked) || before == Some((sum, stored)) {
                self.inner.unsummed.remove(id);
                return Ok(TotalUpdate::Unchanged);
            }
            match self.store().write(sum.put_as_total(table, key, now_ms, expires_ms)).await {
                Ok(done) if done.is_applied() => {
                    self.inner.metrics.total_written();
                    self.inner.unsummed.remove(id);
                    return Ok(TotalUpdate::Written(sum.cost.saturating_sub(stored.cost)));
                }
                // Another writer's total is stored, which the next read shows; a conflict says nothing about it.
                Ok(_) => before = Some((sum, stored)),
                Err(weir_table::Error::Conflict) => before = None,
                Err(error) => return Err(error.into()),
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
    ) -> Result<(Vec<Item>, Option<Item>)> {
        let total = Get::new(self.tables().daily_total.clone(), keys::total(scope, label, day));
        let usage = &self.tables().usage_agg_sharded;
        let shard = |shard| Get::new(usage.clone(), keys::usage(scope, label, shard, day));
        let gets = [total].into_iter().chain((0..org.agg_shard_count).map(shard));
        let mut items = self.batch_get(gets).await?.into_iter();
        let stored = items.next().flatten();
        Ok((items.flatten().collect(), stored))
    }
}

/// The sum of the shards, and the counters of the stored total, marked or not.
fn sum_and_stored(shards: &[Item], total: Option<&Item>) -> Result<(Counters, Counters)> {
    let stored = total.map(Counters::decode_numbers).transpose()?;
    Ok((Counters::sum_items(shards)?, stored.unwrap_or_default()))
}
