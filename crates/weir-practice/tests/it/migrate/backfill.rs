//! Copied rows are what the service would have written.

use weir_calendar::Day;
use weir_practice::ids::{
    Email, GoogleId, HistoryId, PlanId, Platform, ProblemId, ProblemRef, UserId,
};
use weir_practice::kinds::{Action, ProblemStatus};
use weir_practice::list::PageRequest;
use weir_practice::migrate::{BackfillOptions, Entity, Progress};
use weir_practice::problems::ProblemFilter;
use weir_practice::usage::{Repair, UsageRequest};
use weir_practice::users::UserPatch;
use weir_testkit::eventually_eq;

use super::origin::{Origin, SMALL, assert_same, backfill, contents, of};
use crate::scene::{NOW_MS, Scene};

scenes!(@on embedded_delayed_index every_row_arrives_and_the_service_goes_on);
scenes!(@on dynamodb_local every_row_arrives_and_the_service_goes_on);
scenes!(@on embedded
    every_row_arrives_and_the_service_goes_on
    a_second_run_changes_nothing
    a_newer_record_stays_unless_it_is_to_be_replaced
    a_checkpoint_is_of_one_database
    new_rows_are_copied_by_a_later_run
);

fn user(id: &str) -> UserId {
    UserId::new(id).unwrap()
}

fn problem(platform: &str, id: &str) -> ProblemRef {
    ProblemRef { platform: Platform::new(platform).unwrap(), id: ProblemId::new(id).unwrap() }
}

async fn every_row_arrives_and_the_service_goes_on(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    let report = backfill(&migration).await;
    assert_eq!((report.bad(), &report.bad_rows[..]), (0, &[][..]));
    assert_eq!(of(&report, Entity::Users).created, 12);
    let recent = origin.count("usage_logs WHERE created_at >= '2036-10-25Z'");
    assert!(recent < u64::from(SMALL.usage));
    assert_eq!(of(&report, Entity::Usage).created, recent);
    assert_same(&migration).await;
    users_are_found(scene).await;
    problems_are_listed(scene).await;
    runs_are_listed(scene).await;
    usage_is_counted(scene, &origin).await;
}

async fn users_are_found(scene: &Scene) {
    let practice = &scene.practice;
    let found = practice.user_by_email(&Email::new("user4@example.com").unwrap()).await.unwrap();
    assert_eq!((found.id.as_str(), found.email.as_str()), ("4", "User4@Example.com"));
    let found = practice.user_by_google_id(&GoogleId::new("g-8").unwrap()).await.unwrap();
    assert_eq!((found.id.as_str(), found.plan), ("8", PlanId::FREE));
    let count =
        async |plan: u64| practice.plan_user_count(PlanId::new(plan).unwrap()).await.unwrap();
    assert_eq!([count(1).await, count(2).await, count(7).await], [6, 3, 3]);
    let members = async || {
        let page = practice.users(Some(PlanId::PRO), &PageRequest::default()).await.unwrap();
        page.items.len()
    };
    eventually_eq(3, members).await;
    let beta = practice.plan(PlanId::new(7).unwrap()).await.unwrap();
    assert!(!beta.fields.is_active && beta.fields.name == "Beta");
    // The copied address is taken, and a copied user can be changed.
    let patch =
        UserPatch { email: Some(Email::new("USER5@example.com").unwrap()), ..UserPatch::default() };
    assert!(practice.update_user(&user("4"), &patch, "admin").await.unwrap_err().is_conflict());
    let next = practice.create_plan(beta.fields.clone(), "admin").await.unwrap();
    assert_eq!(next.id.get(), 8);
    practice.delete_plan(next.id, "admin").await.unwrap();
}

async fn problems_are_listed(scene: &Scene) {
    let practice = &scene.practice;
    let found = practice.problem(&problem("codeforces", "1003")).await.unwrap();
    let solution = found.solution_code.unwrap();
    assert!(solution.starts_with("print(3)  # 합\n") && solution.lines().count() == 121);
    let listed = async |filter: ProblemFilter| {
        practice.problems(&filter, &PageRequest::default()).await.unwrap().items.len()
    };
    let deleted =
        ProblemFilter { status: Some(ProblemStatus::Deleted), ..ProblemFilter::default() };
    eventually_eq(1, async || listed(deleted.clone()).await).await;
    eventually_eq(9, async || listed(ProblemFilter::default()).await).await;
    let at = problem("baekjoon", "1002");
    let access = weir_practice::test_cases::TestCaseAccess::All;
    let cases = practice.test_cases(&at, access, &PageRequest::default()).await.unwrap();
    assert_eq!(cases.items.len(), 3);
    let new = weir_practice::test_cases::NewTestCase {
        input: "1".into(),
        output: "2".into(),
        is_sample: true,
    };
    let added = practice.add_test_case(&at, new, "admin").await.unwrap();
    practice.delete_test_case(&at, &added.id, "admin").await.unwrap();
}

async fn runs_are_listed(scene: &Scene) {
    let practice = &scene.practice;
    let run = practice.run(&HistoryId::new("12").unwrap()).await.unwrap();
    assert_eq!(run.summary.hints, ["think of 12", "smaller"]);
    assert!(run.summary.is_public && run.code == "print(12)");
    let own = async || {
        let page = practice.runs_of_user(&user("1"), &PageRequest::default()).await.unwrap();
        page.items.len()
    };
    eventually_eq(5, own).await;
    let feed = async || practice.feed(&PageRequest::default()).await.unwrap().items.len();
    eventually_eq(20, feed).await;
}

async fn usage_is_counted(scene: &Scene, origin: &Origin) {
    let practice = &scene.practice;
    let today = Day::utc(NOW_MS);
    let text = "usage_logs WHERE user_id = 6 AND created_at >= '2037-01-23Z' AND action = ";
    let usage = practice.usage(&user("6"), None).await.unwrap();
    for counted in &usage.actions {
        let rows = origin.count(&format!("{text} '{}'", counted.action));
        assert_eq!((usage.day, counted.count), (today, rows), "{}", counted.action);
    }
    for number in 1..=12_u32 {
        let recount =
            practice.recount(&user(&number.to_string()), today, Repair::No).await.unwrap();
        assert_eq!(recount.differences, []);
    }
    let total = origin.count("usage_logs WHERE created_at >= '2037-01-23Z'");
    let stats = practice.stats(today, today).await.unwrap();
    assert_eq!(stats.counts.total(), total);
    let check = practice.verify_rollup(today.plus_days(-3), Repair::No).await.unwrap();
    assert_eq!(check.differences, []);
    // The next action is counted on top.
    let staff = user("9");
    let before = practice.usage(&staff, None).await.unwrap().actions[0].count;
    let answer = practice.take_usage(&staff, &UsageRequest::new(Action::Hint)).await.unwrap();
    assert_eq!(answer.count, before + 1);
}

async fn a_second_run_changes_nothing(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    let mut seen = Vec::<Progress>::new();
    migration.backfill(&BackfillOptions::default(), &mut |p| seen.push(p)).await.unwrap();
    let last = seen.iter().rfind(|progress| progress.entity == Entity::History).unwrap();
    assert_eq!((last.done, last.total), (60, 60));
    let before = contents(scene).await;
    assert!(backfill(&migration).await.tables.iter().all(|(_, counts)| counts.rows() == 0));
    let options = BackfillOptions { restart: true, ..BackfillOptions::default() };
    let again = migration.backfill(&options, &mut |_| {}).await.unwrap();
    for (entity, counts) in again.tables {
        assert_eq!(counts.unchanged, counts.rows(), "{entity}: {counts:?}");
    }
    assert_eq!(contents(scene).await, before);
}

async fn a_newer_record_stays_unless_it_is_to_be_replaced(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let patch = UserPatch { name: Some("Newer".into()), ..UserPatch::default() };
    scene.practice.update_user(&user("3"), &patch, "admin").await.unwrap();
    origin.run(
        "UPDATE users SET name = 'Row', updated_at = '2037-01-01Z' WHERE id IN (3, 5);
         UPDATE problems SET title = 'Row', updated_at = '2037-01-01Z' WHERE id = 2;
         UPDATE search_history SET code = 'row', is_code_public = false, updated_at = '2037-01-01Z'
         WHERE id = 12",
    );
    let mut options = BackfillOptions { restart: true, ..BackfillOptions::default() };
    let report = migration.backfill(&options, &mut |_| {}).await.unwrap();
    assert_eq!((of(&report, Entity::Users).updated, of(&report, Entity::Users).kept), (1, 1));
    assert_eq!(of(&report, Entity::Problems).updated, 1);
    assert_eq!(of(&report, Entity::History).updated, 1);
    let name = async |id| scene.practice.user(&user(id)).await.unwrap().name;
    assert_eq!((name("3").await, name("5").await), ("Newer".to_owned(), "Row".to_owned()));
    options.overwrite = true;
    migration.backfill(&options, &mut |_| {}).await.unwrap();
    assert_eq!(name("3").await, "Row");
    assert_same(&migration).await;
}

async fn a_checkpoint_is_of_one_database(scene: &Scene) {
    let tiny = super::origin::Size { users: 2, problems: 1, test_cases: 1, history: 1, usage: 1 };
    let (one, other) = (Origin::new(tiny), Origin::new(tiny));
    backfill(&one.migration(scene).await).await;
    let migration = other.migration(scene).await;
    let error = migration.backfill(&BackfillOptions::default(), &mut |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("restart to copy it again"), "{error}");
    let options = BackfillOptions { restart: true, ..BackfillOptions::default() };
    migration.backfill(&options, &mut |_| {}).await.unwrap();
}

async fn new_rows_are_copied_by_a_later_run(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    origin.run(
        "INSERT INTO users (email, name) VALUES ('new@example.com', 'New');
         INSERT INTO usage_logs (user_id, action, created_at) VALUES (1, 'hint', '2037-01-23 12:00Z')",
    );
    let status = migration.status().await.unwrap();
    let left: Vec<u64> = status.tables.iter().map(|table| table.left).collect();
    assert_eq!(left, [0, 1, 0, 0, 0, 1]);
    assert!(status.tables.iter().all(|table| table.is_done) && status.queue.is_none());
    let report = backfill(&migration).await;
    assert_eq!((of(&report, Entity::Users).created, of(&report, Entity::Usage).created), (1, 1));
    assert_same(&migration).await;
}
