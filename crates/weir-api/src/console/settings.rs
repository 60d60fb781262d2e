//! `/v1/settings`: the configuration in force.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A key of the configuration with its value in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigEntry {
    /// Key of the configuration, with its section.
    #[schema(example = "server.listen")]
    pub key: String,
    /// Value in force; `null` when it is not set, dots when it is a secret.
    pub value: Value,
    /// Layer that sets the value.
    pub layer: ConfigLayer,
    /// File, variable or flag that sets the value; `null` for a default.
    pub name: Option<String>,
}

/// A layer of the configuration. Each overrides those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfigLayer {
    /// The built-in default.
    Default,
    /// The configuration file.
    File,
    /// An environment variable.
    Environment,
    /// A flag of the command.
    Flag,
}
