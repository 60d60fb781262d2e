//! Creates, changes and deletes plans.
//!
//! `PLANS` / `SEQUENCE` has the largest id so far and the number of plans, so ids are never used again and the number stays
//! within its bound.

use weir_table::expr::{Condition, attr, set};
use weir_table::retry::TRIES_MAX;
use weir_table::{Backend, Item, Transacted, Verdict, Write};

use super::{Plan, PlanFields};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::PLANS_MAX;
use crate::error::{Error, Result};
use crate::ids::PlanId;
use crate::item::{COUNT, TYPE, VERSION, secs};
use crate::keys;
use crate::kinds::EntityType;
use crate::practice::Practice;

/// Number of plans, in the item of the sequence.
pub(crate) const PLANS: &str = "plans";

impl<B: Backend> Practice<B> {
    /// Creates a plan with the next id.
    ///
    /// # Errors
    /// A field is invalid, there are too many plans, or the store fails.
    pub async fn create_plan(&self, fields: PlanFields, actor: &str) -> Result<Plan> {
        fields.check()?;
        let now_ms = self.now_ms();
        // An id that the program of the source has taken is skipped, so each attempt goes on from the last.
        let mut taken = 0;
        for _ in 0..TRIES_MAX {
            let sequence = self.item(keys::plan_sequence()).await?.unwrap_or_default();
            let last = sequence.i64(COUNT).unwrap_or_default();
            let plans = sequence.i64(PLANS).unwrap_or_default();
            if plans >= PLANS_MAX as i64 {
                return Err(Error::conflict(format!("there are {PLANS_MAX} plans already")));
            }
            let id = PlanId::new(u64::try_from(last.max(taken) + 1).unwrap_or_default())?;
            let (created_s, updated_s) = (secs(now_ms), secs(now_ms));
            let plan = Plan { id, fields: fields.clone(), created_s, updated_s };
            let writes = vec![
                self.sequence_write(&sequence, id, plans + 1),
                Write::put(self.table().clone(), plan.to_item(1)).when(attr("PK").absent()),
                self.plan_event(AuditAction::PlanPut, id, actor, now_ms)?,
            ];
            match self.transact(writes).await? {
                Transacted::Applied => return Ok(plan),
                Transacted::Refused(verdicts) if is_failed(&verdicts, 1) => {
                    taken = i64::try_from(id.get()).unwrap_or(i64::MAX);
                }
                Transacted::Refused(_) => {}
            }
        }
        Err(Error::Contended)
    }

    fn sequence_write(&self, sequence: &Item, last: PlanId, plans: i64) -> Write {
        let update = set(TYPE, EntityType::Counter.as_str()).set(COUNT, last.get());
        Write::update(self.table().clone(), keys::plan_sequence(), update.set(PLANS, plans))
            .when(same(sequence, COUNT).and(same(sequence, PLANS)))
    }

    /// Replaces what a plan is called and allows. Requests that begin after the response are decided by it.
    ///
    /// # Errors
    /// The plan does not exist, a field is invalid, or the store fails.
    pub async fn put_plan(&self, id: PlanId, fields: PlanFields, actor: &str) -> Result<Plan> {
        fields.check()?;
        let now_ms = self.now_ms();
        for _ in 0..TRIES_MAX {
            let (old, item) = self.stored_plan(id).await?;
            let plan = Plan { fields: fields.clone(), updated_s: secs(now_ms), ..old };
            let version = item.i64(VERSION).unwrap_or_default() + 1;
            let put = Write::put(self.table().clone(), plan.to_item(version));
            let writes = vec![
                put.when(attr("PK").exists().and(same(&item, VERSION))),
                self.plan_event(AuditAction::PlanPut, id, actor, now_ms)?,
            ];
            if self.transact(writes).await?.is_applied() {
                return Ok(plan);
            }
        }
        Err(Error::Contended)
    }

    /// Deletes a plan that has no users.
    ///
    /// # Errors
    /// The plan does not exist or has users, or the store fails.
    pub async fn delete_plan(&self, id: PlanId, actor: &str) -> Result<()> {
        let now_ms = self.now_ms();
        for _ in 0..TRIES_MAX {
            let (_, item) = self.stored_plan(id).await?;
            let sequence = self.item(keys::plan_sequence()).await?.unwrap_or_default();
            let plans = sequence.i64(PLANS).unwrap_or_default();
            let table = self.table();
            let has_no_users = attr(COUNT).absent().or(attr(COUNT).le(0));
            let update = set(PLANS, (plans - 1).max(0));
            let writes = vec![
                Write::delete(table.clone(), keys::plan(id))
                    .when(attr("PK").exists().and(same(&item, VERSION))),
                Write::delete(table.clone(), keys::plan_users(id)).when(has_no_users),
                Write::update(table.clone(), keys::plan_sequence(), update)
                    .when(same(&sequence, PLANS)),
                self.plan_event(AuditAction::PlanDeleted, id, actor, now_ms)?,
            ];
            match self.transact(writes).await? {
                Transacted::Applied => return Ok(()),
                Transacted::Refused(verdicts) if is_failed(&verdicts, 1) => {
                    return Err(Error::conflict(format!("plan {id} has users")));
                }
                Transacted::Refused(_) => {}
            }
        }
        Err(Error::Contended)
    }

    async fn stored_plan(&self, id: PlanId) -> Result<(Plan, Item)> {
        let item = self.item(keys::plan(id)).await?.unwrap_or_default();
        let plan = Plan::from_item(&item)?.ok_or_else(|| Error::not_found("plan", id))?;
        Ok((plan, item))
    }

    fn plan_event(
        &self,
        action: AuditAction,
        id: PlanId,
        actor: &str,
        now_ms: i64,
    ) -> Result<Write> {
        let event = NewAuditEvent { action, subject: format!("plan {id}"), actor, detail: None };
        self.audit_write(event, now_ms)
    }
}

/// The attribute is what it was when `item` was read.
pub(crate) fn same(item: &Item, name: &'static str) -> Condition {
    match item.get(name) {
        Some(value) => attr(name).eq(value.clone()),
        None => attr(name).absent(),
    }
}

/// Whether the write at this position was refused.
pub(super) fn is_failed(verdicts: &[Verdict], position: usize) -> bool {
    matches!(verdicts.get(position), Some(Verdict::Failed(_)))
}
