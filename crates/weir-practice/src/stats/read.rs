//! Statistics of a range of days.

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use weir_calendar::Day;
use weir_table::limits::BATCH_GET_MAX;
use weir_table::{Backend, Query};

use super::item::{DayRollup, UsageCounts};
use crate::bounds::{STATS_DAYS_MAX, TOP_USERS_MAX};
use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::keys::{self, GSI2, List, find};
use crate::practice::Practice;
use crate::usage::ActionUsage;
use crate::users::User;

/// Reads of users at the same time.
const READS_AT_ONCE: usize = 10;

/// Usage in a range of days.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Usage of all days.
    pub counts: UsageCounts,
    /// Usage of each day of the range, oldest first.
    pub days: Vec<DayStats>,
    /// Users who used most, of the [`TOP_USERS_MAX`] first of each day. The list may lag behind by an instant.
    pub top_users: Vec<TopUser>,
}

/// Usage of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayStats {
    /// The day.
    pub day: Day,
    /// Usage of all users.
    pub counts: UsageCounts,
    /// Users who did anything.
    pub active_users: u64,
}

/// How much a user used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopUser {
    /// The user.
    pub user: UserId,
    /// All actions together.
    pub total: u64,
}

/// A user who used much on a day, with the usage against the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayTopUser {
    /// The user.
    pub user: UserId,
    /// The user's name; none, if the user was deleted since.
    pub name: Option<String>,
    /// All actions together, from the rollup.
    pub total: u64,
    /// Usage of each action; none, if the user was deleted since.
    pub actions: Vec<ActionUsage>,
}

impl<B: Backend> Practice<B> {
    /// Usage from one day to another, both included.
    ///
    /// # Errors
    /// The range is empty or too long, or the store fails.
    pub async fn stats(&self, from: Day, to: Day) -> Result<Stats> {
        let length = i64::from(from.days_until(to)) + 1;
        if !(1..=i64::from(STATS_DAYS_MAX)).contains(&length) {
            let problem = format!("the range has {length} days; 1 to {STATS_DAYS_MAX} are allowed");
            return Err(Error::invalid("to", problem));
        }
        let days: Vec<Day> = (0..length).map(|number| from.plus_days(number)).collect();
        let mut stats = Stats::default();
        let mut totals = BTreeMap::<UserId, u64>::new();
        for days in days.chunks(BATCH_GET_MAX) {
            let items = self.items(days.iter().map(|day| keys::rollup(*day)).collect()).await?;
            for day in days {
                let rollup = DayRollup::read(find(&items, &keys::rollup(*day)))?;
                let (counts, active_users) = (rollup.counts, rollup.active_users);
                stats.counts = stats.counts.plus(counts);
                stats.days.push(DayStats { day: *day, counts, active_users });
                if active_users > 0 {
                    self.add_top_users(*day, &mut totals).await?;
                }
            }
        }
        stats.top_users = top(totals);
        Ok(stats)
    }

    /// The users who used most on a day, at most `limit`, each with the usage against the plan.
    ///
    /// # Errors
    /// The store fails.
    pub async fn day_top_users(&self, day: Day, limit: usize) -> Result<Vec<DayTopUser>> {
        let mut totals = BTreeMap::<UserId, u64>::new();
        self.add_top_users(day, &mut totals).await?;
        let users = top(totals).into_iter().take(limit);
        let details = users.map(async |TopUser { user, total }| {
            match self.user_and_usage(&user, Some(day)).await {
                Ok((User { name, .. }, usage)) => {
                    Ok(DayTopUser { user, name: Some(name), total, actions: usage.actions })
                }
                Err(error) if error.is_not_found() => {
                    Ok(DayTopUser { user, name: None, total, actions: Vec::new() })
                }
                Err(error) => Err(error),
            }
        });
        stream::iter(details).buffered(READS_AT_ONCE).try_collect().await
    }

    async fn add_top_users(&self, day: Day, totals: &mut BTreeMap<UserId, u64>) -> Result<()> {
        let list = List::TopUsers(day).partition();
        let query = Query::partition(self.table().clone(), list).index(GSI2).reverse();
        let page = self.store().query(&query.limit(TOP_USERS_MAX)).await?;
        let (_, sort) = keys::index_attributes(GSI2);
        for item in &page.items {
            if let Some((total, user)) = item.s(&sort).and_then(keys::parse_top_user) {
                let sum = totals.entry(user).or_default();
                *sum = sum.saturating_add(total);
            }
        }
        Ok(())
    }
}

/// The users with the largest totals, largest first.
fn top(totals: BTreeMap<UserId, u64>) -> Vec<TopUser> {
    let mut users: Vec<TopUser> =
        totals.into_iter().map(|(user, total)| TopUser { user, total }).collect();
    users.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.user.cmp(&b.user)));
    users.truncate(TOP_USERS_MAX as usize);
    users
}
