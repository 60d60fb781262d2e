//! Where the scenes of a domain play: a back-end of their own under watch, and a clock that stands still.
//!
//! A scenario is written once, as an async function of the domain's own scene. [`scenes!`](crate::scenes) makes one test of it
//! per back-end; the domain's `scene` module has a function for each, which opens the domain on the [`Stage`] it is given.

#![expect(clippy::unwrap_used, reason = "a test without a stage has failed")]

use std::time::Duration;

use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::dynamodb::{Dynamo, Options as DynamoOptions, Timeouts};
use weir_table::embedded::{Embedded, Options};
use weir_table::{AnyBackend, Store};

use crate::watched::{Watch, Watched};

/// How long DynamoDB Local may take for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How far indexes lag where they do.
const INDEX_DELAY: Duration = Duration::from_millis(100);

/// Timeouts for an emulator on a busy machine: a request that is slow is not one that fails.
#[must_use]
pub fn patient_timeouts() -> Timeouts {
    let attempt = PATIENCE;
    Timeouts { connect: attempt, attempt, total: attempt * 2, ..Timeouts::default() }
}

/// Makes one test per back-end of each scenario named: `embedded::…`, `embedded_delayed_index::…` and `dynamodb_local::…`, each
/// with the function of that name in the module `scene` of the tests.
#[macro_export]
#[expect(clippy::crate_in_macro_def, reason = "the scene is of whoever has the scenarios")]
macro_rules! scenes {
    ($($scenario:ident),* $(,)?) => {
        $crate::scenes!(@on embedded $($scenario)*);
        $crate::scenes!(@on embedded_delayed_index $($scenario)*);
        $crate::scenes!(@on dynamodb_local $($scenario)*);
    };
    (@on $backend:ident $($scenario:ident)*) => {
        mod $backend {
            $(
                #[test]
                fn $scenario() {
                    crate::scene::$backend(async |scene| super::$scenario(scene).await);
                }
            )*
        }
    };
}

/// A back-end of a scene's own.
#[derive(Debug)]
pub struct Stage {
    /// The store of the stage.
    pub store: Store<Watched<AnyBackend>>,
    /// The calls of the store.
    pub watch: Watch,
    /// The clock of the stage.
    pub clock: Clock,
    /// Whether it is on DynamoDB.
    pub is_dynamodb: bool,
    /// The prefix of its table names.
    pub prefix: String,
}

impl Stage {
    fn new(backend: AnyBackend, cursors: CursorKey, clock: Clock, prefix: String) -> Stage {
        let watch = Watch::default();
        let is_dynamodb = matches!(backend, AnyBackend::Dynamo(_));
        let store = Store::new(Watched { inner: backend, watch: watch.clone() }, cursors);
        Stage { store, watch, clock, is_dynamodb, prefix }
    }
}

/// On the embedded store, beginning at `now_ms`.
pub fn embedded(now_ms: u64, play: impl AsyncFnOnce(Stage)) {
    on_embedded(now_ms, None, play);
}

/// On the embedded store, with indexes that lag.
pub fn embedded_delayed_index(now_ms: u64, play: impl AsyncFnOnce(Stage)) {
    on_embedded(now_ms, Some(INDEX_DELAY), play);
}

fn on_embedded(now_ms: u64, index_delay: Option<Duration>, play: impl AsyncFnOnce(Stage)) {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::manual(now_ms);
    let options = Options { clock: clock.clone(), index_delay, ..Options::new(folder.path()) };
    let embedded = Embedded::open(options).unwrap();
    let cursors = embedded.cursor_key();
    let stage = Stage::new(AnyBackend::Embedded(embedded), cursors, clock, String::new());
    runtime().block_on(play(stage));
}

/// On DynamoDB Local, with tables whose names begin with `name` and go in the end.
pub fn dynamodb_local(name: &str, now_ms: u64, play: impl AsyncFnOnce(Stage)) {
    runtime().block_on(async {
        let prefix = crate::unique_prefix(name);
        let backend = AnyBackend::Dynamo(dynamodb(&prefix).await);
        let clock = Clock::manual(now_ms);
        let stage = Stage::new(backend, CursorKey::new([7; 32]), clock, prefix);
        let store = stage.store.clone();
        play(stage).await;
        for table in store.table_names().await.unwrap() {
            store.delete_table(&table).await.unwrap();
        }
    });
}

/// DynamoDB Local, with tables of this prefix.
pub async fn dynamodb(prefix: &str) -> Dynamo {
    Dynamo::connect(dynamodb_options(prefix)).await.unwrap()
}

/// Options for DynamoDB Local, with tables of this prefix.
#[must_use]
pub fn dynamodb_options(prefix: &str) -> DynamoOptions {
    DynamoOptions {
        region: Some(crate::dynamo_local_region().to_owned()),
        endpoint: Some(crate::dynamo_local_endpoint().unwrap().to_owned()),
        table_prefix: prefix.to_owned(),
        // All tests share it: whoever waits is not to give up.
        timeouts: patient_timeouts(),
        ..DynamoOptions::default()
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
