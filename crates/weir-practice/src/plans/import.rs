//! Imports plans, with their ids. A default plan that nobody has changed gives way to an imported one.

use weir_table::expr::{attr, set};
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Write};

use super::Plan;
use super::seed::defaults;
use super::write::{PLANS, same};
use crate::bounds::PLANS_MAX;
use crate::error::{Error, Result};
use crate::import::{Imported, OnDifference, Step, step};
use crate::item::{COUNT, TYPE, VERSION};
use crate::keys;
use crate::kinds::EntityType;
use crate::practice::Practice;

impl Plan {
    /// Whether a plan is one of the defaults, as it was created.
    pub(crate) fn is_untouched_default(&self, version: i64) -> bool {
        let is_default = |(id, fields)| id == self.id && fields == self.fields;
        version == 1 && defaults().into_iter().any(is_default)
    }
}

impl<B: Backend> Practice<B> {
    /// Stores a plan as it is elsewhere.
    ///
    /// # Errors
    /// A field is invalid, there are too many plans, or the store fails.
    pub(crate) async fn import_plan(&self, plan: &Plan, on: OnDifference) -> Result<Imported> {
        plan.fields.check()?;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let item = self.item(keys::plan(plan.id)).await?;
            let stored = item.as_ref().map(Plan::from_item).transpose()?.flatten();
            let version = item.as_ref().and_then(|item| item.i64(VERSION)).unwrap_or_default();
            let on = match &stored {
                Some(stored) if stored.is_untouched_default(version) => OnDifference::Replace,
                _ => on,
            };
            let found = stored.as_ref().map(|stored| (stored == plan, stored.updated_s));
            if let Step::Done(done) = step(found, plan.updated_s, on) {
                return Ok(done);
            }
            let put = Write::put(self.table().clone(), plan.to_item(version + 1));
            let writes = match &item {
                Some(item) => vec![put.when(attr("PK").exists().and(same(item, VERSION)))],
                None => vec![put.when(attr("PK").absent()), self.counted_plan(plan).await?],
            };
            if self.transact(writes).await?.is_applied() {
                return Ok(Imported::by(item.is_some()));
            }
        }
        Err(Error::Contended)
    }

    /// Counts a new plan, whose id is never given to another.
    async fn counted_plan(&self, plan: &Plan) -> Result<Write> {
        let sequence: Item = self.item(keys::plan_sequence()).await?.unwrap_or_default();
        let plans = sequence.i64(PLANS).unwrap_or_default();
        if plans >= PLANS_MAX as i64 {
            return Err(Error::conflict(format!("there are {PLANS_MAX} plans already")));
        }
        let last = sequence.i64(COUNT).unwrap_or_default();
        let last = last.max(i64::try_from(plan.id.get()).unwrap_or(i64::MAX));
        let update = set(TYPE, EntityType::Counter.as_str()).set(COUNT, last).set(PLANS, plans + 1);
        Ok(Write::update(self.table().clone(), keys::plan_sequence(), update)
            .when(same(&sequence, COUNT).and(same(&sequence, PLANS))))
    }
}
