//! What each operation costs on DynamoDB: requests and units are counted, and `docs/cost.md` is compared with them.
//!
//! Units are those that DynamoDB Local reports, index by index; those of transactions are our calculator's, because Local reports
//! writes that cost the same only once. A refused condition is billed by AWS and not reported by
//! Local, so the store's meter computes it from the item that is there. With `WEIR_TEST_BLESS=1` the page is rewritten.

mod acquire;
mod background;
mod config;
mod leases;
mod shape;

use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::entities::NewEntity;
use weir_limiter::{Limiter, Namespace};
use weir_table::Backend as _;
use weir_table::dynamodb::Verb;
use weir_testkit::ledger::Ledger;
use weir_testkit::page::Page;

use crate::scene::{Scene, entity, per_minute, resource};
use crate::watched::Watched;

type Tenant = Namespace<Watched>;

/// The limits of everybody on `gpt-4`.
fn limits() -> LevelConfig {
    let limits = vec![per_minute("rpm", 1_000), per_minute("tpm", 100_000)];
    LevelConfig { limits, ..LevelConfig::default() }
}

async fn prepare(ns: &Tenant) {
    ns.set_limits(&Level::Resource(resource("gpt-4")), limits(), "test").await.unwrap();
    ns.put_entity(&entity("team-1"), NewEntity::default(), "test").await.unwrap();
    let child = NewEntity { parent: Some(entity("team-1")), cascade: true, ..NewEntity::default() };
    ns.put_entity(&entity("child-1"), child, "test").await.unwrap();
}

/// The namespace of a limiter that remembers nothing of buckets and config.
async fn default_of(limiter: &Limiter<Watched>) -> Tenant {
    let name = weir_limiter::ids::NamespaceName::new("default").unwrap();
    limiter.namespace(&name).await.unwrap()
}

#[test]
fn the_page_shows_what_operations_cost() {
    crate::scene::dynamodb_local(async |scene| {
        prepare(&scene.ns).await;
        let table = scene.limiter.settings().table.clone();
        let spec = scene.store.backend().describe(&table).await.unwrap().unwrap();
        scene.watch.weigh(vec![spec], beside(scene).await);
        let mut page = Page::open();
        let mut ledger = Ledger::new(&scene.watch, dynamo(scene));
        acquire::measure(scene, &mut ledger).await;
        check_headlines(&ledger);
        page.shows("acquire", &ledger.table());
        page.shows("sizes", &shape::sizes(scene).await);
        let mut ledger = Ledger::new(&scene.watch, dynamo(scene));
        leases::measure(scene, &mut ledger).await;
        page.shows("leases", &ledger.table());
        let mut ledger = Ledger::new(&scene.watch, dynamo(scene));
        config::measure(scene, &mut ledger).await;
        page.shows("config", &ledger.table());
        let mut ledger = Ledger::new(&scene.watch, dynamo(scene));
        background::measure(scene, &mut ledger).await;
        page.shows("background", &ledger.table());
        let shapes = shape::measure(scene).await;
        page.shows("shapes", &shapes.table());
        page.shows("months", &shapes.months());
        page.close();
    });
}

/// What the whole design is for, said once more in plain numbers.
fn check_headlines(ledger: &Ledger<'_>) {
    let warm = ledger.row("acquire");
    assert_eq!(warm.calls(), [(Verb::Update, 1)]);
    assert_eq!((warm.table_write(), warm.index_write(), warm.read()), (1_000, 0, 0));
    let cascade = ledger.row("acquire, child and parent");
    assert_eq!(cascade.calls(), [(Verb::Update, 2)]);
    assert_eq!((cascade.table_write(), cascade.index_write(), cascade.read()), (2_000, 0, 0));
    let repeat = ledger.row("refusal, repeated");
    assert_eq!(repeat.calls(), []);
    assert_eq!((repeat.table_write(), repeat.index_write(), repeat.read()), (0, 0, 0));
}

/// Another way to a scene's tables, which no meter of it sees.
async fn beside(scene: &Scene) -> weir_table::AnyBackend {
    weir_table::AnyBackend::Dynamo(weir_testkit::stage::dynamodb(&scene.prefix).await)
}

/// A scene's table has DynamoDB behind it.
fn dynamo(scene: &Scene) -> &weir_table::dynamodb::Dynamo {
    match &scene.store.backend().inner {
        weir_table::AnyBackend::Dynamo(dynamo) => dynamo,
        _ => panic!("not on DynamoDB"),
    }
}
