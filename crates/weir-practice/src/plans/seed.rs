//! The plans that a new table has.

use weir_table::expr::attr;
use weir_table::retry::TRIES_MAX;
use weir_table::{Backend, Write};

use super::write::PLANS;
use super::{Plan, PlanFields, PlanLimit};
use crate::error::{Error, Result};
use crate::ids::PlanId;
use crate::item::{COUNT, TYPE, secs};
use crate::keys;
use crate::kinds::EntityType;
use crate::practice::Practice;

impl<B: Backend> Practice<B> {
    /// Creates the default plans on a table that has never had plans. Of several instances that do so at once one succeeds,
    /// and a default plan that was deleted later stays deleted. Plans that the program of the source has stored are kept.
    ///
    /// # Errors
    /// The store fails.
    pub async fn seed_plans(&self) -> Result<()> {
        let now_s = secs(self.now_ms());
        for _ in 0..TRIES_MAX {
            if self.item(keys::plan_sequence()).await?.is_some() {
                return Ok(());
            }
            let stored = self.items(defaults().map(|(id, _)| keys::plan(id)).to_vec()).await?;
            let is_stored =
                |id: PlanId| stored.iter().any(|item| keys::key_of(item) == Some(keys::plan(id)));
            let sequence = keys::item(keys::plan_sequence())
                .with(TYPE, EntityType::Counter.as_str())
                .with(COUNT, PlanId::ADMIN.get())
                .with(PLANS, defaults().len() as u64);
            let put = |item| Write::put(self.table().clone(), item).when(attr("PK").absent());
            let missing = defaults().into_iter().filter(|(id, _)| !is_stored(*id));
            let plans = missing.map(|(id, fields)| {
                put(Plan { id, fields, created_s: now_s, updated_s: now_s }.to_item(1))
            });
            if self.transact([put(sequence)].into_iter().chain(plans).collect()).await?.is_applied()
            {
                return Ok(());
            }
        }
        Err(Error::Contended)
    }
}

pub(super) fn defaults() -> [(PlanId, PlanFields); 3] {
    use PlanLimit::{AtMost, Unlimited};
    let plan = |name: &str, hints, executions, can_register_problems| PlanFields {
        name: name.to_owned(),
        description: None,
        max_hints_per_day: hints,
        max_executions_per_day: executions,
        max_problems: Unlimited,
        can_view_all_problems: true,
        can_register_problems,
        is_active: true,
    };
    [
        (PlanId::FREE, plan("Free", AtMost(5), AtMost(50), false)),
        (PlanId::PRO, plan("Pro", AtMost(50), AtMost(500), true)),
        (PlanId::ADMIN, plan("Admin", Unlimited, Unlimited, true)),
    ]
}
