//! Reads plans.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicU64, Ordering};

use weir_table::Backend;
use weir_table::retry::Listed;

use super::Plan;
use crate::error::{Error, Result};
use crate::ids::{PlanId, UserId};
use crate::item::COUNT;
use crate::keys::{self, List};
use crate::list::PageRequest;
use crate::practice::Practice;

impl<B: Backend> Practice<B> {
    /// A plan.
    ///
    /// # Errors
    /// The plan does not exist, or the store fails.
    pub async fn plan(&self, id: PlanId) -> Result<Plan> {
        let item = self.item(keys::plan(id)).await?;
        let plan = item.as_ref().map(Plan::from_item).transpose()?.flatten();
        plan.ok_or_else(|| Error::not_found("plan", id))
    }

    /// All plans, in the order of their ids. The list may lag behind a change by an instant.
    ///
    /// # Errors
    /// The store fails.
    pub async fn plans(&self) -> Result<Vec<Plan>> {
        let mut plans = self.plan_page(&PageRequest::default()).await?.items;
        plans.sort_by_key(|plan| plan.id);
        Ok(plans)
    }

    /// A page of plans, newest first. The list may lag behind a change by an instant.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn plan_page(&self, page: &PageRequest) -> Result<Listed<Plan>> {
        let members = self.members(&List::Plans, page).await?;
        let decoded: Result<Vec<_>> = members.items.iter().map(Plan::from_item).collect();
        Ok(Listed { items: decoded?.into_iter().flatten().collect(), cursor: members.cursor })
    }

    /// How many users a plan has.
    ///
    /// # Errors
    /// The store fails.
    pub async fn plan_user_count(&self, id: PlanId) -> Result<u64> {
        let counter = self.item(keys::plan_users(id)).await?;
        let count = counter.and_then(|item| item.i64(COUNT)).unwrap_or_default();
        Ok(u64::try_from(count).unwrap_or_default())
    }
}

/// Slots of the hints, a power of two.
const SLOTS: usize = 16 * 1024;

/// The plan on which this process last saw a user, so that user and plan can be read in one call. A wrong hint costs one more
/// read and nothing else, so slots are shared and never cleared. The hash has no random key, so that a simulation replays.
pub(crate) struct PlanHints {
    slots: Vec<AtomicU64>,
    hasher: BuildHasherDefault<DefaultHasher>,
}

impl Default for PlanHints {
    fn default() -> PlanHints {
        let free = || AtomicU64::new(PlanId::FREE.get());
        let slots = std::iter::repeat_with(free).take(SLOTS).collect();
        PlanHints { slots, hasher: BuildHasherDefault::default() }
    }
}

impl PlanHints {
    /// The plan that a user probably has.
    pub(crate) fn get(&self, user: &UserId) -> PlanId {
        let number = self.slot(user).map(|slot| slot.load(Ordering::Relaxed));
        number.and_then(|number| PlanId::new(number).ok()).unwrap_or(PlanId::FREE)
    }

    /// Remembers the plan of a user.
    pub(crate) fn set(&self, user: &UserId, plan: PlanId) {
        if let Some(slot) = self.slot(user) {
            slot.store(plan.get(), Ordering::Relaxed);
        }
    }

    fn slot(&self, user: &UserId) -> Option<&AtomicU64> {
        let hash = self.hasher.hash_one(user);
        self.slots.get(usize::try_from(hash % SLOTS as u64).ok()?)
    }
}
