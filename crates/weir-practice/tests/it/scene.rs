//! The practice service on its own back-end, with a clock that stands still.

use std::sync::Arc;

use object_store::memory::InMemory;
use weir_practice::objects::Objects;
use weir_practice::{Practice, Settings};
use weir_table::clock::Clock;
use weir_table::{AnyBackend, Item, Query, Store};
use weir_testkit::stage::{self, Stage};
use weir_testkit::watched::Watch;

/// Either back-end, with its calls recorded.
pub(crate) type Watched = weir_testkit::watched::Watched<AnyBackend>;

/// Start of a scene's clock: 2037-01-23, 14:00 UTC.
pub(crate) const MORNING_MS: u64 = 2_116_332_000_000;
/// The same, signed.
pub(crate) const NOW_MS: i64 = 2_116_332_000_000;

/// A practice service ready for a scenario.
pub(crate) struct Scene {
    /// The service.
    pub(crate) practice: Practice<Watched>,
    /// Its clock.
    pub(crate) clock: Clock,
    /// Its store.
    pub(crate) store: Store<Watched>,
    /// Records the calls of its store.
    pub(crate) watch: Watch,
    /// Its object storage.
    pub(crate) objects: Arc<InMemory>,
    /// Whether it is on DynamoDB.
    pub(crate) is_dynamodb: bool,
    /// The prefix of the names of its tables.
    pub(crate) prefix: String,
}

impl Scene {
    async fn new(stage: Stage) -> Scene {
        let Stage { store, watch, clock, is_dynamodb, prefix } = stage;
        let objects = Arc::new(InMemory::new());
        let opened = Practice::open(
            store.clone(),
            Objects::new(objects.clone(), "practice"),
            clock.clone(),
            Settings::default(),
        );
        let practice = opened.await.unwrap();
        watch.reset();
        Scene { practice, clock, store, watch, objects, is_dynamodb, prefix }
    }

    /// Another instance on the same table, with a clock of its own.
    pub(crate) fn another_at(&self, now_ms: i64) -> Practice<Watched> {
        let clock = Clock::manual(now_ms.try_into().unwrap());
        self.another(clock, Settings::default())
    }

    /// Another instance on the same table.
    pub(crate) fn another(&self, clock: Clock, settings: Settings) -> Practice<Watched> {
        let objects = self.practice.objects().clone();
        Practice::new(self.store.clone(), objects, clock, settings).unwrap()
    }

    /// Everything that a query finds, page by page.
    pub(crate) async fn all(&self, mut query: Query) -> Vec<Item> {
        let mut items = Vec::new();
        loop {
            let page = self.store.query(&query).await.unwrap();
            items.extend(page.items);
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => return items,
            }
        }
    }
}

/// On the embedded store.
pub(crate) fn embedded(scenario: impl AsyncFnOnce(&Scene)) {
    stage::embedded(MORNING_MS, async |stage| scenario(&Scene::new(stage).await).await);
}

/// On the embedded store, with indexes that lag.
pub(crate) fn embedded_delayed_index(scenario: impl AsyncFnOnce(&Scene)) {
    let play = async |stage| scenario(&Scene::new(stage).await).await;
    stage::embedded_delayed_index(MORNING_MS, play);
}

/// On DynamoDB Local.
pub(crate) fn dynamodb_local(scenario: impl AsyncFnOnce(&Scene)) {
    let play = async |stage| scenario(&Scene::new(stage).await).await;
    stage::dynamodb_local("practice", MORNING_MS, play);
}
