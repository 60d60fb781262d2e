//! Changes users: fields, activity, plan.

use weir_table::Backend;
use weir_table::retry::{TRIES_MAX, pause};

use super::{User, check};
use crate::audit::AuditAction;
use crate::error::{Error, Result};
use crate::ids::{Email, GoogleId, PlanId, UserId};
use crate::item::secs;
use crate::practice::Practice;

/// Fields to change; `None` leaves a field as it is, `Some(None)` removes its value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserPatch {
    /// The email address.
    pub email: Option<Email>,
    /// The name.
    pub name: Option<String>,
    /// URL of a picture.
    pub picture_url: Option<Option<String>>,
    /// The Google account.
    pub google_id: Option<Option<GoogleId>>,
    /// Whether the user is of the staff.
    pub is_staff: Option<bool>,
}

impl UserPatch {
    fn apply(&self, mut user: User) -> User {
        if let Some(email) = &self.email {
            user.email = email.clone();
        }
        if let Some(name) = &self.name {
            user.name.clone_from(name);
        }
        if let Some(url) = &self.picture_url {
            user.picture_url.clone_from(url);
        }
        if let Some(id) = &self.google_id {
            user.google_id.clone_from(id);
        }
        if let Some(is_staff) = self.is_staff {
            user.is_staff = is_staff;
        }
        user
    }
}

impl<B: Backend> Practice<B> {
    /// Changes fields of a user. Another email address or Google id is reserved, and the former one is free, at once.
    ///
    /// # Errors
    /// The user does not exist, a field is invalid, another user has the email address or the Google id, or the store fails.
    pub async fn update_user(&self, id: &UserId, patch: &UserPatch, actor: &str) -> Result<User> {
        let picture_url = patch.picture_url.as_ref().and_then(Option::as_deref);
        check::user(patch.name.as_deref(), picture_url)?;
        let change = |user: User| patch.apply(user);
        self.change_user(id, (AuditAction::UserUpdated, actor), change).await
    }

    /// Deactivates a user, whose requests are refused from the response on.
    ///
    /// # Errors
    /// The user does not exist, or the store fails.
    pub async fn deactivate_user(&self, id: &UserId, actor: &str) -> Result<User> {
        let change = |user: User| User { is_active: false, ..user };
        self.change_user(id, (AuditAction::UserDeactivated, actor), change).await
    }

    /// Activates a user again.
    ///
    /// # Errors
    /// The user does not exist, or the store fails.
    pub async fn reactivate_user(&self, id: &UserId, actor: &str) -> Result<User> {
        let change = |user: User| User { is_active: true, ..user };
        self.change_user(id, (AuditAction::UserUpdated, actor), change).await
    }

    /// Moves a user to another plan. No request passes by the old plan after the response.
    ///
    /// # Errors
    /// The user or the plan does not exist, the plan is inactive, or the store fails.
    pub async fn move_user(&self, id: &UserId, plan: PlanId, actor: &str) -> Result<User> {
        let change = |user: User| User { plan, ..user };
        self.change_user(id, (AuditAction::UserPlanChanged, actor), change).await
    }

    async fn change_user(
        &self,
        id: &UserId,
        event: (AuditAction, &str),
        change: impl Fn(User) -> User,
    ) -> Result<User> {
        let now_ms = self.now_ms();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let old = self.stored_user(id).await?;
            let new = change(old.user.clone());
            if new == old.user {
                return Ok(new);
            }
            let new = User { updated_s: secs(now_ms), ..new };
            let writes = self.user_writes(Some(&old), Some(&new), event, now_ms)?;
            if self.commit_user(writes, Vec::new(), new.plan).await? {
                return Ok(new);
            }
        }
        Err(Error::Contended)
    }
}
