//! A user who was erased in our table stays erased on both sides, whatever PostgreSQL does with its rows.

use std::sync::Arc;

use weir_practice::ids::{HistoryId, PlanId, UserId};
use weir_practice::migrate::{BackfillOptions, Entity, RecordKey};
use weir_testkit::eventually;

use super::dual_write::{rename, settle, start};
use super::origin::{Origin, SMALL, backfill, contents, of};
use crate::scene::Scene;

scenes!(@on embedded
    a_backfill_brings_no_run_back
    a_changed_row_brings_no_run_back
    a_changed_row_of_an_erased_user_becomes_anonymous_again
    a_row_that_changes_while_its_user_is_erased_becomes_anonymous
    a_refused_row_of_an_erased_user_becomes_anonymous
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
    assert_eq!(origin.count("search_history WHERE user_id = 5"), 0);
}

async fn a_changed_row_of_an_erased_user_becomes_anonymous_again(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    erase(scene, "5").await;
    settle(scene, &mut dual_write).await;
    assert_anonymous(&origin, "5");
    for change in ["email = 'again@example.com'", "name = 'again'", "subscription_plan_id = 1"] {
        origin.run(&format!(
            "UPDATE usage_logs SET metadata = '{{\"of\": \"again\"}}' WHERE user_id = 5;
             UPDATE users SET {change}, updated_at = '2037-01-23 15:00Z' WHERE id = 5"
        ));
        settle(scene, &mut dual_write).await;
        assert_anonymous(&origin, "5");
    }
    assert_eq!(migration.status().await.unwrap().queue.unwrap().waiting, 0);
}

/// Changes user 5, and commits when another session waits for the row.
const CHANGE: &str = "DO $$ BEGIN
    UPDATE users SET name = 'again', updated_at = '2037-01-23 15:00Z' WHERE id = 5;
    PERFORM pg_advisory_xact_lock(5);
    FOR attempt IN 1..6000 LOOP
        EXIT WHEN EXISTS (SELECT 1 FROM pg_stat_activity
                          WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid)));
        PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
    END LOOP;
END $$";
/// Whether that change has the row.
const CHANGED: &str = "pg_locks WHERE locktype = 'advisory' AND objid = 5
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// The replay of a run does not see the change yet, and the deletion of the same run meets its entry.
async fn a_row_that_changes_while_its_user_is_erased_becomes_anonymous(scene: &Scene) {
    let origin = Arc::new(Origin::new(SMALL));
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    erase(scene, "5").await;
    let application = origin.clone();
    let application = std::thread::spawn(move || application.run(CHANGE));
    eventually(async || (origin.count(CHANGED) > 0).then_some(())).await;
    dual_write.run_once().await.unwrap();
    application.join().unwrap();
    settle(scene, &mut dual_write).await;
    assert_anonymous(&origin, "5");
    assert_eq!(migration.status().await.unwrap().queue.unwrap().waiting, 0);
}

async fn a_refused_row_of_an_erased_user_becomes_anonymous(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    origin.run("UPDATE users SET email = 'nobody' WHERE id = 5");
    assert_eq!(settle(scene, &mut dual_write).await.refused_by_table, 1);
    erase(scene, "5").await;
    settle(scene, &mut dual_write).await;
    assert_anonymous(&origin, "5");
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
