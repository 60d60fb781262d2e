//! A limiter on a back-end of its own, with a clock that stands still.

use weir_limiter::bucket::Limit;
use weir_limiter::ids::{EntityId, LimitName, NamespaceName, Resource};
use weir_limiter::{Limiter, Namespace, Settings};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_testkit::stage::{self, Stage};
pub(crate) use weir_testkit::{eventually, eventually_eq};

use crate::watched::{Watch, Watched};

/// When a scene's clock begins: 2037-01-15, noon, in UTC.
pub(crate) const NOON_MS: u64 = 2_115_633_600_000;
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
    async fn new(stage: Stage) -> Scene {
        let Stage { store, watch, clock, is_dynamodb: sharded, prefix } = stage;
        let settings = Settings::new(sharded, LEASE_KEY);
        let limiter = Limiter::open(store.clone(), clock.clone(), settings).await.unwrap();
        let ns = limiter.namespace(&NamespaceName::new("default").unwrap()).await.unwrap();
        watch.reset();
        Scene { limiter, ns, clock, watch, store, sharded, prefix }
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
    stage::embedded(NOON_MS, async |stage| scenario(&Scene::new(stage).await).await);
}

/// On the embedded store, with indexes that lag.
pub(crate) fn embedded_delayed_index(scenario: impl AsyncFnOnce(&Scene)) {
    stage::embedded_delayed_index(NOON_MS, async |stage| scenario(&Scene::new(stage).await).await);
}

/// On DynamoDB Local, with shards.
pub(crate) fn dynamodb_local(scenario: impl AsyncFnOnce(&Scene)) {
    let play = async |stage| scenario(&Scene::new(stage).await).await;
    stage::dynamodb_local("limiter", NOON_MS, play);
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
