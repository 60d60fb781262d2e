//! `[store]`: the store of all tables.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use weir_table::embedded::Options;

/// The store of all tables.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Store {
    /// Kind of store: "embedded" (a folder on this machine) or "dynamodb".
    #[config(default = "embedded", env = "WEIR_STORE")]
    pub(crate) kind: Kind,
    /// Folder of the embedded store.
    #[config(default = "./weir-data", env = "WEIR_DATA")]
    pub(crate) data: PathBuf,
    /// Embedded store: memory for cached items in bytes. The block cache of the key-value store gets half as much again.
    #[config(default = 67_108_864, env = "WEIR_STORE_CACHE_BYTES")]
    pub(crate) cache_bytes: u64,
    /// Embedded store: memory for recent commits in bytes. Writers wait when it is full.
    #[config(default = 150_994_944, env = "WEIR_STORE_DIRTY_BYTES_MAX")]
    pub(crate) dirty_bytes_max: u64,
    /// Embedded store: bytes of the change feed that are retained for consumers that are behind.
    #[config(default = 4_294_967_296_u64, env = "WEIR_STORE_FEED_BYTES_MAX")]
    pub(crate) feed_bytes_max: u64,
    /// Embedded store: seconds after which the change feed no longer waits for a consumer that reads nothing.
    #[config(default = 7200, env = "WEIR_STORE_FEED_IDLE_SECS")]
    pub(crate) feed_idle_secs: u64,
    /// Embedded store: free bytes of the disk below which only deletions and settlements are accepted; 0 for no bound.
    #[config(default = 268_435_456, env = "WEIR_STORE_FREE_BYTES_MIN")]
    pub(crate) free_bytes_min: u64,
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

/// The bounds of an embedded store. Commands that open it keep them as the server does: otherwise they would trim changes that the
/// configuration keeps, or refuse a disk that it accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    cache_bytes: u64,
    dirty_bytes_max: u64,
    feed_bytes_max: u64,
    feed_idle_max: Duration,
    free_bytes_min: u64,
}

impl Store {
    /// The bounds of an embedded store.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds {
            cache_bytes: self.cache_bytes,
            dirty_bytes_max: self.dirty_bytes_max,
            feed_bytes_max: self.feed_bytes_max,
            feed_idle_max: Duration::from_secs(self.feed_idle_secs),
            free_bytes_min: self.free_bytes_min,
        }
    }
}

impl Bounds {
    /// The options of an embedded store in the folder `data`.
    pub(crate) fn options(self, data: &Path) -> Options {
        let Bounds { cache_bytes, dirty_bytes_max, feed_bytes_max, feed_idle_max, free_bytes_min } =
            self;
        Options {
            cache_bytes,
            dirty_bytes_max,
            feed_bytes_max,
            feed_idle_max,
            free_bytes_min,
            ..Options::new(data)
        }
    }
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
