//! A user who was erased in our table stays erased on both sides, whatever PostgreSQL does with its rows.

use weir_practice::ids::{HistoryId, PlanId, UserId};
use weir_practice::migrate::{BackfillOptions, Entity, RecordKey};

use super::dual_write::{rename, settle, start};
use super::origin::{Origin, SMALL, backfill, contents, of};
use crate::scene::Scene;

scenes!(@on embedded
    a_backfill_brings_no_run_back
    a_changed_row_brings_no_run_back
    the_plan_of_erased_users_can_be_deleted
    a_deletion_that_postgresql_refuses_is_reported
);

/// The rows of the runs of user 5.
const RUNS: [&str; 5] = ["4", "16", "28", "40", "52"];

async fn erase(scene: &Scene, id: &str) {
    let practice = &scene.practice;
    practice.erase_user(&UserId::new(id).unwrap(), "admin").await.unwrap();
    practice.continue_erasures(10_000).await.unwrap();
}

/// Nothing of the runs of user 5 is in our table.
async fn assert_no_runs(scene: &Scene) {
    for id in RUNS {
        let run = scene.practice.run(&HistoryId::new(id).unwrap()).await;
        assert!(run.unwrap_err().is_not_found(), "{id}");
    }
    let all = format!("{:?}", contents(scene).await);
    assert!(!all.contains("User 5") && !all.contains("again"));
}

fn assert_anonymous(origin: &Origin, id: &str) {
    let row = origin.run(&format!(
        "SELECT name, email, picture_url, google_id, subscription_plan_id, is_active, is_staff
         FROM users WHERE id = {id}"
    ));
    assert_eq!(row, format!("|deleted-{id}@deleted.invalid||||f|f"));
    let details = format!("usage_logs WHERE user_id = {id} AND metadata <> '{{}}'");
    assert_eq!(origin.count(&details), 0);
}

async fn a_backfill_brings_no_run_back(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    erase(scene, "5").await;
    assert_no_runs(scene).await;
    for overwrite in [false, true] {
        let options = BackfillOptions { restart: true, overwrite, ..BackfillOptions::default() };
        let report = migration.backfill(&options, &mut |_| {}).await.unwrap();
        assert_no_runs(scene).await;
        let runs = of(&report, Entity::History);
        assert_eq!((runs.kept, runs.unchanged, runs.bad), (5, 55, 0));
    }
}

async fn a_changed_row_brings_no_run_back(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    erase(scene, "5").await;
    origin.run(
        "UPDATE search_history SET code = 'again', updated_at = '2037-01-23 15:00Z' WHERE user_id = 5;
         INSERT INTO search_history (user_id, platform, problem_number, code)
         VALUES (5, 'baekjoon', '1001', 'again')",
    );
    let moved = settle(scene, &mut dual_write).await;
    assert_no_runs(scene).await;
    assert_eq!((moved.refused_by_table, moved.refused_by_postgres), (0, vec![]));
}

/// Deletes the plan Beta with its users.
async fn delete_beta(scene: &Scene) {
    for id in ["2", "6", "10"] {
        erase(scene, id).await;
    }
    scene.practice.delete_plan(PlanId::new(7).unwrap(), "admin").await.unwrap();
}

async fn the_plan_of_erased_users_can_be_deleted(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    delete_beta(scene).await;
    let moved = settle(scene, &mut dual_write).await;
    assert_eq!(moved.refused_by_postgres, []);
    assert_eq!(origin.count("subscription_plans WHERE id = 7"), 0);
    ["2", "6", "10"].into_iter().for_each(|id| assert_anonymous(&origin, id));
}

async fn a_deletion_that_postgresql_refuses_is_reported(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    // Our table refuses the row, so only PostgreSQL has a user on the plan.
    origin.run("UPDATE users SET email = 'nobody', subscription_plan_id = 7 WHERE id = 3");
    delete_beta(scene).await;
    rename(scene, "4", "Fine").await;
    let moved = settle(scene, &mut dual_write).await;
    let [(key, why)] = &moved.refused_by_postgres[..] else { panic!("{moved:?}") };
    assert_eq!(*key, RecordKey::Plan(PlanId::new(7).unwrap()));
    assert!(why.contains("foreign key"), "{why}");
    assert_eq!(origin.run("SELECT name FROM users WHERE id = 4"), "Fine");
    rename(scene, "4", "Fine too").await;
    settle(scene, &mut dual_write).await;
    assert_eq!(origin.run("SELECT name FROM users WHERE id = 4"), "Fine too");
}
