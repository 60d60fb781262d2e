//! Recomputes the rollups of a day from the counters.

use std::collections::BTreeSet;

use weir_calendar::Day;
use weir_table::limits::TRANSACT_MAX;
use weir_table::{Backend, Query, Write};

use super::dirty_set::UsageDirtySet;
use super::item::{DayRollup, UsageCounts, read_user};
use super::rollup::CHUNK_USERS;
use crate::bounds::DIFFERENCES_MAX;
use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::item::secs;
use crate::keys::{self, GSI2, List, find};
use crate::practice::Practice;
use crate::usage::Repair;

/// A rollup that differs from its counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollupDifference {
    /// The user; `None` for the rollup of the day.
    pub user: Option<UserId>,
    /// The stored counts.
    pub stored: UsageCounts,
    /// The counts of the counters.
    pub computed: UsageCounts,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RollupCheck {
    /// Users that were active on the day.
    pub active_users: u64,
    /// Sum of all counters of the day.
    pub computed: UsageCounts,
    /// Differences, the first of them only if there are many.
    pub differences: Vec<RollupDifference>,
}

impl<B: Backend> Practice<B> {
    /// Compares the rollups of a day with the counters of all users, and corrects them if asked to. While requests come in,
    /// rollups lag behind by what the feed has not delivered yet.
    ///
    /// # Errors
    /// The counters of the day have expired, or the store fails.
    pub async fn verify_rollup(&self, day: Day, repair: Repair<'_>) -> Result<RollupCheck> {
        if self.usage_expiry(day) <= secs(self.now_ms()) {
            return Err(Error::invalid("date", format!("the counters of {day} have expired")));
        }
        let users: Vec<UserId> = self.users_of_day(day).await?.into_iter().collect();
        let check = self.compare_rollup(day, &users).await?;
        if repair == Repair::No || check.differences.is_empty() {
            return Ok(check);
        }
        let mut dirty = UsageDirtySet::default();
        users.iter().for_each(|user| dirty.mark(day, user.clone()));
        self.roll_up(&dirty).await?;
        // What is left is a sum that is not that of its parts, and rollups of users without counters.
        // Every write of a user's rollup raises the version, so it is read first.
        let old = DayRollup::read(self.item(keys::rollup(day)).await?.as_ref())?;
        let rest = self.compare_rollup(day, &users).await?;
        if !rest.differences.is_empty() {
            let (counts, active_users) = (rest.computed, rest.active_users);
            let new = DayRollup { counts, active_users, ..old };
            let is_stray = |one: &&RollupDifference| one.computed == UsageCounts::default();
            let strays = rest.differences.iter().filter(is_stray);
            let strays = strays.filter_map(|one| one.user.as_ref()).take(TRANSACT_MAX - 1);
            let delete = |user| Write::delete(self.table().clone(), keys::user_rollup(day, user));
            if !self.commit_rollups(day, (old, new), strays.map(delete).collect()).await? {
                return Err(Error::Contended);
            }
        }
        Ok(check)
    }

    /// Users that have a rollup of the day, and all others: a counter that the feed missed has no rollup.
    async fn users_of_day(&self, day: Day) -> Result<BTreeSet<UserId>> {
        let table = self.table();
        let rollups = Query::partition(table.clone(), keys::rollup_partition(day))
            .begins_with(keys::USER_PREFIX);
        let all = Query::partition(table.clone(), List::Users.partition()).index(GSI2);
        let mut users = BTreeSet::new();
        for (mut query, attribute) in [(rollups, "SK"), (all, "PK")] {
            loop {
                let page = self.store().query(&query).await?;
                let user = |item: &weir_table::Item| keys::parse_user(item.s(attribute)?);
                users.extend(page.items.iter().filter_map(user));
                match page.cursor {
                    Some(cursor) => query = query.after(cursor),
                    None => break,
                }
            }
        }
        Ok(users)
    }

    async fn compare_rollup(&self, day: Day, users: &[UserId]) -> Result<RollupCheck> {
        let mut check = RollupCheck::default();
        for users in users.chunks(CHUNK_USERS) {
            let items = self.rollup_items(day, users).await?;
            for user in users {
                let stored = find(&items, &keys::user_rollup(day, user));
                let stored = stored.map(read_user).transpose()?.unwrap_or_default();
                let computed = UsageCounts::of_counters(&items, user, day).unwrap_or_default();
                check.add(Some(user.clone()), stored, computed);
                check.computed = check.computed.plus(computed);
                check.active_users += u64::from(computed.total() > 0);
            }
        }
        let day = DayRollup::read(self.item(keys::rollup(day)).await?.as_ref())?;
        check.add(None, day.counts, check.computed);
        Ok(check)
    }
}

impl RollupCheck {
    fn add(&mut self, user: Option<UserId>, stored: UsageCounts, computed: UsageCounts) {
        if stored != computed && self.differences.len() < DIFFERENCES_MAX {
            self.differences.push(RollupDifference { user, stored, computed });
        }
    }
}
