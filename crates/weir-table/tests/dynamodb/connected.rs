//! A store on DynamoDB Local with tables of its own.

use std::time::Duration;

use weir_table::cursor::CursorKey;
use weir_table::dynamodb::{Dynamo, Options, RetryOptions, Timeouts};
use weir_table::{IndexSpec, Item, Kind, Store, TableSpec};

pub(crate) const TABLE: &str = "things";

/// Options for `endpoint` that do not keep a test waiting.
pub(crate) fn options(endpoint: &str, prefix: String) -> Options {
    Options {
        region: Some(weir_testkit::dynamo_local_region().to_owned()),
        endpoint: Some(endpoint.to_owned()),
        table_prefix: prefix,
        timeouts: Timeouts {
            attempt: Duration::from_secs(20),
            total: Duration::from_secs(40),
            ..Timeouts::default()
        },
        retry: RetryOptions {
            wait_base: Duration::from_millis(1),
            wait_max: Duration::from_millis(5),
            ..RetryOptions::default()
        },
    }
}

pub(crate) async fn store(options: Options) -> Store<Dynamo> {
    let dynamo = Dynamo::connect(options).await.unwrap();
    Store::new(dynamo, CursorKey::new([7; 32]))
}

pub(crate) fn local() -> Options {
    let endpoint = weir_testkit::dynamo_local_endpoint().unwrap();
    options(endpoint, weir_testkit::unique_prefix("dynamo"))
}

/// A table with a sort key, indexes of every projection, a feed and an expiry attribute.
pub(crate) fn things() -> TableSpec {
    TableSpec::new(TABLE, "pk", Kind::S)
        .sort("sk", Kind::N)
        .attribute("g", Kind::S)
        .attribute("h", Kind::N)
        .index(IndexSpec::new("by-g", "g"))
        .index(IndexSpec::new("by-g-keys", "g").sort("h").keys_only())
        .index(IndexSpec::new("by-g-some", "g").include(["x"]))
        .ttl("expires")
        .feed()
}

/// A store on DynamoDB Local with [`things`] in it.
pub(crate) async fn with_things() -> Store<Dynamo> {
    let store = store(local()).await;
    store.create_table(&things()).await.unwrap();
    store
}

pub(crate) fn thing(pk: &str, sk: i64) -> Item {
    Item::new().with("pk", pk).with("sk", sk)
}
