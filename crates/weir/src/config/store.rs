//! `[store]`: the store of all tables.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The store of all tables.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Store {
    /// Kind of store: "embedded" (a folder on this machine) or "dynamodb".
    #[config(default = "embedded", env = "WEIR_STORE")]
    pub(crate) kind: Kind,
    /// Folder of the embedded store.
    #[config(default = "./weir-data", env = "WEIR_DATA")]
    pub(crate) data: PathBuf,
    /// Endpoint of DynamoDB (http:// or https://). The default is the endpoint of the AWS region.
    #[config(env = "WEIR_DYNAMODB_ENDPOINT")]
    pub(crate) dynamodb_endpoint: Option<String>,
    /// AWS region. The default comes from the AWS environment variables and profiles.
    #[config(env = "WEIR_REGION")]
    pub(crate) region: Option<String>,
    /// Prefix of all table names in DynamoDB.
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
