//! Users: who signs in, by email address or Google id, and on which plan.
//!
//! Every change of a user is one transaction of the items that differ (`change`): the user, the copy for Google sign-ins,
//! the reservations of email address and Google id, the entry in the list of the plan, and the counters of plans. So two
//! users never share an address, and a counter is never off.

mod adopt;
mod change;
pub(crate) mod check;
mod create;
mod erase;
mod erase_runs;
mod erase_usage;
mod import;
mod item;
mod read;
mod update;

pub use self::create::NewUser;
pub use self::erase::ErasureReport;
pub use self::update::UserPatch;
use crate::ids::{Email, GoogleId, PlanId, UserId};

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The user id.
    pub id: UserId,
    /// The email address, as it was given.
    pub email: Email,
    /// The name.
    pub name: String,
    /// URL of a picture.
    pub picture_url: Option<String>,
    /// The Google account.
    pub google_id: Option<GoogleId>,
    /// The plan.
    pub plan: PlanId,
    /// Whether the user may do anything.
    pub is_active: bool,
    /// Whether the user is of the staff, whom no plan limits.
    pub is_staff: bool,
    /// Time of the creation, in seconds since 1970.
    pub created_s: i64,
    /// Time of the last change, in seconds since 1970.
    pub updated_s: i64,
}
