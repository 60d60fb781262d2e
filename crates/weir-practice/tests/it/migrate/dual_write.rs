//! Both sides stay equal while either is written, and while either is down.

use weir_practice::history::NewRun;
use weir_practice::ids::{Email, HistoryId, PlanId, Platform, ProblemId, ProblemRef, UserId};
use weir_practice::kinds::Action;
use weir_practice::migrate::dual_write::{DualWrite, DualWriteReport, DualWriter, WrittenTo};
use weir_practice::migrate::reads::ShiftedReads;
use weir_practice::migrate::{Entity, Migration, Record, RecordKey};
use weir_practice::usage::UsageRequest;
use weir_practice::users::{NewUser, User, UserPatch};
use weir_testkit::watched::Strike;
use weir_testkit::{Database, Postgres, eventually};

use super::origin::{Origin, SMALL, assert_same, backfill};
use crate::scene::{Scene, Watched};

scenes!(@on dynamodb_local changes_move_in_both_directions);
scenes!(@on embedded
    changes_move_in_both_directions
    deletions_move_in_both_directions
    nothing_is_lost_while_postgresql_is_down
    nothing_is_lost_while_the_table_is_down
    a_queued_row_is_not_overwritten
    a_refused_change_stays_in_the_queue
    a_queue_that_never_empties_does_not_stop_the_feed
    it_is_off_until_it_is_started_and_after_it_is_stopped
);

pub(super) async fn start(scene: &Scene, migration: &Migration<Watched>) -> DualWrite<Watched> {
    DualWrite::start(migration.clone(), "test", scene.clock.clone()).await.unwrap()
}

/// Runs until both queues are empty.
pub(super) async fn settle(scene: &Scene, dual_write: &mut DualWrite<Watched>) -> DualWriteReport {
    let mut total = DualWriteReport::default();
    let mut quiet = 0;
    eventually(async || {
        scene.clock.advance_ms(1);
        let report = dual_write.run_once().await.unwrap();
        quiet = if report.applied + report.replayed == 0 { quiet + 1 } else { 0 };
        total.applied += report.applied;
        total.replayed += report.replayed;
        total.refused_by_table += report.refused_by_table;
        total.refused_by_postgres.extend(report.refused_by_postgres);
        // A stream of DynamoDB Local delivers late.
        (quiet > if scene.is_dynamodb { 20 } else { 1 }).then_some(())
    })
    .await;
    total
}

async fn sign_up(scene: &Scene, name: &str) -> User {
    let email = Email::new(&format!("{name}@example.com")).unwrap();
    scene.practice.create_user(NewUser::new(email, name), "admin").await.unwrap()
}

pub(super) async fn rename(scene: &Scene, id: &str, name: &str) {
    let patch = UserPatch { name: Some(name.into()), ..UserPatch::default() };
    scene.practice.update_user(&UserId::new(id).unwrap(), &patch, "admin").await.unwrap();
}

async fn changes_move_in_both_directions(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    let ann = sign_up(scene, "ann").await;
    rename(scene, "3", "Here").await;
    let mut run = NewRun::new(Platform::new("baekjoon").unwrap(), "1000", "x".into());
    run.user_id = Some(ann.id.clone());
    scene.practice.record_run(run).await.unwrap();
    scene.practice.take_usage(&ann.id, &UsageRequest::new(Action::Hint)).await.unwrap();
    origin.run(
        "UPDATE users SET name = 'There', updated_at = '2037-01-23 13:59:59Z' WHERE id = 4;
         INSERT INTO users (email, name) VALUES ('ben@example.com', 'Ben');
         INSERT INTO usage_logs (user_id, action, created_at) VALUES (4, 'hint', '2037-01-23 13:30Z');
         UPDATE test_cases SET output = '7' WHERE id = 3;
         INSERT INTO search_history (user_id, platform, problem_number, code, created_at, updated_at)
         VALUES (4, 'baekjoon', '1001', 'y', '2037-01-23 13:00Z', '2037-01-23 13:00Z')",
    );
    let moved = settle(scene, &mut dual_write).await;
    assert_eq!((moved.replayed, moved.refused_by_table), (5, 0));
    assert!(moved.applied >= 4, "{moved:?}");
    assert_eq!(moved.refused_by_postgres, []);
    assert_eq!(origin.run("SELECT name FROM users WHERE id = 3"), "Here");
    let there = scene.practice.user(&UserId::new("4").unwrap()).await.unwrap();
    assert_eq!(there.name, "There");
    scene.practice.user_by_email(&Email::new("ben@example.com").unwrap()).await.unwrap();
    assert_eq!(
        origin.count("search_history h JOIN users u ON u.id = h.user_id WHERE u.name = 'ann'"),
        1
    );
    let report = super::origin::compare(&migration).await;
    assert_eq!(report.differences, []);
    dual_write.release().await.unwrap();
}

async fn deletions_move_in_both_directions(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    let practice = &scene.practice;
    let at = |id: &str| ProblemRef {
        platform: Platform::new("baekjoon").unwrap(),
        id: ProblemId::new(id).unwrap(),
    };
    practice.purge_problem(&at("1002"), "admin").await.unwrap();
    practice.delete_run(&HistoryId::new("9").unwrap()).await.unwrap();
    practice.erase_user(&UserId::new("5").unwrap(), "admin").await.unwrap();
    origin.run(
        "DELETE FROM search_history WHERE id = 10;
         DELETE FROM problems WHERE id = 4;
         DELETE FROM test_cases WHERE id = 5;
         DELETE FROM users WHERE id = 6",
    );
    settle(scene, &mut dual_write).await;
    assert_eq!(origin.count("problems WHERE id IN (2, 4)"), 0);
    assert_eq!(origin.count("search_history WHERE id IN (9, 10)"), 0);
    let erased =
        origin.run("SELECT name, email, google_id IS NULL, is_active FROM users WHERE id = 5");
    assert_eq!(erased, "|deleted-5@deleted.invalid|t|f");
    assert!(practice.problem(&at("1004")).await.unwrap_err().is_not_found());
    assert!(practice.run(&HistoryId::new("10").unwrap()).await.unwrap_err().is_not_found());
    assert!(practice.user(&UserId::new("6").unwrap()).await.unwrap_err().is_not_found());
    assert_eq!(migration.status().await.unwrap().queue.unwrap().waiting, 0);
}

async fn nothing_is_lost_while_postgresql_is_down(scene: &Scene) {
    let mut server = Postgres::start().unwrap();
    let origin = Origin::on(Database::create(server.url(), "down").unwrap(), SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    rename(scene, "3", "Before").await;
    settle(scene, &mut dual_write).await;
    server.stop();
    let writer = DualWriter::new(migration.clone());
    let mut user = scene.practice.user(&UserId::new("4").unwrap()).await.unwrap();
    for number in 1..=20 {
        rename(scene, "3", &format!("Down {number}")).await;
        user.name = format!("Written {number}");
        assert_eq!(writer.put(&Record::User(user.clone())).await.unwrap(), WrittenTo::Table);
    }
    sign_up(scene, "ann").await;
    let error = dual_write.run_once().await.unwrap_err();
    assert!(error.is_unavailable(), "{error}");
    // The process is killed, and another one goes on.
    drop(dual_write);
    server.start_again().unwrap();
    scene.clock.advance_ms(60_000);
    let mut dual_write = start(scene, &migration).await;
    settle(scene, &mut dual_write).await;
    assert_eq!(
        origin.run("SELECT name FROM users WHERE id IN (3, 4) ORDER BY id"),
        "Down 20\nWritten 20"
    );
    assert_eq!(origin.count("users WHERE email = 'ann@example.com'"), 1);
    assert_same(&migration).await;
}

async fn nothing_is_lost_while_the_table_is_down(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    let writer = DualWriter::new(migration.clone());
    let read = ShiftedReads::new(migration.clone(), 0, 0).unwrap();
    let key = |id: &str| RecordKey::User(UserId::new(id).unwrap());
    let Some(Record::User(mut user)) = read.read(&key("3")).await.unwrap() else { panic!() };
    let run = RecordKey::Run(HistoryId::new("7").unwrap());
    let Some(Record::Run(mut run)) = read.read(&run).await.unwrap() else { panic!() };
    run.summary.id = HistoryId::new("01JAB3XK5N8Q2R7T9V0W1Y4Z6C").unwrap();
    scene.watch.down(Some(Strike::Before));
    for number in 1..=20 {
        user.name = format!("Down {number}");
        assert_eq!(writer.put(&Record::User(user.clone())).await.unwrap(), WrittenTo::Postgres);
    }
    assert_eq!(writer.put(&Record::Run(run.clone())).await.unwrap(), WrittenTo::Postgres);
    assert!(dual_write.run_once().await.unwrap_err().is_unavailable());
    scene.watch.down(None);
    // A write right after: what waits comes first, so it is the last.
    user.name = "After".to_owned();
    assert_eq!(writer.put(&Record::User(user)).await.unwrap(), WrittenTo::Table);
    settle(scene, &mut dual_write).await;
    assert_eq!(scene.practice.user(&UserId::new("3").unwrap()).await.unwrap().name, "After");
    assert_eq!(origin.run("SELECT name FROM users WHERE id = 3"), "After");
    let stored = scene.practice.run(&run.summary.id).await.unwrap();
    assert_eq!(stored.code, run.code);
    assert_eq!(origin.count("search_history"), u64::from(SMALL.history) + 1);
    assert_same(&migration).await;
}

async fn a_queued_row_is_not_overwritten(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    // Both sides change one user; the later one wins on both, whichever side it is on.
    rename(scene, "3", "Here").await;
    origin.run(
        "UPDATE users SET name = 'There, later', updated_at = '2037-01-23 15:00Z' WHERE id = 3;
         UPDATE users SET name = 'There, earlier', updated_at = '2037-01-23 13:00Z' WHERE id = 4",
    );
    rename(scene, "4", "Here, later").await;
    settle(scene, &mut dual_write).await;
    let name = async |id| scene.practice.user(&UserId::new(id).unwrap()).await.unwrap().name;
    assert_eq!((name("3").await, name("4").await), ("There, later".into(), "Here, later".into()));
    let rows = origin.run("SELECT name FROM users WHERE id IN (3, 4) ORDER BY id");
    assert_eq!(rows, "There, later\nHere, later");
}

async fn a_refused_change_stays_in_the_queue(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    origin.run(
        "UPDATE users SET email = 'nobody', updated_at = '2037-01-23 15:00Z' WHERE id = 3;
         UPDATE users SET name = 'Fine', updated_at = '2037-01-23 15:00Z' WHERE id = 4",
    );
    let moved = settle(scene, &mut dual_write).await;
    assert_eq!((moved.replayed, moved.refused_by_table), (1, 1));
    assert!(
        origin
            .run("SELECT entity, row_id, problem FROM weir_missed")
            .starts_with("users|3|email: ")
    );
    let queue = migration.status().await.unwrap().queue.unwrap();
    assert_eq!((queue.waiting, queue.refused), (0, 1));
    // Our table has a text that PostgreSQL cannot have; others go on.
    let mut run = NewRun::new(Platform::new("baekjoon").unwrap(), "1000", "a\0b".into());
    run.user_id = Some(UserId::new("4").unwrap());
    scene.practice.record_run(run).await.unwrap();
    rename(scene, "7", "Fine too").await;
    let moved = settle(scene, &mut dual_write).await;
    let [(key, why)] = &moved.refused_by_postgres[..] else { panic!("{moved:?}") };
    assert_eq!(key.entity(), Entity::History);
    assert!(why.contains("invalid byte sequence"), "{why}");
    assert_eq!(origin.run("SELECT name FROM users WHERE id = 7"), "Fine too");
}

async fn a_queue_that_never_empties_does_not_stop_the_feed(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let mut dual_write = start(scene, &migration).await;
    rename(scene, "4", "Here").await;
    // A new entry follows each one that leaves, up to an end that only a run without a bound reaches.
    origin.run(
        "CREATE FUNCTION write_again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO weir_missed (entity, row_id, operation) SELECT 'users', 3, 'write'
             WHERE pg_sequence_last_value(pg_get_serial_sequence('weir_missed', 'seq')) < 400;
             RETURN NULL;
         END $$;
         CREATE TRIGGER write_again AFTER DELETE ON weir_missed
         FOR EACH STATEMENT EXECUTE FUNCTION write_again();
         UPDATE users SET name = 'There' WHERE id = 3",
    );
    let moved = dual_write.run_once().await.unwrap();
    assert!(moved.replayed > 0 && moved.replayed < 200, "{moved:?}");
    assert_eq!(origin.run("SELECT name FROM users WHERE id = 4"), "Here");
    // A writer that is behind stays on PostgreSQL while its entries may wait.
    let writer = DualWriter::new(migration.clone());
    let mut user = scene.practice.user(&UserId::new("4").unwrap()).await.unwrap();
    let mut put = async |name: &str| {
        user.name = name.to_owned();
        writer.put(&Record::User(user.clone())).await.unwrap()
    };
    scene.watch.down(Some(Strike::Before));
    assert_eq!(put("Down").await, WrittenTo::Postgres);
    scene.watch.down(None);
    assert_eq!(put("Behind").await, WrittenTo::Postgres);
    origin.run("DROP TRIGGER write_again ON weir_missed");
    settle(scene, &mut dual_write).await;
    assert_eq!(put("After").await, WrittenTo::Table);
    settle(scene, &mut dual_write).await;
    assert_eq!(origin.run("SELECT name FROM users WHERE id = 4"), "After");
}

async fn it_is_off_until_it_is_started_and_after_it_is_stopped(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let queue = async || migration.status().await.unwrap().queue;
    assert_eq!(queue().await, None);
    let mut dual_write = start(scene, &migration).await;
    start(scene, &migration).await;
    origin.run(
        "UPDATE users SET subscription_plan_id = 2, updated_at = '2037-01-23 15:00Z' WHERE id = 8",
    );
    assert_eq!(queue().await.unwrap().waiting, 1);
    let error = DualWrite::stop(&migration).await.unwrap_err();
    assert!(error.to_string().contains("wait in the queue"), "{error}");
    settle(scene, &mut dual_write).await;
    assert_eq!(scene.practice.plan_user_count(PlanId::PRO).await.unwrap(), 4);
    DualWrite::stop(&migration).await.unwrap();
    assert_eq!(queue().await, None);
    origin.run("UPDATE users SET name = 'Alone' WHERE id = 8");
}
