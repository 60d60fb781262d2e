//! Limits and entities.

use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::entities::NewEntity;

use super::default_of;
use crate::acquire::{granted, request};
use crate::scene::{Scene, entity, per_minute, resource};
use weir_testkit::ledger::Ledger;

fn config(rpm: u64) -> LevelConfig {
    let limits = vec![per_minute("rpm", rpm), per_minute("tpm", 100_000)];
    LevelConfig { limits, ..LevelConfig::default() }
}

pub(super) async fn measure(scene: &Scene, ledger: &mut Ledger<'_>) {
    resolve(scene, ledger).await;
    set(scene, ledger).await;
    let ns = &scene.ns;
    let [one, two, parent] = ["new-1", "new-2", "team-1"].map(entity);
    let put = ns.put_entity(&one, NewEntity::default(), "test");
    ledger.note("a new entity", put).await.unwrap();
    let child = NewEntity { parent: Some(parent), cascade: true, ..NewEntity::default() };
    let put = ns.put_entity(&two, child, "test");
    ledger.note("a new entity with a parent", put).await.unwrap();
    let (who, what) = (entity("user-1"), resource("gpt-4"));
    let reset = ns.reset_bucket(&who, &what, None, "test");
    ledger.note("reset of a bucket", reset).await.unwrap();
}

async fn resolve(scene: &Scene, ledger: &mut Ledger<'_>) {
    let ns = default_of(&scene.another().await).await;
    let (who, other, what) = (entity("user-1"), entity("user-2"), resource("gpt-4"));
    ledger.note("resolve, nothing remembered", ns.resolve(&who, &what, None)).await.unwrap();
    let name = "resolve, remembered, absent levels included";
    ledger.note(name, ns.resolve(&who, &what, None)).await.unwrap();
    let name = "resolve, for another entity";
    ledger.note(name, ns.resolve(&other, &what, None)).await.unwrap();
}

async fn set(scene: &Scene, ledger: &mut Ledger<'_>) {
    let ns = &scene.ns;
    granted(ns.acquire(&request("vip", &[("rpm", 1)], &[])).await.unwrap());
    let what = resource("gpt-4");
    let level = Level::Entity(entity("vip"), Some(what));
    let name = "limits of an entity, with a live bucket";
    ledger.note(name, ns.set_limits(&level, config(2_000), "test")).await.unwrap();
    let name = "limits of an entity removed, with a live bucket";
    ledger.note(name, ns.delete_limits(&level, "test")).await.unwrap();
    let level = Level::Resource(resource("new-model"));
    let name = "limits of a resource, new";
    ledger.note(name, ns.set_limits(&level, config(500), "test")).await.unwrap();
    let name = "limits of a resource, changed";
    ledger.note(name, ns.set_limits(&level, config(600), "test")).await.unwrap();
    let name = "limits of the system";
    ledger.note(name, ns.set_limits(&Level::System, config(700), "test")).await.unwrap();
}
