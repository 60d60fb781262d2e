//! Test cases of a problem, one by one and as an upload of many.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::formats::{IdempotencyKey, TestCaseNumber};

/// Content type of JSON lines.
pub const JSON_LINES: &str = "application/x-ndjson";
/// Content type of a zip archive.
pub const ZIP: &str = "application/zip";

/// The test case that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TestCaseParam {
    /// Id of the test case.
    #[param(value_type = TestCaseNumber, inline)]
    pub id: String,
}

/// Which upload this is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UploadParams {
    /// Key with which an upload is repeated safely; by default its content is the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = IdempotencyKey, inline, required = false)]
    pub idempotency_key: Option<String>,
}

/// A test case to store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTestCase {
    /// Input of the program, up to 1 MiB.
    #[schema(max_length = 1_048_576)]
    pub input: String,
    /// Expected output, up to 1 MiB.
    #[schema(max_length = 1_048_576)]
    pub output: String,
    /// Whether everyone who may view the problem may view the test case; otherwise it is hidden.
    #[serde(default)]
    #[schema(default = false)]
    pub sample: bool,
}

/// A test case of a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TestCase {
    /// Id of the test case, unique within its problem.
    pub id: String,
    /// Input of the program.
    pub input: String,
    /// Expected output.
    pub output: String,
    /// Whether everyone who may view the problem may view the test case.
    pub sample: bool,
    /// Time of the creation.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of the last change.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// The result of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UploadResponse {
    /// Test cases that the upload has added.
    pub added: u64,
    /// Test cases that an earlier attempt of the same upload had added.
    pub unchanged: u64,
}
