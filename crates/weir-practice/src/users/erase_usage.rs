//! Removes the details of a deleted user's usage: the metadata of log items, in the table and in the archive.

use weir_calendar::Day;
use weir_table::expr::{attr, set};
use weir_table::{Backend, Item, Value, Write};

use crate::error::Result;
use crate::ids::UserId;
use crate::item::field;
use crate::keys::{self, find};
use crate::practice::Practice;
use crate::stats::UsageDirtySet;
use crate::usage::latest_day;

impl<B: Backend> Practice<B> {
    /// The latest day on which a user can have been counted.
    pub(super) async fn last_counted_day(&self, user: &UserId) -> Result<Day> {
        let today = self.day_of(self.now_ms());
        let latest = latest_day(self.item(keys::latest_day(user)).await?.as_ref());
        Ok(latest.map_or(today, |latest| latest.max(today)))
    }

    /// Removes the metadata of a user's log of some days. Rollups are brought up to date, so that the user's part in them
    /// stays.
    pub(super) async fn clean_days(&self, user: &UserId, days: &[Day]) -> Result<()> {
        let rollups = days.iter().map(|day| keys::user_rollup(*day, user)).collect();
        let rollups = self.items(rollups).await?;
        let oldest_log = self.day_of(self.now_ms()).plus_days(-self.log_days());
        for day in days {
            let has_rollup = find(&rollups, &keys::user_rollup(*day, user)).is_some();
            if *day >= oldest_log {
                self.clean_log(user, *day).await?;
            }
            if has_rollup && self.settings().usage_archive_days.is_some() {
                self.erase_from_archive(user, *day).await?;
            }
        }
        Ok(())
    }

    /// How many days back there are logs, with a day for time zones.
    fn log_days(&self) -> i64 {
        i64::from(self.settings().usage_days) + 1
    }

    async fn clean_log(&self, user: &UserId, day: Day) -> Result<()> {
        let mut query = self.log_query(user, day);
        let mut is_used = false;
        loop {
            let page = self.store().query(&query).await?;
            is_used |= !page.items.is_empty();
            let has_details = |item: &&Item| matches!(field("met").find(item), Some(Value::M(_)));
            for key in page.items.iter().filter(has_details).filter_map(keys::key_of) {
                let clean = set(field("met"), Value::Null);
                let write = Write::update(self.table().clone(), key, clean);
                self.write(write.when(attr("PK").exists()).essential()).await?;
            }
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => break,
            }
        }
        if is_used {
            let mut dirty = UsageDirtySet::default();
            dirty.mark(day, user.clone());
            self.roll_up(&dirty).await?;
        }
        Ok(())
    }
}
