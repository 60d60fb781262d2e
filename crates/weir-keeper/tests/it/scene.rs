//! A keeper on its own back-end, with a clock that stands still.

use weir_keeper::config::{PutApp, PutOrg};
use weir_keeper::credentials::TokenRevocation;
use weir_keeper::ids::{AppId, OrgId, Scope};
use weir_keeper::{Keeper, Settings};
use weir_table::clock::Clock;
use weir_table::expr::add;
use weir_table::{AnyBackend, Get, Key, Store, Write};
pub(crate) use weir_testkit::eventually;
use weir_testkit::stage::{self, Stage};
use weir_testkit::watched::Watch;

/// Either back-end, with its calls recorded.
pub(crate) type Watched = weir_testkit::watched::Watched<AnyBackend>;

/// Start of a scene's clock: 2037-01-23, 09:00 in New York.
pub(crate) const MORNING_MS: u64 = 2_116_332_000_000;

/// A keeper ready for a scenario.
pub(crate) struct Scene {
    /// The keeper.
    pub(crate) keeper: Keeper<Watched>,
    /// Its clock.
    pub(crate) clock: Clock,
    /// Its store.
    pub(crate) store: Store<Watched>,
    /// Records the calls of its store.
    pub(crate) watch: Watch,
    /// Prefix of its table names.
    pub(crate) prefix: String,
}

impl Scene {
    async fn new(stage: Stage) -> Scene {
        let Stage { store, watch, clock, prefix, .. } = stage;
        // The lowest bcrypt cost, or a scene would take seconds.
        let settings = Settings { bcrypt_cost: 4, ..Settings::default() };
        let keeper = Keeper::open(store.clone(), clock.clone(), settings).await.unwrap();
        watch.reset();
        Scene { keeper, clock, store, watch, prefix }
    }

    /// Another keeper on the same tables, as in another process: its caches are empty.
    pub(crate) async fn another(&self) -> Keeper<Watched> {
        self.another_with(|_| {}).await
    }

    /// Another keeper with other settings.
    pub(crate) async fn another_with(&self, change: impl FnOnce(&mut Settings)) -> Keeper<Watched> {
        let mut settings = self.keeper.settings().clone();
        change(&mut settings);
        Keeper::open(self.store.clone(), self.clock.clone(), settings).await.unwrap()
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
    stage::dynamodb_local("keeper", MORNING_MS, play);
}

/// Ends tokens like the server does, and counts how often for each client.
#[derive(Clone, Copy)]
pub(crate) struct EndedTokens;

const ENDED: &str = "weir-keeper-revoked-tokens";

impl EndedTokens {
    /// How often the tokens of a client were ended.
    pub(crate) async fn count(self, scene: &Scene, scope: &Scope) -> i64 {
        let get = Get::new(ENDED, Key::partition(scope.client_id()));
        scene.store.get(&get).await.unwrap().map_or(0, |item| item.i64("ended").unwrap())
    }
}

impl TokenRevocation for EndedTokens {
    async fn end_tokens(&self, client_id: &str) -> weir_keeper::Result<Write> {
        Ok(Write::update(ENDED, Key::partition(client_id), add("ended", 1)))
    }

    fn ended(&self, _: &str) {}
}

/// An org id; a different one for every number.
pub(crate) fn org(number: u64) -> OrgId {
    OrgId::new(format!("550e8400-e29b-41d4-a716-{number:012}")).unwrap()
}

/// An app id.
pub(crate) fn app(text: &str) -> AppId {
    AppId::new(text).unwrap()
}

/// An org in New York with quotas per app: premium with $10, then economy with $2.
pub(crate) fn org_request() -> PutOrg {
    PutOrg {
        org_name: "sample_corp".into(),
        timezone: "America/New_York".into(),
        quota_scope: "APP".into(),
        model_ordering: vec!["premium".into(), "economy".into()],
        quotas: [("premium".into(), 10_000_000), ("economy".into(), 2_000_000)].into(),
        ..PutOrg::default()
    }
}

/// An app that inherits everything from its org.
pub(crate) fn app_request() -> PutApp {
    PutApp { app_name: "Production API".into(), ..PutApp::default() }
}
