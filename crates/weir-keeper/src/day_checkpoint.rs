//! Checkpoints that record the last day a background task has completed. A checkpoint never moves back.

use weir_table::expr::attr;
use weir_table::{Backend, Get, Key, Write};

use crate::day::OrgDay;
use crate::error::Result;
use crate::keeper::Keeper;
use crate::keys;

const DAY: &str = "org_day";

impl<B: Backend> Keeper<B> {
    /// The last completed day, if any.
    pub(crate) async fn day_checkpoint(&self, key: Key) -> Result<Option<OrgDay>> {
        let item = self.store().get(&Get::new(self.tables().daily_total.clone(), key)).await?;
        Ok(item.and_then(|item| OrgDay::from_compact(item.s(DAY)?)))
    }

    /// Advances a checkpoint to a day, unless it is there or beyond.
    pub(crate) async fn advance_day_checkpoint(&self, key: Key, to: OrgDay) -> Result<()> {
        let day = to.compact();
        let item = keys::item(key).with(DAY, day.as_str());
        let is_behind = attr("PK").absent().or(attr(DAY).lt(day));
        self.write(Write::put(self.tables().daily_total.clone(), item).when(is_behind)).await?;
        Ok(())
    }
}
