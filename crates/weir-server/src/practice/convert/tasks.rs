//! Results of tasks.

use weir_api::practice as api;
use weir_framework::time::time;
use weir_practice::Result;
use weir_practice::bounds::ITEM_BYTES_MAX;
use weir_practice::json::{any_value, from_value};
use weir_practice::tasks::{NewTaskResult, TaskResult, TaskStatus};

use super::ms;

/// A result of a task to store.
pub(in crate::practice) fn new_task_result(
    request: api::TaskResultRequest,
) -> Result<NewTaskResult> {
    let result = request.result.as_ref().map(|json| any_value("result", json, ITEM_BYTES_MAX));
    Ok(NewTaskResult {
        status: TaskStatus::new(&request.status)?,
        result: result.transpose()?,
        traceback: request.traceback,
    })
}

/// The result of a task.
pub(in crate::practice) fn task_result(found: TaskResult) -> api::TaskResult {
    api::TaskResult {
        id: found.task.to_string(),
        status: found.status.to_string(),
        result: found.result.as_ref().map(from_value),
        traceback: found.traceback,
        created_at: time(ms(found.created_s)),
        updated_at: time(ms(found.updated_s)),
        expires_at: found.expires_s.map(|expires_s| time(ms(expires_s))),
    }
}
