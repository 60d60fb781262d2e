//! Rows that cannot be copied are named, by a dry run too, and others are copied.

use weir_practice::migrate::{BackfillOptions, BackfillReport, Entity};

use super::origin::{Origin, SMALL, backfill, compare, contents, of};
use crate::scene::Scene;

scenes!(@on embedded a_dry_run_names_bad_rows_and_writes_nothing others_are_copied);

const SPOIL: &str = "
    UPDATE subscription_plans SET max_hints_per_day = 2000000000 WHERE id = 7;
    UPDATE users SET subscription_plan_id = 1 WHERE subscription_plan_id = 7;
    UPDATE users SET email = 'nobody' WHERE id = 2;
    UPDATE users SET email = 'USER3@EXAMPLE.COM' WHERE id = 5;
    UPDATE problems SET tags = '[\"a#b\"]' WHERE id = 3;
    UPDATE problems SET title = ' ' WHERE id = 4;
    UPDATE search_history SET hints = '{}' WHERE id = 7;
    UPDATE search_history SET created_at = 'infinity' WHERE id = 8;
    UPDATE usage_logs SET metadata = '[]' WHERE id = 10;";

/// The bad rows of a report: table, row and column.
fn named(report: &BackfillReport) -> Vec<(&'static str, i64, &str)> {
    let named = |bad: &'_ weir_practice::migrate::BadRow| (bad.entity.table(), bad.row_id);
    report.bad_rows.iter().map(|bad| (named(bad).0, named(bad).1, bad.field.as_str())).collect()
}

async fn a_dry_run_names_bad_rows_and_writes_nothing(scene: &Scene) {
    let origin = Origin::new(SMALL);
    origin.run(SPOIL);
    let migration = origin.migration(scene).await;
    let before = contents(scene).await;
    let options = BackfillOptions { dry_run: true, ..BackfillOptions::default() };
    let report = migration.backfill(&options, &mut |_| {}).await.unwrap();
    assert_eq!(
        named(&report),
        [
            ("subscription_plans", 7, "max_hints_per_day"),
            ("users", 2, "email"),
            ("users", 5, "email"),
            ("problems", 3, "tags"),
            ("problems", 4, "title"),
            ("search_history", 7, "hints"),
            ("search_history", 8, "created_at"),
            ("usage_logs", 10, "metadata"),
        ]
    );
    assert_eq!(contents(scene).await, before);
    assert!(migration.status().await.unwrap().tables.iter().all(|table| table.last_id == 0));
}

async fn others_are_copied(scene: &Scene) {
    let origin = Origin::new(SMALL);
    origin.run(SPOIL);
    let migration = origin.migration(scene).await;
    let report = backfill(&migration).await;
    let bad = named(&report);
    for expected in [
        ("subscription_plans", 7, "max_hints_per_day"),
        ("users", 2, "email"),
        ("users", 5, "email"),
        ("problems", 3, "tags"),
        ("search_history", 7, "hints"),
        ("usage_logs", 10, "metadata"),
    ] {
        assert!(bad.contains(&expected), "{expected:?} is missing in {bad:?}");
    }
    assert_eq!((of(&report, Entity::Users).created, of(&report, Entity::Users).bad), (10, 2));
    // Test cases of a bad problem, and usage of a bad user, are bad too.
    assert_eq!(of(&report, Entity::TestCases).bad, 6);
    assert!(bad.iter().any(|(table, ..)| *table == "test_cases"));
    let found = compare(&migration).await;
    assert!(found.difference_count() >= report.bad());
    // Corrected rows are copied by a run from the start.
    origin.run(
        "UPDATE subscription_plans SET max_hints_per_day = -1 WHERE id = 7;
         UPDATE users SET email = 'two@example.com' WHERE id = 2;
         UPDATE users SET email = 'five@example.com' WHERE id = 5;
         UPDATE problems SET tags = '[]' WHERE id = 3;
         UPDATE problems SET title = 'Four' WHERE id = 4;
         UPDATE search_history SET hints = '[]' WHERE id = 7;
         UPDATE search_history SET created_at = '2036-12-01Z' WHERE id = 8;
         UPDATE usage_logs SET metadata = '{}' WHERE id = 10;",
    );
    let options = BackfillOptions { restart: true, ..BackfillOptions::default() };
    assert_eq!(migration.backfill(&options, &mut |_| {}).await.unwrap().bad(), 0);
    super::origin::assert_same(&migration).await;
}
