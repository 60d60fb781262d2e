//! A limiter on a back-end of its own, with a clock that stands still.

use std::time::Duration;

use weir_limiter::bucket::Limit;
use weir_limiter::ids::{EntityId, LimitName, NamespaceName, Resource};
use weir_limiter::{Limiter, Namespace, Settings};
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::{AnyBackend, Store};

use crate::watched::{Watch, Watched};

/// How long DynamoDB Local may take for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// When a scene's clock begins: 2026-01-15, noon, in UTC.
pub(crate) const NOON_MS: u64 = 1_768_478_400_000;
/// The key that signs leases in all scenes.
pub(crate) const LEASE_KEY: [u8; 32] = [7; 32];

/// A limiter, ready to be used.
pub(crate) struct Scene {
    /// The limiter.
    pub(crate) limiter: Limiter<Watched>,
    /// Its namespace `default`.
    pub(crate) ns: Namespace<Watched>,
    /// Its clock.
    pub(crate) clock: Clock,
    /// What its store was asked.
    pub(crate) watch: Watch,
    /// Its store.
    pub(crate) store: Store<Watched>,
    /// Whether it is on DynamoDB.
    pub(crate) sharded: bool,
    /// What the names of its tables begin with.
    pub(crate) prefix: String,
}

impl Scene {
    async fn new(backend: AnyBackend, cursors: CursorKey, clock: Clock, sharded: bool) -> Scene {
        let watch = Watch::default();
        let store = Store::new(Watched { inner: backend, watch: watch.clone() }, cursors);
        let settings = Settings::new(sharded, LEASE_KEY);
        let limiter = Limiter::open(store.clone(), clock.clone(), settings).await.unwrap();
        let ns = limiter.namespace(&NamespaceName::new("default").unwrap()).await.unwrap();
        watch.reset();
        Scene { limiter, ns, clock, watch, store, sharded, prefix: String::new() }
    }

    /// Another limiter on the same table, as another process would have: it remembers nothing.
    pub(crate) async fn another(&self) -> Limiter<Watched> {
        self.another_with(|_| {}).await
    }

    /// The same, set up differently.
    pub(crate) async fn another_with(
        &self,
        change: impl FnOnce(&mut Settings),
    ) -> Limiter<Watched> {
        let mut settings = self.limiter.settings().clone();
        change(&mut settings);
        Limiter::open(self.store.clone(), self.clock.clone(), settings).await.unwrap()
    }

    /// The time now.
    pub(crate) fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap()
    }
}

/// On the embedded store.
pub(crate) fn embedded(scenario: impl AsyncFnOnce(&Scene)) {
    on_embedded(scenario, None);
}

/// On the embedded store, with indexes that lag.
pub(crate) fn embedded_delayed_index(scenario: impl AsyncFnOnce(&Scene)) {
    on_embedded(scenario, Some(Duration::from_millis(100)));
}

fn on_embedded(scenario: impl AsyncFnOnce(&Scene), index_delay: Option<Duration>) {
    use weir_table::embedded::{Embedded, Options};
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::manual(NOON_MS);
    let options = Options { clock: clock.clone(), index_delay, ..Options::new(folder.path()) };
    let embedded = Embedded::open(options).unwrap();
    let cursors = embedded.cursor_key();
    runtime().block_on(async {
        let scene = Scene::new(AnyBackend::Embedded(embedded), cursors, clock, false).await;
        scenario(&scene).await;
    });
}

/// On DynamoDB Local, with shards.
pub(crate) fn dynamodb_local(scenario: impl AsyncFnOnce(&Scene)) {
    runtime().block_on(async {
        let prefix = weir_testkit::unique_prefix("limiter");
        let (backend, cursors) = dynamodb(&prefix).await;
        let scene = Scene::new(backend, cursors, Clock::manual(NOON_MS), true).await;
        let scene = Scene { prefix, ..scene };
        scenario(&scene).await;
        scene.store.delete_table(&scene.limiter.settings().table).await.unwrap();
    });
}

/// DynamoDB Local, with tables of this prefix.
pub(crate) async fn dynamodb(prefix: &str) -> (AnyBackend, CursorKey) {
    use weir_table::dynamodb::{Dynamo, Options, Timeouts};
    let options = Options {
        region: Some("us-east-1".to_owned()),
        endpoint: Some(weir_testkit::dynamo_local_endpoint().unwrap().to_owned()),
        table_prefix: prefix.to_owned(),
        // It does one thing at a time, and all tests share it: whoever waits is not to give up.
        timeouts: Timeouts { attempt: PATIENCE, total: PATIENCE * 2, ..Timeouts::default() },
        ..Options::default()
    };
    (AnyBackend::Dynamo(Dynamo::connect(options).await.unwrap()), CursorKey::new([7; 32]))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// An entity.
pub(crate) fn entity(text: &str) -> EntityId {
    EntityId::new(text).unwrap()
}

/// A resource.
pub(crate) fn resource(text: &str) -> Resource {
    Resource::new(text).unwrap()
}

/// The name of a limit.
pub(crate) fn limit_name(text: &str) -> LimitName {
    LimitName::new(text).unwrap()
}

/// A limit of so much a minute.
pub(crate) fn per_minute(name: &str, amount: u64) -> Limit {
    Limit::per_minute(limit_name(name), amount)
}

/// Asks until `check` is content, because indexes and feeds may lag; gives up after ten seconds.
pub(crate) async fn eventually<T>(mut check: impl AsyncFnMut() -> Option<T>) -> T {
    const TRIES: u32 = 200;
    for _ in 0..TRIES {
        if let Some(found) = check().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it did not come to pass");
}
