//! The users, problems and jobs that a caller may access.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use weir_framework::app::App;
use weir_framework::auth::grant::Access;
use weir_framework::authorize::Caller;
use weir_practice::Error;
use weir_practice::ids::UserId;

use super::error::PracticeError;
use super::scopes::{PRACTICE, USER, WORKER};

/// The access of a caller with the method of the request. An entity beyond it is "not found" for the caller.
pub(crate) struct UserAccess {
    caller: Caller,
    access: Access,
}

impl UserAccess {
    /// Whether the caller reaches everything: with the scope `practice`, or `practice:read` and a safe method.
    pub(crate) fn is_everything(&self) -> bool {
        self.caller.0.grants.allows(&PRACTICE, &[], self.access)
    }

    /// Whether the caller reaches jobs and what they need: everyone who reaches everything, and workers.
    pub(crate) fn is_worker(&self) -> bool {
        self.caller.0.grants.allows(&WORKER, &[], self.access)
    }

    /// Whether the caller reaches the data of this user.
    pub(crate) fn is_user(&self, id: &UserId) -> bool {
        self.caller.0.grants.allows(&USER, &[id.as_str()], self.access)
    }

    /// The users that the scopes of the caller name.
    pub(crate) fn users(&self) -> Vec<UserId> {
        let grants = self.caller.0.grants.list().iter().filter(|grant| *grant.kind == USER);
        let ids = grants.filter_map(|grant| UserId::new(grant.ids.first()?).ok());
        ids.filter(|id| self.is_user(id)).collect()
    }

    /// Checks that the caller reaches the data of this user.
    ///
    /// # Errors
    /// It does not: the same error as for a user that does not exist.
    pub(crate) fn check_user(&self, id: &UserId) -> Result<(), PracticeError> {
        match self.is_user(id) {
            true => Ok(()),
            false => Err(Error::not_found("user", id).into()),
        }
    }
}

impl FromRequestParts<App> for UserAccess {
    type Rejection = PracticeError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<UserAccess, PracticeError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        let access = if parts.method.is_safe() { Access::Read } else { Access::Write };
        Ok(UserAccess { caller, access })
    }
}
