//! Copies counters into rollups. Every write is on condition of the version of the day and of the rollups of users that were
//! read: a batch of reads is not of one moment, so either alone could be newer than the other.

use weir_calendar::Day;
use weir_table::expr::{Condition, attr};
use weir_table::limits::BATCH_GET_MAX;
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Key, Write};

use super::dirty_set::UsageDirtySet;
use super::item::{DayRollup, UsageCounts, read_user, still, user_item};
use crate::day::end_of;
use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::item::{VERSION, expiry, secs};
use crate::keys::{self, find};
use crate::kinds::Action;
use crate::practice::Practice;

/// Items that are read for a user: the rollup, and a counter for each action.
const ITEMS_PER_USER: usize = 1 + Action::ALL.len();
/// Users whose rollups are read in one call, with that of the day, and written in one transaction.
pub(super) const CHUNK_USERS: usize = (BATCH_GET_MAX - 1) / ITEMS_PER_USER;

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RollupReport {
    /// Rollups of users that were written.
    pub written: u64,
    /// Rollups that already equalled their counters.
    pub unchanged: u64,
}

impl<B: Backend> Practice<B> {
    /// Computes the rollups of these users and days again.
    ///
    /// # Errors
    /// The store fails. What was written stays, and the whole set can be rolled up again.
    pub async fn roll_up(&self, dirty: &UsageDirtySet) -> Result<RollupReport> {
        let mut report = RollupReport::default();
        for (day, users) in dirty.iter() {
            for users in users.chunks(CHUNK_USERS) {
                let written = self.roll_up_users(day, users).await?;
                report.written += written;
                report.unchanged += (users.len() as u64).saturating_sub(written);
            }
        }
        Ok(report)
    }

    /// Rolls up at most [`CHUNK_USERS`] users of a day. Returns how many have changed.
    async fn roll_up_users(&self, day: Day, users: &[UserId]) -> Result<u64> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let items = self.rollup_items(day, users).await?;
            let old = DayRollup::read(find(&items, &keys::rollup(day)))?;
            let times = self.rollup_times(day);
            let (mut new, mut writes) = (old, Vec::new());
            for user in users {
                let Some(counts) = UsageCounts::of_counters(&items, user, day) else { continue };
                let before = find(&items, &keys::user_rollup(day, user));
                let before = before.map(read_user).transpose()?;
                if before.unwrap_or_default() == counts {
                    continue;
                }
                new.counts = new.counts.minus(before.unwrap_or_default()).plus(counts);
                new.active_users += u64::from(before.is_none());
                let item = user_item((day, user), counts, times);
                writes.push(Write::put(self.table().clone(), item).when(still(before)));
            }
            let written = writes.len() as u64;
            if written == 0 || self.commit_rollups(day, (old, new), writes).await? {
                return Ok(written);
            }
        }
        Err(Error::Contended)
    }

    /// Writes rollups of users and of their day. False when another writer was faster.
    pub(super) async fn commit_rollups(
        &self,
        day: Day,
        (old, new): (DayRollup, DayRollup),
        mut writes: Vec<Write>,
    ) -> Result<bool> {
        let item = new.to_item(day, self.rollup_times(day));
        writes.push(Write::put(self.table().clone(), item).when(unchanged(old)));
        Ok(self.transact(writes).await?.is_applied())
    }

    /// The rollup of a day, and the rollups and counters of users.
    pub(super) async fn rollup_items(&self, day: Day, users: &[UserId]) -> Result<Vec<Item>> {
        let of_user = |user: &UserId| -> Vec<Key> {
            let counters = Action::ALL.iter().map(|a| keys::action_count(user, day, *a));
            counters.chain([keys::user_rollup(day, user)]).collect()
        };
        let keys = users.iter().flat_map(of_user).chain([keys::rollup(day)]).collect();
        self.items(keys).await
    }

    /// The time now, and when the rollups of a day expire, in seconds since 1970.
    pub(super) fn rollup_times(&self, day: Day) -> (i64, i64) {
        let settings = self.settings();
        (secs(self.now_ms()), expiry(end_of(&settings.zone, day), settings.rollup_days))
    }
}

fn unchanged(old: DayRollup) -> Condition {
    match old.version {
        Some(version) => attr(VERSION).eq(version),
        None => attr(VERSION).absent(),
    }
}
