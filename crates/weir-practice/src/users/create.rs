//! Creates users.

use weir_table::Backend;

use super::{User, check};
use crate::audit::AuditAction;
use crate::error::{Error, Result};
use crate::ids::{Email, GoogleId, PlanId, UserId};
use crate::item::secs;
use crate::practice::Practice;

/// A user about to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUser {
    /// The user id; a new one when `None`.
    pub id: Option<UserId>,
    /// The email address.
    pub email: Email,
    /// The name.
    pub name: String,
    /// URL of a picture.
    pub picture_url: Option<String>,
    /// The Google account.
    pub google_id: Option<GoogleId>,
    /// The plan; Free when `None`.
    pub plan: Option<PlanId>,
    /// Whether the user is of the staff.
    pub is_staff: bool,
}

impl NewUser {
    /// A user with an email address and a name, on the plan Free.
    #[must_use]
    pub fn new(email: Email, name: impl Into<String>) -> NewUser {
        NewUser {
            id: None,
            email,
            name: name.into(),
            picture_url: None,
            google_id: None,
            plan: None,
            is_staff: false,
        }
    }
}

impl<B: Backend> Practice<B> {
    /// Creates a user.
    ///
    /// # Errors
    /// A field is invalid, another user has the id, the email address or the Google id, the plan does not exist or is
    /// inactive, or the store fails.
    pub async fn create_user(&self, new: NewUser, actor: &str) -> Result<User> {
        let now_ms = self.now_ms();
        let user = User {
            id: new.id.unwrap_or_else(|| UserId::next(self.event_ids(), now_ms)),
            email: new.email,
            name: new.name,
            picture_url: new.picture_url,
            google_id: new.google_id,
            plan: new.plan.unwrap_or(PlanId::FREE),
            is_active: true,
            is_staff: new.is_staff,
            created_s: secs(now_ms),
            updated_s: secs(now_ms),
        };
        check::user(Some(&user.name), user.picture_url.as_deref())?;
        let event = (AuditAction::UserCreated, actor);
        let writes = self.user_writes(None, Some(&user), event, now_ms)?;
        if self.commit_user(writes, Vec::new(), user.plan).await? {
            return Ok(user);
        }
        Err(Error::conflict(format!("user_id: {} was given to a user before", user.id)))
    }
}
