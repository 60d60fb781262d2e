//! Plans: how much a user may do on a day, and what else.
//!
//! A plan has a counter of its users in its partition. Every transaction that puts a user on a plan checks the plan and raises
//! the counter, and a deletion requires the counter to be zero; so a plan in use is never deleted.

mod access;
mod import;
mod item;
mod limit;
mod read;
mod seed;
mod write;

pub use self::access::Access;
pub(crate) use self::access::count_of;
pub use self::limit::PlanLimit;
pub(crate) use self::read::PlanHints;
pub(crate) use self::write::{PLANS, same};
use crate::bounds::{NAME_MAX, NOTE_MAX};
use crate::error::Result;
use crate::ids::PlanId;
use crate::kinds::Action;
use crate::users::check;

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The plan id.
    pub id: PlanId,
    /// The limits of the plan.
    pub fields: PlanFields,
    /// Time of its creation, in seconds since 1970.
    pub created_s: i64,
    /// Time of its last change, in seconds since 1970.
    pub updated_s: i64,
}

/// The name and the limits of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFields {
    /// Name of the plan, like `Free`.
    pub name: String,
    /// Description of the plan.
    pub description: Option<String>,
    /// Hints that a user gets on a day.
    pub max_hints_per_day: PlanLimit,
    /// Executions that a user gets on a day.
    pub max_executions_per_day: PlanLimit,
    /// Problems that a user may have registered.
    pub max_problems: PlanLimit,
    /// Whether a user sees the problems of others.
    pub can_view_all_problems: bool,
    /// Whether a user may register problems.
    pub can_register_problems: bool,
    /// Whether users can be put on it. Users who are on it stay.
    pub is_active: bool,
}

impl PlanFields {
    /// The daily limit of an action.
    #[must_use]
    pub fn limit(&self, action: Action) -> PlanLimit {
        match action {
            Action::Hint => self.max_hints_per_day,
            Action::Execution => self.max_executions_per_day,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        check::line("name", &self.name, NAME_MAX)?;
        self.description.iter().try_for_each(|text| check::size("description", text, NOTE_MAX))
    }
}
