//! Usage of a user on a day.

use weir_calendar::Day;
use weir_table::Backend;

use super::decide::{Standing, counted_day};
use super::take::latest_day;
use crate::day::end_of;
use crate::error::Result;
use crate::ids::UserId;
use crate::item::secs;
use crate::keys::{self, find};
use crate::kinds::Action;
use crate::plans::{PlanLimit, count_of};
use crate::practice::Practice;
use crate::users::User;

/// Usage of a user on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayUsage {
    /// The day.
    pub day: Day,
    /// Usage of each action.
    pub actions: Vec<ActionUsage>,
    /// When the day ends, in seconds since 1970.
    pub resets_at_s: i64,
}

/// Usage of one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionUsage {
    /// The action.
    pub action: Action,
    /// How often the user did it.
    pub count: u64,
    /// The limit of the user's present plan; unlimited for staff.
    pub limit: PlanLimit,
    /// How often more; `None` for any number.
    pub remaining: Option<u64>,
}

impl<B: Backend> Practice<B> {
    /// Usage of a user on a day; `None` for the day on which the next request counts.
    ///
    /// # Errors
    /// The user does not exist, or the store fails.
    pub async fn usage(&self, user: &UserId, day: Option<Day>) -> Result<DayUsage> {
        Ok(self.user_and_usage(user, day).await?.1)
    }

    /// A user with the usage on a day, from the same read.
    pub(crate) async fn user_and_usage(
        &self,
        user: &UserId,
        day: Option<Day>,
    ) -> Result<(User, DayUsage)> {
        let today = self.day_of(self.now_ms());
        let asked = day.unwrap_or(today);
        let plan = keys::plan(self.plan_hints().get(user));
        let counters =
            |day: Day| Action::ALL.iter().map(move |a| keys::action_count(user, day, *a));
        let read = [keys::user(user), plan, keys::latest_day(user)].into_iter();
        let mut items = self.items(read.chain(counters(asked)).collect()).await?;
        let access = self.access_of(user, &items).await?;
        let latest = latest_day(find(&items, &keys::latest_day(user)));
        let counted = day.unwrap_or_else(|| counted_day(today, latest));
        if counted != asked {
            items = self.items(counters(counted).collect()).await?;
        }
        let of_action = |action: &Action| {
            let limit = access.plan.fields.limit(*action);
            let (is_active, is_staff) = (access.user.is_active, access.user.is_staff);
            let limit = Standing { is_active, is_staff, limit }.limit();
            let count = count_of(find(&items, &keys::action_count(user, counted, *action)));
            ActionUsage { action: *action, count, limit, remaining: limit.remaining(count) }
        };
        let usage = DayUsage {
            day: counted,
            actions: Action::ALL.iter().map(of_action).collect(),
            resets_at_s: secs(end_of(&self.settings().zone, counted)),
        };
        Ok((access.user, usage))
    }
}
