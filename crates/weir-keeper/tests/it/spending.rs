//! Orgs and apps with spend: the setup of scenarios about submissions, totals and fallbacks.

use weir_keeper::Keeper;
use weir_keeper::aggregate::DirtySet;
use weir_keeper::config::{PutApp, PutOrg};
use weir_keeper::counters::Counters;
use weir_keeper::day::OrgDay;
use weir_keeper::ids::{AppId, Label, ModelId, OrgId, RequestId, Scope};
use weir_keeper::money::{MicroUsd, TokenUse};
use weir_keeper::submit::{CallStatus, Submission};
use weir_table::feed::{Consumer, POSITIONS_TABLE, Position, positions_spec};

use crate::scene::{Scene, Watched};

/// The chain of every org here.
pub(crate) const CHAIN: [&str; 3] = ["premium", "standard", "economy"];
/// Daily quota of each model.
pub(crate) const QUOTA: u64 = 1_000_000;

/// An org with two apps.
pub(crate) struct Spender {
    /// The org.
    pub(crate) org: OrgId,
    /// Its first app.
    pub(crate) app: AppId,
    /// Its second app.
    pub(crate) other: AppId,
}

impl Spender {
    /// The scope of the org.
    pub(crate) fn all(&self) -> Scope {
        Scope::Org(self.org.clone())
    }

    /// The scope of the first app.
    pub(crate) fn one(&self) -> Scope {
        Scope::App(self.org.clone(), self.app.clone())
    }

    /// The scope of the second app.
    pub(crate) fn two(&self) -> Scope {
        Scope::App(self.org.clone(), self.other.clone())
    }
}

/// The configuration of every org here.
pub(crate) fn org_request(quota_scope: &str, timezone: &str) -> PutOrg {
    PutOrg {
        org_name: "Acme".into(),
        timezone: timezone.into(),
        quota_scope: quota_scope.into(),
        model_ordering: CHAIN.map(Into::into).into(),
        quotas: CHAIN.map(|label| (label.to_owned(), QUOTA.cast_signed())).into(),
        overrides: None,
        unpriced: None,
    }
}

/// An org in New York with two apps.
pub(crate) async fn spender(scene: &Scene, quota_scope: &str) -> Spender {
    spender_in(scene, quota_scope, "America/New_York").await
}

/// An org in this time zone with two apps.
pub(crate) async fn spender_in(scene: &Scene, quota_scope: &str, timezone: &str) -> Spender {
    let org = OrgId::new(uuid::Uuid::new_v4().to_string()).unwrap();
    let (app, other) = (AppId::new("chat").unwrap(), AppId::new("search").unwrap());
    let request = org_request(quota_scope, timezone);
    scene.keeper.put_org(&org, &request, "test").await.unwrap();
    for app in [&app, &other] {
        let request = PutApp { app_name: app.to_string(), ..PutApp::default() };
        scene.keeper.put_app(&org, app, &request, "test").await.unwrap();
    }
    Spender { org, app, other }
}

/// A label.
pub(crate) fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

/// A day.
pub(crate) fn day(text: &str) -> OrgDay {
    OrgDay::from_dashed(text).unwrap()
}

/// The day that scenes begin on.
pub(crate) fn today() -> OrgDay {
    day("2037-01-23")
}

/// A submission at the current time for `premium`, with its own id.
pub(crate) fn submission(scene: &Scene) -> Submission {
    Submission {
        request_id: RequestId::new(uuid::Uuid::new_v4().to_string()).unwrap(),
        label: "premium".into(),
        model: ModelId::new("anthropic.claude-sonnet-4-5-20250929-v1:0").unwrap(),
        vendor: None,
        tokens: TokenUse { input: 1_000, output: 500, cached_read: 0, cached_write: 0 },
        region: None,
        stated_cost: None,
        status: CallStatus::Ok,
        at_ms: now_ms(scene),
    }
}

/// Cost of [`submission`]: a thousand tokens at $3 and five hundred at $15 per million.
pub(crate) const COST: u64 = 10_500;

/// The current time of the scene.
pub(crate) fn now_ms(scene: &Scene) -> i64 {
    i64::try_from(scene.clock.now_ms()).unwrap()
}

/// A submission with a stated cost.
pub(crate) fn stated(scene: &Scene, label: &str, micros: u64) -> Submission {
    let stated_cost = Some(MicroUsd(micros));
    Submission { label: label.into(), stated_cost, ..submission(scene) }
}

/// The sum of the shards.
pub(crate) async fn counted(scene: &Scene, scope: &Scope, model: &str, on: OrgDay) -> Counters {
    const TRIES: u32 = 5;
    for _ in 0..TRIES {
        // A busy store may not respond in time.
        match scene.keeper.sum_shards(scope, &label(model), on).await {
            Err(error) if error.is_unavailable() => {}
            done => return done.unwrap(),
        }
    }
    panic!("the store never answered");
}

/// Requests and cost in the shards.
pub(crate) async fn spent(scene: &Scene, scope: &Scope, model: &str, on: OrgDay) -> (u64, u64) {
    let counters = counted(scene, scope, model, on).await;
    (counters.requests, counters.cost.0)
}

/// Requests and cost in the total.
pub(crate) async fn total(scene: &Scene, scope: &Scope, model: &str, on: OrgDay) -> (u64, u64) {
    let key = weir_keeper::keys::total(scope, &label(model), on);
    let get = weir_table::Get::new(scene.keeper.tables().daily_total.clone(), key);
    let item = scene.store.get(&get).await.unwrap();
    let counters = item.as_ref().map(|item| Counters::decode(item).unwrap()).unwrap_or_default();
    (counters.requests, counters.cost.0)
}

/// Submits a stated cost, and aggregates.
pub(crate) async fn spend(scene: &Scene, spender: &Spender, model: &str, micros: u64) {
    let submission = stated(scene, model, micros);
    scene.keeper.submit(&spender.org, &spender.app, &submission).await.unwrap();
    sum_up(&scene.keeper, spender).await;
}

/// Aggregates today for an org and its apps.
pub(crate) async fn sum_up(keeper: &Keeper<Watched>, spender: &Spender) -> DirtySet {
    let dirty = dirty(keeper, spender).await;
    keeper.aggregate(&dirty).await.unwrap();
    dirty
}

/// All totals of today.
pub(crate) async fn dirty(keeper: &Keeper<Watched>, spender: &Spender) -> DirtySet {
    let mut dirty = DirtySet::default();
    for scope in [spender.all(), spender.one(), spender.two()] {
        let today = keeper.today(&scope).await.unwrap();
        for model in CHAIN {
            dirty.mark(scope.clone(), label(model), today, keeper.now_ms());
        }
    }
    dirty
}

/// A consumer of the counters' feed.
pub(crate) async fn follower(scene: &Scene, instance: &str) -> Consumer<Watched> {
    scene.store.create_table(&positions_spec(POSITIONS_TABLE)).await.unwrap();
    let table = scene.keeper.tables().usage_agg_sharded.to_string();
    let (store, clock) = (scene.store.clone(), scene.clock.clone());
    let start = Position::Oldest;
    Consumer::new(store, table, "totals", instance, POSITIONS_TABLE, start, clock).unwrap()
}
