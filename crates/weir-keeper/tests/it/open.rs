//! Opening a keeper.

use weir_calendar::Zone;
use weir_keeper::table::Tables;
use weir_keeper::{Error, Keeper, Settings};
use weir_table::{Kind, TableSpec};

use crate::scene::Scene;

scenes!(the_tables_are_made_once, a_table_of_another_shape_is_refused);

async fn the_tables_are_made_once(scene: &Scene) {
    let names = scene.store.table_names().await.unwrap();
    for spec in scene.keeper.tables().specs() {
        assert!(names.contains(&spec.name), "{} in {names:?}", spec.name);
        assert_eq!(scene.store.spec(&spec.name).await.unwrap().ttl, spec.ttl);
    }
    let another = scene.another().await;
    assert_eq!(scene.store.table_names().await.unwrap(), names);
    assert_eq!((another.price_book().len(), another.catalog().iter().count()), (1_424, 4));
    let zone = Zone::new("America/New_York").unwrap();
    assert_eq!(zone.local_time(another.now_ms()), "2037-01-23T09:00:00-05:00");
    scene.clock.advance_ms(1);
    assert_eq!(another.now_ms(), scene.keeper.now_ms());
}

async fn a_table_of_another_shape_is_refused(scene: &Scene) {
    let tables = Tables::prefixed("other-");
    let wrong = TableSpec::new(tables.config.as_str(), "id", Kind::S);
    scene.store.create_table(&wrong).await.unwrap();
    let settings = Settings { tables, ..Settings::default() };
    let opened = Keeper::open(scene.store.clone(), scene.clock.clone(), settings).await;
    let error = opened.unwrap_err();
    assert!(matches!(error, Error::Store(weir_table::Error::SpecMismatch { .. })), "{error}");
    scene.store.delete_table(&wrong.name).await.unwrap();
}
