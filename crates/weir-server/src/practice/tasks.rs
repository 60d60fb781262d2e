//! Results of tasks.

use axum::Json;
use axum::extract::State;
use utoipa_axum::routes;
use weir_api::practice::{TaskParam, TaskResult, TaskResultRequest};
use weir_framework::api::Api;
use weir_framework::app::App;
use weir_framework::extract::Body;

use super::convert;
use super::error::Reply;
use super::path::{TaskPath, practice};
use super::scopes::ANY_WORKER;

/// Declares the routes.
pub(super) fn routes(api: Api) -> Api {
    api.route(ANY_WORKER, routes!(put, get))
}

/// Stores the result of a task
///
/// Replaces an earlier result; one of an earlier state than that of a task that has ended returns 409.
#[utoipa::path(put, path = "/v1/practice/tasks/{id}", tag = "practice-tasks",
    params(TaskParam), request_body = TaskResultRequest,
    responses((status = 200, body = TaskResult)))]
pub(crate) async fn put(
    State(app): State<App>,
    TaskPath(id): TaskPath,
    Body(request): Body<TaskResultRequest>,
) -> Reply<TaskResult> {
    let new = convert::new_task_result(request)?;
    Ok(Json(convert::task_result(practice(&app)?.put_task_result(&id, &new).await?)))
}

/// Returns the result of a task
#[utoipa::path(get, path = "/v1/practice/tasks/{id}", tag = "practice-tasks",
    params(TaskParam), responses((status = 200, body = TaskResult)))]
pub(crate) async fn get(State(app): State<App>, TaskPath(id): TaskPath) -> Reply<TaskResult> {
    Ok(Json(convert::task_result(practice(&app)?.task_result(&id).await?)))
}
