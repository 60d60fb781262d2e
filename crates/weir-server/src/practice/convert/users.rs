//! Users.

use weir_api::practice as api;
use weir_framework::time::time;
use weir_practice::Result;
use weir_practice::ids::{Email, GoogleId, PlanId};
use weir_practice::users::{NewUser, User, UserPatch};

use super::ms;

/// A user about to be created.
pub(in crate::practice) fn new_user(request: api::NewUser) -> Result<NewUser> {
    Ok(NewUser {
        picture_url: request.picture_url,
        google_id: request.google_id.as_deref().map(GoogleId::new).transpose()?,
        plan: request.plan_id.map(PlanId::new).transpose()?,
        is_staff: request.is_staff,
        ..NewUser::new(Email::new(&request.email)?, request.name)
    })
}

/// Fields of a user to change.
pub(in crate::practice) fn user_patch(request: api::UserPatch) -> Result<UserPatch> {
    let google_id = request.google_id.map(|id| id.as_deref().map(GoogleId::new).transpose());
    Ok(UserPatch {
        email: request.email.as_deref().map(Email::new).transpose()?,
        name: request.name,
        picture_url: request.picture_url,
        google_id: google_id.transpose()?,
        is_staff: request.is_staff,
    })
}

/// A user.
pub(in crate::practice) fn user(user: User) -> api::User {
    api::User {
        id: user.id.to_string(),
        email: user.email.as_str().to_owned(),
        name: user.name,
        picture_url: user.picture_url,
        google_id: user.google_id.map(|id| id.to_string()),
        plan_id: user.plan.get(),
        is_active: user.is_active,
        is_staff: user.is_staff,
        created_at: time(ms(user.created_s)),
        updated_at: time(ms(user.updated_s)),
    }
}
