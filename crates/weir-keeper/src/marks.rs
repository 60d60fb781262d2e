//! How far something was done, day by day: a mark that never goes back.

use weir_table::expr::attr;
use weir_table::{Backend, Get, Key, Write};

use crate::day::OrgDay;
use crate::error::Result;
use crate::keeper::Keeper;
use crate::keys;

const DAY: &str = "org_day";

impl<B: Backend> Keeper<B> {
    /// The last day that is done.
    pub(crate) async fn mark(&self, key: Key) -> Result<Option<OrgDay>> {
        let item = self.store().get(&Get::new(self.tables().daily_total.clone(), key)).await?;
        Ok(item.and_then(|item| OrgDay::from_compact(item.s(DAY)?)))
    }

    /// Moves a mark to a day, unless it is further.
    pub(crate) async fn move_mark(&self, key: Key, to: OrgDay) -> Result<()> {
        let day = to.compact();
        let item = keys::item(key).with(DAY, day.as_str());
        let further = attr("PK").absent().or(attr(DAY).lt(day));
        self.write(Write::put(self.tables().daily_total.clone(), item).when(further)).await?;
        Ok(())
    }
}
