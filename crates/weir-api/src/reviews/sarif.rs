//! The outline of a SARIF file, for the OpenAPI description. The standard describes the rest.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A SARIF file.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SarifLog {
    /// Version of SARIF: `2.1.0`.
    #[schema(pattern = "^2\\.1\\.0$", example = "2.1.0")]
    pub version: String,
    /// Runs of tools.
    pub runs: Vec<SarifRun>,
}

/// A run of a tool.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SarifRun {
    /// Tool of the run.
    pub tool: SarifTool,
    /// Results of the run, as SARIF describes them.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    pub results: Vec<Value>,
}

/// A tool.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SarifTool {
    /// Program of the tool.
    pub driver: SarifDriver,
}

/// The program of a tool.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SarifDriver {
    /// Name of the tool, which is the model unless the request names one.
    pub name: String,
}
