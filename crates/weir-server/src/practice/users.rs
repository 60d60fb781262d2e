//! Users: creation, lists, changes and deletion.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use utoipa_axum::routes;
use weir_api::practice::{
    MoveUserRequest, NewUser, PracticeUserParam, RecountCountersRequest, RecountCountersResponse,
    User, UserListParams, UserPatch,
};
use weir_framework::ApiError;
use weir_framework::actor::Actor;
use weir_framework::api::Api;
use weir_framework::app::App;
use weir_framework::extract::{Body, OptionalBody, QueryParts};
use weir_framework::page::{Page, PageParams, page_response};
use weir_framework::prelude::Created;
use weir_practice::counters::Counter;
use weir_practice::ids::{Email, GoogleId, PlanId};
use weir_practice::usage::Repair;
use weir_table::retry::Listed;

use super::convert;
use super::error::{PracticeError, Reply};
use super::path::{UserPath, practice};
use super::scopes::ADMINISTRATOR;

/// Declares the routes.
pub(super) fn routes(api: Api) -> Api {
    api.route(ADMINISTRATOR, routes!(create, list))
        .route(ADMINISTRATOR, routes!(get, change, remove))
        .route(ADMINISTRATOR, routes!(deactivate))
        .route(ADMINISTRATOR, routes!(reactivate))
        .route(ADMINISTRATOR, routes!(set_plan))
        .route(ADMINISTRATOR, routes!(recount_user))
}

/// Creates a user
///
/// Of several requests with one email address or Google id, one succeeds and the others return 409.
#[utoipa::path(post, path = "/v1/practice/users", tag = "practice-users",
    request_body = NewUser, responses((status = 201, body = User)))]
pub(crate) async fn create(
    State(app): State<App>,
    actor: Actor,
    Body(request): Body<NewUser>,
) -> Result<Created<User>, PracticeError> {
    let new = convert::new_user(request)?;
    let created = practice(&app)?.create_user(new, actor.name()).await?;
    Ok(Created(convert::user(created)))
}

/// Lists users, newest first: all, or by email address, Google id or plan
///
/// The list of a plan may lag behind a change by an instant; finding a user by email address or Google id does not.
#[utoipa::path(get, path = "/v1/practice/users", tag = "practice-users",
    params(UserListParams, PageParams), responses((status = 200, body = Page<User>)))]
pub(crate) async fn list(
    State(app): State<App>,
    QueryParts((by, page)): QueryParts<(UserListParams, PageParams)>,
) -> Reply<Page<User>> {
    let page = convert::page_request(page)?;
    let practice = practice(&app)?;
    let found = match (by.email, by.google_id, by.plan) {
        (Some(email), None, None) => one(practice.user_by_email(&Email::new(&email)?).await)?,
        (None, Some(id), None) => one(practice.user_by_google_id(&GoogleId::new(&id)?).await)?,
        (None, None, plan) => {
            let plan = plan.map(PlanId::new).transpose();
            practice.users(plan.map_err(|error| named("plan", error))?, &page).await?
        }
        _ => {
            let problem = "is not combined with google_id and plan: only one of them is allowed";
            return Err(ApiError::invalid("email", problem).into());
        }
    };
    Ok(page_response(found, convert::user))
}

/// A list of the user, or an empty one if there is none.
fn one(
    found: weir_practice::Result<weir_practice::users::User>,
) -> weir_practice::Result<Listed<weir_practice::users::User>> {
    let items = match found {
        Ok(user) => vec![user],
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(Listed { items, cursor: None })
}

/// The same error, of another field.
fn named(field: &str, error: weir_practice::Error) -> weir_practice::Error {
    match error {
        weir_practice::Error::Invalid { problem, .. } => {
            weir_practice::Error::invalid(field, problem)
        }
        other => other,
    }
}

/// Returns a user
#[utoipa::path(get, path = "/v1/practice/users/{id}", tag = "practice-users",
    params(PracticeUserParam), responses((status = 200, body = User)))]
pub(crate) async fn get(State(app): State<App>, UserPath(id): UserPath) -> Reply<User> {
    Ok(Json(convert::user(practice(&app)?.user(&id).await?)))
}

/// Changes fields of a user
///
/// Another email address or Google id is reserved, and the former one is free, at once.
#[utoipa::path(patch, path = "/v1/practice/users/{id}", tag = "practice-users",
    params(PracticeUserParam), request_body = UserPatch, responses((status = 200, body = User)))]
pub(crate) async fn change(
    State(app): State<App>,
    UserPath(id): UserPath,
    actor: Actor,
    Body(request): Body<UserPatch>,
) -> Reply<User> {
    let patch = convert::user_patch(request)?;
    Ok(Json(convert::user(practice(&app)?.update_user(&id, &patch, actor.name()).await?)))
}

/// Deletes a user
///
/// Removes the personal data at once and the details of the usage log within minutes. Counts stay, and the id is never
/// given to another user.
#[utoipa::path(delete, path = "/v1/practice/users/{id}", tag = "practice-users",
    params(PracticeUserParam), responses((status = 204, description = "The user is deleted")))]
pub(crate) async fn remove(
    State(app): State<App>,
    UserPath(id): UserPath,
    actor: Actor,
) -> Result<StatusCode, PracticeError> {
    practice(&app)?.erase_user(&id, actor.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deactivates a user
///
/// Requests for usage that begin after the response return 403.
#[utoipa::path(post, path = "/v1/practice/users/{id}/deactivate", tag = "practice-users",
    params(PracticeUserParam), responses((status = 200, body = User)))]
pub(crate) async fn deactivate(
    State(app): State<App>,
    UserPath(id): UserPath,
    actor: Actor,
) -> Reply<User> {
    Ok(Json(convert::user(practice(&app)?.deactivate_user(&id, actor.name()).await?)))
}

/// Activates a user again
#[utoipa::path(post, path = "/v1/practice/users/{id}/reactivate", tag = "practice-users",
    params(PracticeUserParam), responses((status = 200, body = User)))]
pub(crate) async fn reactivate(
    State(app): State<App>,
    UserPath(id): UserPath,
    actor: Actor,
) -> Reply<User> {
    Ok(Json(convert::user(practice(&app)?.reactivate_user(&id, actor.name()).await?)))
}

/// Moves a user to another plan
///
/// After the response no request passes by the limits of the old plan.
#[utoipa::path(put, path = "/v1/practice/users/{id}/plan", tag = "practice-users",
    params(PracticeUserParam), request_body = MoveUserRequest,
    responses((status = 200, body = User)))]
pub(crate) async fn set_plan(
    State(app): State<App>,
    UserPath(id): UserPath,
    actor: Actor,
    Body(request): Body<MoveUserRequest>,
) -> Reply<User> {
    let plan = PlanId::new(request.plan_id)?;
    Ok(Json(convert::user(practice(&app)?.move_user(&id, plan, actor.name()).await?)))
}

/// Counts the problems that a user has registered again
///
/// With `repair`, the counter is corrected if it differs. The recount reads the whole table.
#[utoipa::path(post, path = "/v1/practice/users/{id}/recount", tag = "practice-users",
    params(PracticeUserParam), request_body = Option<RecountCountersRequest>,
    responses((status = 200, body = RecountCountersResponse)))]
pub(crate) async fn recount_user(
    State(app): State<App>,
    UserPath(id): UserPath,
    actor: Actor,
    OptionalBody(request): OptionalBody<RecountCountersRequest>,
) -> Reply<RecountCountersResponse> {
    let repair = if request.repair { Repair::By(actor.name()) } else { Repair::No };
    let check = practice(&app)?.recount_counter(&Counter::UserProblems(id), repair).await?;
    Ok(Json(convert::recounted_counters(vec![check])))
}
