//! Attributes that Weir does not know: an error for what has them, and for nothing else.

use std::collections::BTreeMap;

use weir_limiter::acquire::{Acquire, Acquired};
use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::{Error, keys};
use weir_table::expr::set;
use weir_table::{Get, Key, Write};

use crate::scene::{Scene, entity, limit_name, per_minute, resource};

scenes!(an_unknown_attribute_of_a_level_is_an_error, an_unknown_attribute_of_a_bucket_is_an_error,);

async fn mark(scene: &Scene, key: Key, attribute: &'static str) {
    let table = scene.limiter.settings().table.as_str();
    let update = Write::update(table, key, set(attribute, true));
    scene.store.write(update).await.unwrap();
}

async fn limits(scene: &Scene, level: &Level, capacity: u64) -> Result<LevelConfig, Error> {
    let config =
        LevelConfig { limits: vec![per_minute("rpm", capacity)], ..LevelConfig::default() };
    scene.ns.set_limits(level, config, "ann").await
}

async fn take(scene: &Scene, from: &str, on: &str) -> Result<Acquired, Error> {
    let consume = BTreeMap::from([(limit_name("rpm"), 1)]);
    scene.ns.acquire(&Acquire::new(entity(from), resource(on), consume)).await
}

#[track_caller]
fn names<T: std::fmt::Debug>(result: Result<T, Error>, item: &str, attribute: &str) {
    match result.unwrap_err() {
        Error::UnknownAttribute { item: found, attribute: named } => {
            assert_eq!((found.as_str(), named.as_str()), (item, attribute));
        }
        other => panic!("{other:?}"),
    }
}

async fn an_unknown_attribute_of_a_level_is_an_error(scene: &Scene) {
    let level = Level::Resource(resource("gpt-4"));
    limits(scene, &Level::System, 10).await.unwrap();
    limits(scene, &level, 5).await.unwrap();
    let key = keys::resource_config(scene.ns.id(), &resource("gpt-4"));
    mark(scene, key.clone(), "disabled").await;
    scene.ns.invalidate(None, None);
    let item = "the config of resource gpt-4";
    names(take(scene, "user-1", "gpt-4").await, item, "disabled");
    names(limits(scene, &level, 7).await, item, "disabled");
    names(scene.ns.delete_limits(&level, "ann").await, item, "disabled");
    names(scene.ns.limits(&level).await, item, "disabled");
    names(scene.ns.resolve(&entity("user-1"), &resource("gpt-4"), None).await, item, "disabled");
    let table = scene.limiter.settings().table.as_str();
    let stored = scene.store.get(&Get::new(table, key)).await.unwrap().unwrap();
    assert_eq!((stored.i64("l_rpm_cp"), stored.get("disabled").is_some()), (Some(5), true));
    assert!(matches!(take(scene, "user-1", "gpt-5").await, Ok(Acquired::Granted(_))));
}

async fn an_unknown_attribute_of_a_bucket_is_an_error(scene: &Scene) {
    limits(scene, &Level::System, 10).await.unwrap();
    for user in ["user-1", "user-2"] {
        assert!(matches!(take(scene, user, "gpt-4").await, Ok(Acquired::Granted(_))));
    }
    let key = keys::bucket(scene.ns.id(), &entity("user-1"), &resource("gpt-4"), 0);
    mark(scene, key, "bypass").await;
    // Another process, which has not seen the bucket yet.
    let ns = scene.another().await.namespace(scene.ns.name()).await.unwrap();
    let consume = BTreeMap::from([(limit_name("rpm"), 1)]);
    let acquire = Acquire::new(entity("user-1"), resource("gpt-4"), consume);
    let item = "the bucket of entity user-1 on resource gpt-4";
    names(ns.acquire(&acquire).await, item, "bypass");
    names(
        ns.reset_bucket(&entity("user-1"), &resource("gpt-4"), None, "ann").await,
        item,
        "bypass",
    );
    assert!(matches!(take(scene, "user-2", "gpt-4").await, Ok(Acquired::Granted(_))));
}
