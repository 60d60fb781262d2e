//! A rollback writes to PostgreSQL what only our table has.

use weir_practice::history::NewRun;
use weir_practice::ids::{Email, Platform, ProblemId, ProblemRef, UserId};
use weir_practice::kinds::Action;
use weir_practice::migrate::{BackfillOptions, Migration, RollbackOptions, RollbackReport};
use weir_practice::problems::NewProblem;
use weir_practice::test_cases::NewTestCase;
use weir_practice::usage::UsageRequest;
use weir_practice::users::{NewUser, UserPatch};

use super::origin::{Origin, SMALL, assert_same, backfill};
use crate::scene::{Scene, Watched};

scenes!(@on embedded
    what_postgresql_missed_is_restored
    a_row_that_others_need_first_is_counted_once
    a_newer_row_stays
);

async fn rollback(migration: &Migration<Watched>, dry_run: bool) -> RollbackReport {
    let report = migration.rollback(RollbackOptions { dry_run }, &mut |_| {}).await.unwrap();
    assert_eq!(report.refused, []);
    report
}

/// Something new of every kind, and something changed.
async fn live_on(scene: &Scene) -> UserId {
    let practice = &scene.practice;
    let new = NewUser::new(Email::new("ann@example.com").unwrap(), "Ann");
    let ann = practice.create_user(new, "admin").await.unwrap();
    let at = ProblemRef {
        platform: Platform::new("leetcode").unwrap(),
        id: ProblemId::new("two-sum").unwrap(),
    };
    let mut problem = NewProblem::new(at.clone(), "Two Sum");
    problem.solution_code = Some("return []".into());
    let case = NewTestCase { input: "1".into(), output: "2".into(), is_sample: true };
    problem.test_cases = vec![case.clone(), case];
    practice.create_problem(problem, None, "admin").await.unwrap();
    let mut run = NewRun::new(at.platform.clone(), "two-sum", "print()".into());
    run.user_id = Some(ann.id.clone());
    run.is_public = true;
    practice.record_run(run).await.unwrap();
    for user in [&ann.id, &UserId::new("7").unwrap()] {
        practice.take_usage(user, &UsageRequest::new(Action::Execution)).await.unwrap();
    }
    let patch = UserPatch { name: Some("Renamed".into()), ..UserPatch::default() };
    practice.update_user(&UserId::new("4").unwrap(), &patch, "admin").await.unwrap();
    let deleted = ProblemRef {
        platform: Platform::new("baekjoon").unwrap(),
        id: ProblemId::new("1002").unwrap(),
    };
    practice.delete_problem(&deleted, Some("wrong".into()), "admin").await.unwrap();
    ann.id
}

async fn what_postgresql_missed_is_restored(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    assert_eq!(rollback(&migration, true).await.written(), 0);
    let ann = live_on(scene).await;
    origin.run("DELETE FROM search_history WHERE id IN (5, 6)");
    let dry = rollback(&migration, true).await;
    assert_eq!(origin.count("users"), 12);
    let done = rollback(&migration, false).await;
    assert_eq!(done.tables, dry.tables);
    // Ann, the problem, two test cases, the run, two actions, two lost rows; and two changes.
    assert_eq!(done.written(), 11, "{:?}", done.tables);
    assert_eq!(rollback(&migration, false).await.written(), 0);
    assert_same(&migration).await;
    let row = origin
        .run("SELECT id > 1000000, name, is_active FROM users WHERE email = 'ann@example.com'");
    assert_eq!(row, "t|Ann|t");
    let row =
        origin.run("SELECT is_deleted, deleted_reason FROM problems WHERE problem_id = '1002'");
    assert_eq!(row, "t|wrong");
    assert_eq!(origin.run("SELECT convert_from(decode(solution_code, 'base64'), 'UTF8') FROM problems WHERE platform = 'leetcode'"), "return []");
    // The rows are known as the records they came from.
    let options = BackfillOptions { restart: true, ..BackfillOptions::default() };
    let again = migration.backfill(&options, &mut |_| {}).await.unwrap();
    assert!(again.tables.iter().all(|(_, counts)| counts.unchanged == counts.rows()), "{again:?}");
    assert_eq!(scene.practice.user(&ann).await.unwrap().name, "Ann");
    // The next row of the application gets an id of its own.
    origin.run("INSERT INTO users (email) VALUES ('next@example.com')");
}

/// Records come in the order of their keys, so runs of many users come before the users.
async fn a_row_that_others_need_first_is_counted_once(scene: &Scene) {
    const USERS: u64 = 120;
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    for number in 0..USERS {
        let email = Email::new(&format!("new{number}@example.com")).unwrap();
        let user = scene.practice.create_user(NewUser::new(email, "New"), "admin").await.unwrap();
        let mut run = NewRun::new(Platform::new("baekjoon").unwrap(), "1000", "x".into());
        run.user_id = Some(user.id);
        scene.practice.record_run(run).await.unwrap();
    }
    let dry = rollback(&migration, true).await;
    let done = rollback(&migration, false).await;
    assert_eq!(done.tables, dry.tables);
    assert_eq!(done.written(), 2 * USERS, "{:?}", done.tables);
    assert_eq!(rollback(&migration, false).await.written(), 0);
    assert_same(&migration).await;
}

async fn a_newer_row_stays(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    origin.run("UPDATE users SET name = 'Later', updated_at = '2037-01-23 13:00Z' WHERE id = 4");
    let report = rollback(&migration, false).await;
    assert_eq!(report.written(), 0, "{:?}", report.tables);
    let users = report.tables.iter().find(|(entity, _)| entity.table() == "users").unwrap().1;
    assert_eq!((users.kept, users.updated), (1, 0));
    assert_eq!(origin.run("SELECT name FROM users WHERE id = 4"), "Later");
}
