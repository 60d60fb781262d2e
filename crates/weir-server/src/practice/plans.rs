//! Plans: what users may do each day.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use utoipa_axum::routes;
use weir_api::practice::{
    Plan, PlanParam, PlanRequest, RecountCountersRequest, RecountCountersResponse,
};
use weir_framework::actor::Actor;
use weir_framework::api::Api;
use weir_framework::app::App;
use weir_framework::extract::{Body, OptionalBody, Query};
use weir_framework::page::{Page, PageParams, page_response};
use weir_framework::prelude::Created;
use weir_practice::usage::Repair;

use super::convert;
use super::error::{PracticeError, Reply};
use super::path::{PlanPath, practice};
use super::scopes::ADMINISTRATOR;

/// Declares the routes.
pub(super) fn routes(api: Api) -> Api {
    api.route(ADMINISTRATOR, routes!(create, list))
        .route(ADMINISTRATOR, routes!(get, put, remove))
        .route(ADMINISTRATOR, routes!(recount_plans))
}

/// Creates a plan
#[utoipa::path(post, path = "/v1/practice/plans", tag = "practice-plans",
    request_body = PlanRequest, responses((status = 201, body = Plan)))]
pub(crate) async fn create(
    State(app): State<App>,
    actor: Actor,
    Body(request): Body<PlanRequest>,
) -> Result<Created<Plan>, PracticeError> {
    let fields = convert::plan_fields(request)?;
    let plan = practice(&app)?.create_plan(fields, actor.name()).await?;
    Ok(Created(convert::plan(plan, Some(0))))
}

/// Lists plans, newest first
///
/// The list may lag behind a change by an instant.
#[utoipa::path(get, path = "/v1/practice/plans", tag = "practice-plans", params(PageParams),
    responses((status = 200, body = Page<Plan>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Query(page): Query<PageParams>,
) -> Reply<Page<Plan>> {
    let found = practice(&app)?.plan_page(&convert::page_request(page)?).await?;
    Ok(page_response(found, |plan| convert::plan(plan, None)))
}

/// Returns a plan and the number of its users
#[utoipa::path(get, path = "/v1/practice/plans/{id}", tag = "practice-plans",
    params(PlanParam), responses((status = 200, body = Plan)))]
pub(crate) async fn get(State(app): State<App>, PlanPath(id): PlanPath) -> Reply<Plan> {
    let practice = practice(&app)?;
    let plan = practice.plan(id).await?;
    Ok(Json(convert::plan(plan, Some(practice.plan_user_count(id).await?))))
}

/// Replaces a plan
///
/// Requests that begin after the response are decided by the new limits.
#[utoipa::path(put, path = "/v1/practice/plans/{id}", tag = "practice-plans",
    params(PlanParam), request_body = PlanRequest, responses((status = 200, body = Plan)))]
pub(crate) async fn put(
    State(app): State<App>,
    PlanPath(id): PlanPath,
    actor: Actor,
    Body(request): Body<PlanRequest>,
) -> Reply<Plan> {
    let fields = convert::plan_fields(request)?;
    let practice = practice(&app)?;
    let plan = practice.put_plan(id, fields, actor.name()).await?;
    Ok(Json(convert::plan(plan, Some(practice.plan_user_count(id).await?))))
}

/// Deletes a plan without users
#[utoipa::path(delete, path = "/v1/practice/plans/{id}", tag = "practice-plans",
    params(PlanParam), responses((status = 204, description = "The plan is deleted")))]
pub(crate) async fn remove(
    State(app): State<App>,
    PlanPath(id): PlanPath,
    actor: Actor,
) -> Result<StatusCode, PracticeError> {
    practice(&app)?.delete_plan(id, actor.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Counts plans and the users of each again
///
/// With `repair`, counters that differ are corrected. The recount reads the whole table.
#[utoipa::path(post, path = "/v1/practice/plans/recount", tag = "practice-plans",
    request_body = Option<RecountCountersRequest>,
    responses((status = 200, body = RecountCountersResponse)))]
pub(crate) async fn recount_plans(
    State(app): State<App>,
    actor: Actor,
    OptionalBody(request): OptionalBody<RecountCountersRequest>,
) -> Reply<RecountCountersResponse> {
    let repair = if request.repair { Repair::By(actor.name()) } else { Repair::No };
    let checks = practice(&app)?.recount_plans(repair).await?;
    Ok(Json(convert::recounted_counters(checks)))
}
