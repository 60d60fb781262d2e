//! A PostgreSQL database with the schema of the application, and rows of every kind.

use std::collections::BTreeMap;

use weir_practice::item::TYPE;
use weir_practice::migrate::{
    BackfillOptions, BackfillReport, Entity, Migration, Scope, ValidateReport,
};
use weir_table::{Item, Query};
pub(crate) use weir_testkit::practice_rows::Size;
use weir_testkit::practice_rows::practice_rows;
use weir_testkit::{Database, postgres_database};

use crate::scene::{Scene, Watched};

const SCHEMA: &str = include_str!("../../../schema.sql");

/// A few rows of everything.
pub(crate) const SMALL: Size =
    Size { users: 12, problems: 10, test_cases: 30, history: 60, usage: 150 };

/// The time of the scenes.
const NOW: &str = "2037-01-23 14:00:00Z";

/// A database.
pub(crate) struct Origin {
    pub(crate) database: Database,
}

impl Origin {
    /// A database of the shared server.
    pub(crate) fn new(size: Size) -> Origin {
        Origin::on(postgres_database("migrate").unwrap(), size)
    }

    /// A new database, filled.
    pub(crate) fn on(database: Database, size: Size) -> Origin {
        database.run(SCHEMA).unwrap();
        database.run(&practice_rows(size, NOW)).unwrap();
        Origin { database }
    }

    pub(crate) fn run(&self, statements: &str) -> String {
        self.database.run(statements).unwrap()
    }

    pub(crate) fn count(&self, of: &str) -> u64 {
        self.run(&format!("SELECT count(*) FROM {of}")).parse().unwrap()
    }

    pub(crate) async fn migration(&self, scene: &Scene) -> Migration<Watched> {
        Migration::connect(&self.database.url(), scene.practice.clone()).await.unwrap()
    }
}

/// Copies everything that is not copied yet.
pub(crate) async fn backfill(migration: &Migration<Watched>) -> BackfillReport {
    migration.backfill(&BackfillOptions::default(), &mut |_| {}).await.unwrap()
}

/// Compares everything.
pub(crate) async fn compare(migration: &Migration<Watched>) -> ValidateReport {
    migration.validate(Scope::All, &mut |_| {}).await.unwrap()
}

/// Both sides are the same.
pub(crate) async fn assert_same(migration: &Migration<Watched>) {
    let report = compare(migration).await;
    assert_eq!(report.differences, [], "{:?}", report.tables);
    for (entity, table) in &report.tables {
        assert_eq!((table.rows, table.differences), (table.records, 0), "{entity}");
    }
}

/// What became of the rows of a table.
pub(crate) fn of(report: &BackfillReport, entity: Entity) -> weir_practice::migrate::Counts {
    report.tables.iter().find(|(of, _)| *of == entity).unwrap().1
}

/// Everything in the table but what the migration notes of itself, by key, without random parts.
pub(crate) async fn contents(scene: &Scene) -> BTreeMap<String, Item> {
    let items = scene.all(Query::scan(scene.practice.table().clone())).await;
    let is_noted = |item: &Item| {
        matches!(item.s(TYPE), Some("audit" | "chk")) || item.s("PK") == Some("MIGRATION")
    };
    let named = |mut item: Item| {
        let key = format!("{} {}", item.s("PK").unwrap(), item.s("SK").unwrap());
        item.remove("rev");
        (key, item)
    };
    items.into_iter().filter(|item| !is_noted(item)).map(named).collect()
}
