//! What a user may do with problems, by plan. Staff may do everything.
//!
//! The transaction that registers a problem takes the writes of [`Practice::problem_registration`]: they require that the user
//! still has the plan by which the registration was allowed, and that the counter is below its limit. When the store refuses
//! them, the caller asks again.

use weir_table::expr::{add, attr};
use weir_table::{Backend, Item, Write};

use super::{Plan, PlanLimit};
use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::item::{COUNT, TYPE, VERSION};
use crate::keys::{self, find};
use crate::kinds::EntityType;
use crate::practice::Practice;
use crate::users::User;

/// A user and the user's plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The user.
    pub user: User,
    /// The user's plan.
    pub plan: Plan,
}

impl Access {
    /// Whether the user sees the problems of others.
    #[must_use]
    pub fn can_view_all_problems(&self) -> bool {
        self.user.is_staff || self.plan.fields.can_view_all_problems
    }

    /// Whether the user may register problems.
    #[must_use]
    pub fn can_register_problems(&self) -> bool {
        self.user.is_staff || self.plan.fields.can_register_problems
    }

    /// How many problems the user may have registered.
    #[must_use]
    pub fn max_problems(&self) -> PlanLimit {
        if self.user.is_staff { PlanLimit::Unlimited } else { self.plan.fields.max_problems }
    }

    /// Requires that the user is active.
    ///
    /// # Errors
    /// The user is inactive.
    pub fn require_active(&self) -> Result<()> {
        if self.user.is_active { Ok(()) } else { Err(Error::forbidden("the user is inactive")) }
    }

    /// Requires that an active user may register one more problem after `registered`.
    ///
    /// # Errors
    /// The user is inactive, or the plan does not allow it.
    pub fn require_registration(&self, registered: u64) -> Result<()> {
        self.require_active()?;
        if !self.can_register_problems() {
            return Err(Error::forbidden("the plan does not allow to register problems"));
        }
        let limit = self.max_problems();
        if !limit.allows_after(registered) {
            let limit = limit.to_number();
            return Err(Error::forbidden(format!("the plan allows {limit} registered problems")));
        }
        Ok(())
    }
}

impl<B: Backend> Practice<B> {
    /// A user and the user's plan, in one read when this process has seen the user before.
    ///
    /// # Errors
    /// The user does not exist, or the store fails.
    pub async fn access(&self, user: &UserId) -> Result<Access> {
        let hint = self.plan_hints().get(user);
        let items = self.items(vec![keys::user(user), keys::plan(hint)]).await?;
        self.access_of(user, &items).await
    }

    /// The user and the plan among items that were read by the [`PlanHints`](super::PlanHints).
    pub(crate) async fn access_of(&self, id: &UserId, items: &[Item]) -> Result<Access> {
        let user = find(items, &keys::user(id)).map(User::from_item).transpose()?.flatten();
        let user = user.ok_or_else(|| Error::not_found("user", id))?;
        let plan = find(items, &keys::plan(user.plan)).map(Plan::from_item).transpose()?;
        let plan = match plan.flatten() {
            Some(plan) => plan,
            None => self.plan(user.plan).await?,
        };
        self.plan_hints().set(id, user.plan);
        Ok(Access { user, plan })
    }

    /// The writes that register one more problem of a user, for the transaction of the problem.
    ///
    /// # Errors
    /// The user does not exist or is inactive, the plan does not allow it, or the store fails.
    pub async fn problem_registration(&self, user: &UserId) -> Result<Vec<Write>> {
        let hint = self.plan_hints().get(user);
        let keys = vec![keys::user(user), keys::plan(hint), keys::problem_count(user)];
        let items = self.items(keys).await?;
        let access = self.access_of(user, &items).await?;
        let counter = find(&items, &keys::problem_count(user));
        access.require_registration(count_of(counter))?;
        let update = add(COUNT, 1).add(VERSION, 1).set(TYPE, EntityType::Counter.as_str());
        let count = Write::update(self.table().clone(), keys::problem_count(user), update);
        let count = match access.max_problems() {
            PlanLimit::Unlimited => count,
            PlanLimit::AtMost(limit) => {
                count.when(attr(COUNT).absent().or(attr(COUNT).lt(i64::from(limit))))
            }
        };
        Ok(vec![access.user.unchanged_standing(self.table()), count])
    }

    /// The write that counts one problem of a user less, for the transaction that removes the problem.
    #[must_use]
    pub fn problem_release(&self, user: &UserId) -> Write {
        let update = add(COUNT, -1).add(VERSION, 1);
        Write::update(self.table().clone(), keys::problem_count(user), update)
    }

    /// How many problems a user has registered.
    ///
    /// # Errors
    /// The store fails.
    pub async fn problem_count(&self, user: &UserId) -> Result<u64> {
        Ok(count_of(self.item(keys::problem_count(user)).await?.as_ref()))
    }
}

/// The value of a counter; a missing one is zero.
pub(crate) fn count_of(counter: Option<&Item>) -> u64 {
    let count = counter.and_then(|item| item.i64(COUNT)).unwrap_or_default();
    u64::try_from(count).unwrap_or_default()
}
