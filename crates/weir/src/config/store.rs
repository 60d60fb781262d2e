//! `[store]`: where tables are.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Where tables are.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Store {
    /// The kind of store: "embedded", a folder on this machine, or "dynamodb".
    #[config(default = "embedded", env = "WEIR_STORE")]
    pub(crate) kind: Kind,
    /// Folder of the embedded store.
    #[config(default = "./weir-data", env = "WEIR_DATA")]
    pub(crate) data: PathBuf,
    /// Endpoint of DynamoDB (http:// or https://), when it is not AWS's own.
    #[config(env = "WEIR_DYNAMODB_ENDPOINT")]
    pub(crate) dynamodb_endpoint: Option<String>,
    /// AWS region; without it the usual AWS settings are asked.
    #[config(env = "WEIR_REGION")]
    pub(crate) region: Option<String>,
    /// What stands before every table's name in DynamoDB.
    #[config(env = "WEIR_TABLE_PREFIX")]
    pub(crate) table_prefix: Option<String>,
}

/// The kinds of store.
// The variants have no doc comments: with them clap spreads every help text over three lines a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Embedded,
    #[value(name = "dynamodb")]
    #[serde(rename = "dynamodb")]
    Dynamo,
}
