//! `/v1/practice/tasks/{id}`: results of tasks.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::formats::TaskStatus;

/// A result of a task to store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskResultRequest {
    /// State of the task. A task that has ended with SUCCESS, FAILURE or REVOKED does not go back.
    #[schema(value_type = TaskStatus)]
    pub status: String,
    /// Value that the task returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Place where the task failed, at most 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 65_536)]
    pub traceback: Option<String>,
}

/// The result of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskResult {
    /// Id of the task.
    pub id: String,
    /// State of the task.
    pub status: String,
    /// Value that the task returned.
    pub result: Option<Value>,
    /// Place where the task failed.
    pub traceback: Option<String>,
    /// Time at which the task was first reported.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time at which the result was last written.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Time at which the result expires; `null` if it does not.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}
