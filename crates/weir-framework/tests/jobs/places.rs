//! Stores with the tables that jobs need, and a fed table to count.

use std::future::Future;
use std::time::Duration;

use weir_api::server::Job;
use weir_framework::jobs::{Running, Settings, table_spec};
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::embedded::{Embedded, Options};
use weir_table::feed::{POSITIONS_TABLE, positions_spec};
use weir_table::{AnyBackend, Get, Item, Key, Kind, Store, TableSpec, Write};

/// The table with a feed.
pub(crate) const ORDERS: &str = "orders";
/// The table that jobs count in.
pub(crate) const TOTALS: &str = "totals";
/// Where manual clocks begin.
pub(crate) const NOW_MS: u64 = 1_700_000_000_000;
/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells stories on every back-end.
macro_rules! on_both {
    ($($story:ident),* $(,)?) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story(crate::places::embedded().await).await;
            })*
        }
        #[cfg(feature = "dynamodb")]
        mod dynamodb_local {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story(crate::places::dynamodb().await).await;
            })*
        }
    };
}
pub(crate) use on_both;

/// A store, and what must live as long as it.
pub(crate) struct Place {
    pub(crate) store: Store<AnyBackend>,
    pub(crate) clock: Clock,
    _folder: Option<tempfile::TempDir>,
}

pub(crate) async fn embedded() -> Place {
    embedded_with(|options| options).await
}

pub(crate) async fn embedded_with(options: impl FnOnce(Options) -> Options) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::manual(NOW_MS);
    let mut usual = Options::new(folder.path());
    usual.clock = clock.clone();
    let backend = AnyBackend::Embedded(Embedded::open(options(usual)).unwrap());
    prepared(backend, clock, Some(folder)).await
}

#[cfg(feature = "dynamodb")]
pub(crate) async fn dynamodb() -> Place {
    let dynamo = weir_testkit::stage::dynamodb(&weir_testkit::unique_prefix("jobs")).await;
    prepared(AnyBackend::Dynamo(dynamo), Clock::manual(NOW_MS), None).await
}

async fn prepared(backend: AnyBackend, clock: Clock, folder: Option<tempfile::TempDir>) -> Place {
    let store = Store::new(backend, CursorKey::new([1; 32]));
    let orders = TableSpec::new(ORDERS, "id", Kind::S).feed();
    let totals = TableSpec::new(TOTALS, "id", Kind::S);
    for spec in [orders, totals, positions_spec(POSITIONS_TABLE), table_spec()] {
        store.create_table(&spec).await.unwrap();
    }
    Place { store, clock, _folder: folder }
}

/// Settings that wait for nothing but what a test is about.
pub(crate) fn quick() -> Settings {
    Settings {
        lease_poll: Duration::from_millis(5),
        backoff_first: Duration::from_millis(2),
        backoff_max: Duration::from_millis(8),
        rest: Duration::from_millis(1),
        feed_poll: Duration::from_millis(2),
        pass_poll: Duration::from_millis(20),
        ..Settings::default()
    }
}

/// Puts orders numbered so.
pub(crate) async fn order(store: &Store<AnyBackend>, numbers: std::ops::Range<i64>) {
    for number in numbers {
        let item = Item::new().with("id", format!("order-{number}")).with("number", number);
        let put = Write::put(ORDERS, item).flushed();
        store.write(put).await.unwrap();
    }
}

/// How many orders were counted, and their sum.
pub(crate) async fn total(store: &Store<AnyBackend>) -> (i64, i64) {
    let get = Get::new(TOTALS, Key::partition("total"));
    let item = store.get(&get).await.unwrap().unwrap_or_default();
    (item.i64("count").unwrap_or(0), item.i64("sum").unwrap_or(0))
}

pub(crate) fn status(jobs: &Running, name: &str) -> Job {
    let mut statuses = jobs.statuses();
    statuses.retain(|status| status.name == name);
    statuses.pop().unwrap()
}

/// Waits for `future`, and fails the test when it never comes.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("never came: {what}"),
    }
}

/// Waits until `holds` of the job's status.
pub(crate) async fn until(jobs: &Running, name: &str, holds: impl Fn(&Job) -> bool) -> Job {
    let wait = async {
        loop {
            let status = status(jobs, name);
            if holds(&status) {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    match tokio::time::timeout(PATIENCE, wait).await {
        Ok(status) => status,
        Err(_) => panic!("the status never came: {:?}", status(jobs, name)),
    }
}

/// Waits until so many orders are counted, with this sum.
pub(crate) async fn until_total(store: &Store<AnyBackend>, wanted: (i64, i64)) {
    soon("the total", async {
        while total(store).await != wanted {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}
