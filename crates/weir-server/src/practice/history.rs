//! Recorded runs, and the public feed.
//!
//! The backend of a user records, changes and lists the runs of that user, and reads the public runs of others, without the
//! ids of their users. Other runs do not exist for it.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use utoipa_axum::routes;
use weir_api::practice::{NewHints, NewRun, PracticeRun, PracticeUserParam, RunParam, RunPatch};
use weir_framework::actor::Actor;
use weir_framework::api::Api;
use weir_framework::app::App;
use weir_framework::extract::{Body, Query};
use weir_framework::page::{Page, PageParams, page_response};
use weir_framework::prelude::Created;
use weir_practice::bounds::JSON_BODY_MAX;
use weir_practice::history::{NewRun as NewDomainRun, RunSummary};
use weir_practice::ids::{HistoryId, UserId};
use weir_practice::{Error, Result as DomainResult};

use super::access::UserAccess;
use super::convert;
use super::error::{PracticeError, Reply};
use super::path::{HistoryPath, ReachedUser, practice};
use super::scopes::ANY_USER;
use super::viewer::only_user;

/// Declares the routes.
pub(super) fn routes(api: Api) -> Api {
    api.route_with_body(ANY_USER, routes!(record), JSON_BODY_MAX)
        .route(ANY_USER, routes!(get))
        .route(ANY_USER, routes!(change))
        .route(ANY_USER, routes!(add_hints))
        .route(ANY_USER, routes!(feed))
        .route(ANY_USER, routes!(list_of_user))
}

/// Records a run
///
/// The same run with the same `history_id` or `idempotency_key` again changes nothing and returns 200. The backend of a user
/// records runs of that user only, and repeats them by key.
#[utoipa::path(post, path = "/v1/practice/history", tag = "practice-history", request_body = NewRun,
    responses(
        (status = 200, description = "The run was recorded before", body = PracticeRun),
        (status = 201, description = "The run is recorded", body = PracticeRun)))]
pub(crate) async fn record(
    State(app): State<App>,
    access: UserAccess,
    Body(request): Body<NewRun>,
) -> Result<Response, PracticeError> {
    let mut new = convert::new_run(request)?;
    if !access.is_everything() {
        own(&access, &mut new)?;
        if let Some(user) = &new.user_id {
            practice(&app)?.access(user).await?.require_active()?;
        }
    }
    let recorded = practice(&app)?.record_run(new).await?;
    let run = convert::run_summary(recorded.run);
    Ok(match recorded.is_new {
        true => Created(run).into_response(),
        false => Json(run).into_response(),
    })
}

/// Makes a run that of the caller's user.
fn own(access: &UserAccess, new: &mut NewDomainRun) -> DomainResult<()> {
    // Ids are of all users: whether one is taken says something about another user.
    if new.id.is_some() {
        let problem = "is for administrators; send an idempotency_key instead";
        return Err(Error::invalid("history_id", problem));
    }
    match &new.user_id {
        Some(user) if access.is_user(user) => Ok(()),
        Some(user) => Err(Error::not_found("user", user)),
        None => {
            new.user_id = Some(only_user(access, "user_id")?);
            Ok(())
        }
    }
}

/// Returns a run
#[utoipa::path(get, path = "/v1/practice/history/{id}", tag = "practice-history", params(RunParam),
    responses((status = 200, body = PracticeRun)))]
pub(crate) async fn get(
    State(app): State<App>,
    access: UserAccess,
    HistoryPath(id): HistoryPath,
) -> Reply<PracticeRun> {
    let run = practice(&app)?.run(&id).await?;
    if !run.summary.is_public && !is_own(&access, &run.summary) {
        return Err(Error::not_found("run", &id).into());
    }
    Ok(Json(shown(&access, convert::run(run))))
}

/// Makes a run public or private
///
/// A public run is in the feed.
#[utoipa::path(patch, path = "/v1/practice/history/{id}", tag = "practice-history", params(RunParam),
    request_body = RunPatch, responses((status = 200, body = PracticeRun)))]
pub(crate) async fn change(
    State(app): State<App>,
    access: UserAccess,
    actor: Actor,
    HistoryPath(id): HistoryPath,
    Body(request): Body<RunPatch>,
) -> Reply<PracticeRun> {
    check_own(&app, &access, &id).await?;
    let administrator = access.is_everything().then(|| actor.name());
    let practice = practice(&app)?;
    let changed = practice.set_run_visibility(&id, request.is_code_public, administrator).await?;
    Ok(Json(convert::run_summary(changed)))
}

/// Adds hints to a run
#[utoipa::path(post, path = "/v1/practice/history/{id}/hints", tag = "practice-history",
    params(RunParam), request_body = NewHints, responses((status = 200, body = PracticeRun)))]
pub(crate) async fn add_hints(
    State(app): State<App>,
    access: UserAccess,
    HistoryPath(id): HistoryPath,
    Body(request): Body<NewHints>,
) -> Reply<PracticeRun> {
    if request.hints.is_empty() {
        return Err(Error::invalid("hints", "is empty").into());
    }
    check_own(&app, &access, &id).await?;
    let changed = practice(&app)?.add_hints(&id, &request.hints).await?;
    Ok(Json(convert::run_summary(changed)))
}

/// Lists public runs, newest first
///
/// A page may be short while there are more.
#[utoipa::path(get, path = "/v1/practice/feed", tag = "practice-history", params(PageParams),
    responses((status = 200, body = Page<PracticeRun>)))]
pub(crate) async fn feed(
    State(app): State<App>,
    access: UserAccess,
    Query(page): Query<PageParams>,
) -> Reply<Page<PracticeRun>> {
    let found = practice(&app)?.feed(&convert::page_request(page)?).await?;
    Ok(page_response(found, |run| shown(&access, convert::run_summary(run))))
}

/// Lists the runs of a user, newest first
#[utoipa::path(get, path = "/v1/practice/users/{id}/history", tag = "practice-history",
    params(PracticeUserParam, PageParams), responses((status = 200, body = Page<PracticeRun>)))]
pub(crate) async fn list_of_user(
    State(app): State<App>,
    ReachedUser(user): ReachedUser,
    Query(page): Query<PageParams>,
) -> Reply<Page<PracticeRun>> {
    let found = practice(&app)?.runs_of_user(&user, &convert::page_request(page)?).await?;
    Ok(page_response(found, convert::run_summary))
}

/// Checks that a run is one that the caller may change. The user of a run never changes.
async fn check_own(app: &App, access: &UserAccess, id: &HistoryId) -> Result<(), PracticeError> {
    if access.is_everything() {
        return Ok(());
    }
    let run = practice(app)?.run(id).await?;
    if !is_own(access, &run.summary) {
        return Err(Error::not_found("run", id).into());
    }
    if let Some(user) = &run.summary.user_id {
        practice(app)?.access(user).await?.require_active()?;
    }
    Ok(())
}

/// Whether a run is of the caller's user, or the caller reaches everything.
fn is_own(access: &UserAccess, run: &RunSummary) -> bool {
    access.is_everything() || run.user_id.as_ref().is_some_and(|user| access.is_user(user))
}

/// A run as the caller sees it: without the user's id, if it is of another user.
fn shown(access: &UserAccess, run: PracticeRun) -> PracticeRun {
    let of = run.user_id.as_deref().and_then(|id| UserId::new(id).ok());
    let is_shown = access.is_everything() || of.is_some_and(|user| access.is_user(&user));
    if is_shown { run } else { PracticeRun { user_id: None, ..run } }
}
