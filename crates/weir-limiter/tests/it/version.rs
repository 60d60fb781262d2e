//! The schema version.

use weir_limiter::{Compat, Error, Limiter, keys};
use weir_table::expr::set;
use weir_table::{Get, Item, TableSpec, Value, Write};

use crate::scene::Scene;
use crate::watched::Watched;

scenes!(
    a_new_table_stores_its_version,
    an_existing_record_stays,
    a_schema_that_is_too_new_is_refused,
    strict_version_refuses_every_other_schema,
    a_shared_table_has_the_version_of_zae_limiter,
);

async fn record(scene: &Scene, table: &str) -> Item {
    scene.store.get(&Get::new(table, keys::version())).await.unwrap().unwrap()
}

async fn say(scene: &Scene, schema: &str) {
    let table = scene.limiter.settings().table.as_str();
    let update = Write::update(table, keys::version(), set("schema_version", schema));
    scene.store.write(update).await.unwrap();
}

async fn reopen(scene: &Scene) -> Result<Limiter<Watched>, Error> {
    let settings = scene.limiter.settings().clone();
    Limiter::open(scene.store.clone(), scene.clock.clone(), settings).await
}

async fn a_new_table_stores_its_version(scene: &Scene) {
    let item = record(scene, &scene.limiter.settings().table).await;
    for (attribute, text) in [
        ("schema_version", "1.0.0"),
        ("client_min_version", "0.0.0"),
        ("updated_at", "2037-01-15T12:00:00Z"),
        ("GSI4PK", "_"),
        ("GSI4SK", "_/SYSTEM#"),
    ] {
        assert_eq!(item.s(attribute), Some(text), "{attribute}");
    }
    assert_eq!(item.get("lambda_version"), Some(&Value::Null));
    let version = scene.limiter.version().await.unwrap();
    assert_eq!((version.schema.as_str(), version.updated_ms), ("1.0.0", scene.now_ms()));
    assert!(version.updated_by.unwrap().starts_with("weir:"));
}

async fn an_existing_record_stays(scene: &Scene) {
    let before = record(scene, &scene.limiter.settings().table).await;
    scene.clock.advance_ms(5_000);
    reopen(scene).await.unwrap();
    assert_eq!(record(scene, &scene.limiter.settings().table).await, before);
    say(scene, "1.7.0").await;
    reopen(scene).await.unwrap();
    assert_eq!(scene.limiter.version().await.unwrap().schema, "1.7.0");
}

async fn a_schema_that_is_too_new_is_refused(scene: &Scene) {
    say(scene, "2.0.0").await;
    let error = reopen(scene).await.unwrap_err();
    assert!(matches!(error, Error::Version(_)));
    assert!(error.to_string().contains("use a newer weir"), "{error}");
    say(scene, "0.9.0").await;
    let error = reopen(scene).await.unwrap_err();
    assert!(error.to_string().contains("compat"), "{error}");
}

async fn strict_version_refuses_every_other_schema(scene: &Scene) {
    let table = scene.limiter.settings().table.as_str();
    let key = keys::system_config(scene.ns.id());
    let write = Write::update(table, key, set("strict_version", true));
    scene.store.write(write).await.unwrap();
    reopen(scene).await.unwrap();
    say(scene, "1.0.1").await;
    let error = reopen(scene).await.unwrap_err();
    assert!(error.to_string().contains("strict_version"), "{error}");
}

async fn a_shared_table_has_the_version_of_zae_limiter(scene: &Scene) {
    let mut settings = scene.limiter.settings().clone();
    settings.table = "shared".to_owned();
    settings.compat = Compat::Zae;
    let open = async || {
        let (store, clock) = (scene.store.clone(), scene.clock.clone());
        Limiter::open(store, clock, settings.clone()).await
    };
    open().await.unwrap();
    let item = record(scene, "shared").await;
    assert_eq!(item.s("schema_version"), Some("0.9.0"));
    assert_eq!(item.get("lambda_version"), Some(&Value::Null));
    // An original that came first says more, and that stays.
    let key = keys::version();
    let theirs = set("lambda_version", "0.10.3").set("schema_version", "0.9.1");
    scene.store.write(Write::update("shared", key.clone(), theirs)).await.unwrap();
    let before = record(scene, "shared").await;
    open().await.unwrap();
    assert_eq!(record(scene, "shared").await, before);
    let later = set("schema_version", "0.10.0");
    scene.store.write(Write::update("shared", key, later)).await.unwrap();
    let error = open().await.unwrap_err().to_string();
    assert!(error.contains("zae-limiter") && error.contains("import-zae"), "{error}");
    let _: &TableSpec = &scene.store.spec("shared").await.unwrap();
    scene.store.delete_table("shared").await.unwrap();
}
