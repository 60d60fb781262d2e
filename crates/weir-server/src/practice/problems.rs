//! Problems: creation, reads, changes and removal.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use utoipa_axum::routes;
use weir_api::practice::{
    DeleteProblemParams, NewProblem, PracticeProblem, ProblemIncludeParams, ProblemParam,
    ProblemPatch, ProblemReviewRequest, ProblemsParams, RecountCountersRequest,
    RecountCountersResponse,
};
use weir_framework::ApiError;
use weir_framework::actor::Actor;
use weir_framework::api::Api;
use weir_framework::app::App;
use weir_framework::extract::{Body, OptionalBody, Query, QueryParts};
use weir_framework::page::{Page, PageParams, page_response};
use weir_framework::prelude::Created;
use weir_practice::Error;
use weir_practice::bounds::JSON_BODY_MAX;
use weir_practice::counters::Counter;
use weir_practice::test_cases::TestCaseAccess;
use weir_practice::usage::Repair;

use super::access::UserAccess;
use super::convert;
use super::error::{PracticeError, Reply};
use super::path::{ProblemPath, practice};
use super::scopes::{ADMINISTRATOR, ANY_USER, USER_OR_WORKER};
use super::viewer::{self, Viewer};

/// Declares the routes.
pub(super) fn routes(api: Api) -> Api {
    api.route_with_body(USER_OR_WORKER, routes!(create), JSON_BODY_MAX)
        .route(ANY_USER, routes!(list))
        .route(USER_OR_WORKER, routes!(get))
        .route_with_body(ADMINISTRATOR, routes!(update), JSON_BODY_MAX)
        .route(ADMINISTRATOR, routes!(delete))
        .route(ADMINISTRATOR, routes!(publish))
        .route(ADMINISTRATOR, routes!(restore))
        .route(ADMINISTRATOR, routes!(review))
        .route(ADMINISTRATOR, routes!(verify))
        .route(ADMINISTRATOR, routes!(recount_problem))
}

/// Creates a problem
///
/// The backend of a user registers a problem of that user, as far as the user's plan allows. An administrator publishes it.
#[utoipa::path(post, path = "/v1/practice/problems", tag = "practice-problems", request_body = NewProblem,
    responses((status = 201, body = PracticeProblem)))]
pub(crate) async fn create(
    State(app): State<App>,
    access: UserAccess,
    actor: Actor,
    Body(request): Body<NewProblem>,
) -> Result<Created<PracticeProblem>, PracticeError> {
    let new = convert::new_problem(request)?;
    if new.is_published && !access.is_everything() {
        return Err(Error::forbidden("only administrators publish problems").into());
    }
    let created = viewer::create_problem(&app, &access, new, actor.name()).await?;
    Ok(Created(convert::problem_summary(created)))
}

/// Lists problems, newest first
///
/// The backend of a user gets the problems that the user may view. A page may be short while there are more.
#[utoipa::path(get, path = "/v1/practice/problems", tag = "practice-problems",
    params(ProblemsParams, PageParams), responses((status = 200, body = Page<PracticeProblem>)))]
pub(crate) async fn list(
    State(app): State<App>,
    access: UserAccess,
    QueryParts((page, by)): QueryParts<(PageParams, ProblemsParams)>,
) -> Reply<Page<PracticeProblem>> {
    let (page, filter) = (convert::page_request(page)?, convert::problem_filter(&by)?);
    let viewer = Viewer::of(&app, &access).await?;
    let mut found = practice(&app)?.problems(&filter, &page).await?;
    found.items.retain(|problem| viewer.sees(problem));
    Ok(page_response(found, |problem| viewer.shown(convert::problem_summary(problem))))
}

/// Returns a problem
///
/// Problems that an administrator has deleted are returned to administrators only.
#[utoipa::path(get, path = "/v1/practice/problems/{platform}/{problem_id}", tag = "practice-problems",
    params(ProblemParam, ProblemIncludeParams), responses((status = 200, body = PracticeProblem)))]
pub(crate) async fn get(
    State(app): State<App>,
    access: UserAccess,
    ProblemPath(at): ProblemPath,
    Query(params): Query<ProblemIncludeParams>,
) -> Reply<PracticeProblem> {
    let with_test_cases = convert::includes_test_cases(&params)?;
    let viewer = Viewer::of(&app, &access).await?;
    let practice = practice(&app)?;
    let problem = if with_test_cases {
        // Checked first: a caller who does not see the problem makes the server read nothing more.
        if viewer.test_cases() != TestCaseAccess::All {
            viewer.check(&practice.problem_summary(&at).await?)?;
        }
        let found = practice.problem_with_test_cases(&at, viewer.test_cases()).await?;
        viewer.check(&found.problem.summary)?;
        convert::problem_with_test_cases(found)
    } else {
        let found = practice.problem(&at).await?;
        viewer.check(&found.summary)?;
        convert::problem(found)
    };
    Ok(Json(viewer.shown(problem)))
}

/// Changes fields of a problem
#[utoipa::path(patch, path = "/v1/practice/problems/{platform}/{problem_id}", tag = "practice-problems",
    params(ProblemParam), request_body = ProblemPatch,
    responses((status = 200, body = PracticeProblem)))]
pub(crate) async fn update(
    State(app): State<App>,
    actor: Actor,
    ProblemPath(at): ProblemPath,
    Body(request): Body<ProblemPatch>,
) -> Reply<PracticeProblem> {
    let patch = convert::problem_patch(request)?;
    let changed = practice(&app)?.update_problem(&at, patch, actor.name()).await?;
    Ok(Json(convert::problem_summary(changed)))
}

/// Deletes a problem
///
/// A deleted problem is in no list but that of deleted ones, until it is restored. With `hard` it is removed with its test
/// cases, for good.
#[utoipa::path(delete, path = "/v1/practice/problems/{platform}/{problem_id}", tag = "practice-problems",
    params(ProblemParam, DeleteProblemParams), responses(
        (status = 200, description = "The problem is deleted", body = PracticeProblem),
        (status = 204, description = "The problem is removed for good")))]
pub(crate) async fn delete(
    State(app): State<App>,
    actor: Actor,
    ProblemPath(at): ProblemPath,
    Query(params): Query<DeleteProblemParams>,
) -> Result<Response, PracticeError> {
    let practice = practice(&app)?;
    if !params.hard {
        let deleted = practice.delete_problem(&at, params.reason, actor.name()).await?;
        return Ok(Json(convert::problem_summary(deleted)).into_response());
    }
    if params.reason.is_some() {
        let problem = "is of a problem that can be restored; leave it out with hard";
        return Err(ApiError::invalid("reason", problem).into());
    }
    practice.purge_problem(&at, actor.name()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Publishes a problem
#[utoipa::path(post, path = "/v1/practice/problems/{platform}/{problem_id}/publish",
    tag = "practice-problems", params(ProblemParam), responses((status = 200, body = PracticeProblem)))]
pub(crate) async fn publish(
    State(app): State<App>,
    actor: Actor,
    ProblemPath(at): ProblemPath,
) -> Reply<PracticeProblem> {
    let changed = practice(&app)?.publish_problem(&at, actor.name()).await?;
    Ok(Json(convert::problem_summary(changed)))
}

/// Restores a deleted problem
#[utoipa::path(post, path = "/v1/practice/problems/{platform}/{problem_id}/restore",
    tag = "practice-problems", params(ProblemParam), responses((status = 200, body = PracticeProblem)))]
pub(crate) async fn restore(
    State(app): State<App>,
    actor: Actor,
    ProblemPath(at): ProblemPath,
) -> Reply<PracticeProblem> {
    let changed = practice(&app)?.restore_problem(&at, actor.name()).await?;
    Ok(Json(convert::problem_summary(changed)))
}

/// Marks a problem for review
///
/// The problem is not verified until its review ends.
#[utoipa::path(post, path = "/v1/practice/problems/{platform}/{problem_id}/review",
    tag = "practice-problems", params(ProblemParam), request_body = Option<ProblemReviewRequest>,
    responses((status = 200, body = PracticeProblem)))]
pub(crate) async fn review(
    State(app): State<App>,
    actor: Actor,
    ProblemPath(at): ProblemPath,
    OptionalBody(request): OptionalBody<ProblemReviewRequest>,
) -> Reply<PracticeProblem> {
    let marked = practice(&app)?.request_review(&at, request.review_notes, actor.name()).await;
    let changed = convert::in_field("review_notes", marked)?;
    Ok(Json(convert::problem_summary(changed)))
}

/// Verifies a problem, which ends its review
#[utoipa::path(post, path = "/v1/practice/problems/{platform}/{problem_id}/verify",
    tag = "practice-problems", params(ProblemParam), responses((status = 200, body = PracticeProblem)))]
pub(crate) async fn verify(
    State(app): State<App>,
    actor: Actor,
    ProblemPath(at): ProblemPath,
) -> Reply<PracticeProblem> {
    let changed = practice(&app)?.verify_problem(&at, actor.name()).await?;
    Ok(Json(convert::problem_summary(changed)))
}

/// Counts the test cases of a problem again
///
/// With `repair`, the counter is corrected if it differs.
#[utoipa::path(post, path = "/v1/practice/problems/{platform}/{problem_id}/recount",
    tag = "practice-problems", params(ProblemParam), request_body = Option<RecountCountersRequest>,
    responses((status = 200, body = RecountCountersResponse)))]
pub(crate) async fn recount_problem(
    State(app): State<App>,
    actor: Actor,
    ProblemPath(at): ProblemPath,
    OptionalBody(request): OptionalBody<RecountCountersRequest>,
) -> Reply<RecountCountersResponse> {
    let repair = if request.repair { Repair::By(actor.name()) } else { Repair::No };
    let check = practice(&app)?.recount_counter(&Counter::TestCases(at), repair).await?;
    Ok(Json(convert::recounted_counters(vec![check])))
}
