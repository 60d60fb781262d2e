//! Deletion of users: nothing personal is left, and counts stay.

use weir_calendar::Day;
use weir_practice::Practice;
use weir_practice::history::NewRun;
use weir_practice::ids::{GoogleId, PlanId, Platform, UserId};
use weir_practice::kinds::Action;
use weir_practice::stats::UsageCounts;
use weir_practice::usage::UsageRequest;
use weir_practice::users::{NewUser, User};
use weir_table::audit::EventRange;
use weir_table::{Query, Value};
use weir_testkit::watched::Strike;

use crate::problem_samples::noise;
use crate::scene::{NOW_MS, Scene, Watched};
use crate::usage::{DAY_MS, hint};
use crate::usage_archive::{archived, archiving};
use crate::users::{at_once, email, sign_up};

scenes!(
    a_deleted_user_is_gone_and_its_names_are_free,
    a_deletion_that_is_killed_goes_on,
    the_archive_loses_the_details,
    a_deletion_and_changes_at_once_leave_one_result,
    the_runs_of_a_deleted_user_are_gone,
    a_deletion_ends_only_when_the_index_is_quiet,
    no_run_is_recorded_for_a_deleted_user,
);

const HOUR_MS: u64 = 3_600_000;

/// Lets the job run until the deletions are finished; returns how many are.
async fn finish(scene: &Scene, practice: &Practice<Watched>) -> u64 {
    let mut finished = 0;
    for _ in 0..500 {
        let report = practice.continue_erasures(10_000).await.unwrap();
        finished += report.finished;
        if !report.more && report.waiting == 0 {
            return finished;
        }
        scene.clock.advance_ms(HOUR_MS / 2);
        // An index that lags shows runs that are gone, for a while.
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the deletions do not end");
}

const SECRETS: [&str; 4] = ["secret", "Personal", "1047", "picture"];

async fn with_everything(scene: &Scene) -> User {
    let new = NewUser {
        picture_url: Some("https://example.com/picture".to_owned()),
        google_id: Some(GoogleId::new("1047").unwrap()),
        ..NewUser::new(email("secret@example.com"), "Personal")
    };
    let user = scene.practice.create_user(new, "admin").await.unwrap();
    let metadata = Some(Value::map([("of", "secret")]));
    let request = UsageRequest { metadata, ..UsageRequest::new(Action::Hint) };
    for _ in 0..2 {
        scene.practice.take_usage(&user.id, &request).await.unwrap();
    }
    user
}

/// Items with personal data.
async fn personal(scene: &Scene) -> Vec<String> {
    let items = scene.all(Query::scan(scene.practice.table().clone())).await;
    let texts = items.iter().map(|item| format!("{item:?}"));
    texts.filter(|text| SECRETS.iter().any(|secret| text.contains(secret))).collect()
}

async fn a_deleted_user_is_gone_and_its_names_are_free(scene: &Scene) {
    let practice = &scene.practice;
    let user = with_everything(scene).await;
    practice.erase_user(&user.id, "admin").await.unwrap();
    assert!(practice.user(&user.id).await.unwrap_err().is_not_found());
    assert!(practice.user_by_email(&user.email).await.unwrap_err().is_not_found());
    let request = UsageRequest::new(Action::Hint);
    assert!(practice.take_usage(&user.id, &request).await.unwrap_err().is_not_found());
    assert!(practice.erase_user(&user.id, "admin").await.unwrap_err().is_not_found());
    assert_eq!(practice.plan_user_count(PlanId::FREE).await.unwrap(), 0);
    let report = practice.continue_erasures(10_000).await.unwrap();
    assert_eq!((report.finished, report.waiting, report.more), (0, 1, false));
    assert_eq!(finish(scene, practice).await, 1);
    assert_eq!(personal(scene).await, [""; 0]);
    // Counts stay, and the deletion is in the audit log.
    let day = Day::utc(NOW_MS);
    let stats = practice.stats(day, day).await.unwrap();
    assert_eq!(stats.counts, UsageCounts { hints: 2, executions: 0 });
    assert_eq!(practice.logged_count(&user.id, day, Action::Hint).await.unwrap(), 2);
    let events = practice.audit_events(None, &EventRange::default()).await.unwrap();
    let actions: Vec<_> = events.items.iter().map(|event| event.action.as_str()).collect();
    assert_eq!(actions[..2], ["user_erasure_finished", "user_erased"]);
    // The id is not given to anyone else; the names are.
    let again = NewUser { id: Some(user.id.clone()), ..NewUser::new(email("x@example.com"), "x") };
    assert!(practice.create_user(again, "admin").await.unwrap_err().is_conflict());
    let other = NewUser { google_id: user.google_id, ..NewUser::new(user.email, "Other") };
    practice.create_user(other, "admin").await.unwrap();
}

async fn a_deletion_that_is_killed_goes_on(scene: &Scene) {
    let user = with_everything(scene).await;
    let other = sign_up(scene, "other", PlanId::FREE).await;
    // The first step is one transaction: it happened, or it did not.
    scene.watch.fail_once(1, Strike::Before);
    assert!(scene.practice.erase_user(&user.id, "admin").await.is_err());
    assert_eq!(scene.practice.user(&user.id).await.unwrap(), user);
    scene.watch.fail_once(1, Strike::After);
    assert!(scene.practice.erase_user(&user.id, "admin").await.is_err());
    assert!(scene.practice.user(&user.id).await.unwrap_err().is_not_found());
    let mut runs = 0;
    for skip in (0..).step_by(7) {
        let strike = if skip % 2 == 0 { Strike::Before } else { Strike::After };
        scene.watch.fail_once(skip, strike);
        let done = scene.practice.continue_erasures(60).await;
        scene.watch.cancel();
        scene.clock.advance_ms(HOUR_MS / 2);
        runs += 1;
        if done.is_ok_and(|report| report.finished == 1) {
            break;
        }
    }
    assert!(runs > 4, "{runs}");
    assert_eq!(personal(scene).await, [""; 0]);
    assert_eq!(scene.practice.continue_erasures(1).await.unwrap().finished, 0);
    assert!(hint(scene, &other).await.allowed);
}

async fn the_archive_loses_the_details(scene: &Scene) {
    let user = with_everything(scene).await;
    let other = sign_up(scene, "other", PlanId::FREE).await;
    let metadata = Some(Value::map([("of", "other")]));
    let request = UsageRequest { metadata, ..UsageRequest::new(Action::Hint) };
    scene.practice.take_usage(&other.id, &request).await.unwrap();
    let practice = archiving(scene);
    let mut dirty = weir_practice::stats::UsageDirtySet::default();
    for user in [&user, &other] {
        dirty.mark(Day::utc(NOW_MS), user.id.clone());
    }
    practice.roll_up(&dirty).await.unwrap();
    scene.clock.advance_ms(30 * DAY_MS);
    practice.archive_usage(1_000).await.unwrap();
    let secret = |lines: &[String]| lines.iter().filter(|line| line.contains("secret")).count();
    assert_eq!(secret(&archived(&practice).await), 2);
    practice.erase_user(&user.id, "admin").await.unwrap();
    assert_eq!(finish(scene, &practice).await, 1);
    let lines = archived(&practice).await;
    assert_eq!((lines.len(), secret(&lines)), (3, 0));
    assert!(lines.iter().any(|line| line.contains(r#"{"of":"other"}"#)));
}

async fn a_deletion_and_changes_at_once_leave_one_result(scene: &Scene) {
    let user = with_everything(scene).await;
    let act = async |number: usize| match number {
        0 => scene.practice.erase_user(&user.id, "admin").await,
        1 => scene.practice.move_user(&user.id, PlanId::PRO, "admin").await.map(|_| ()),
        2 => scene.practice.deactivate_user(&user.id, "admin").await.map(|_| ()),
        _ => hint_or_gone(scene, &user).await,
    };
    let done = at_once((0..6).map(act)).await;
    assert!(done[0].is_ok(), "{done:?}");
    for plan in [PlanId::FREE, PlanId::PRO] {
        assert_eq!(scene.practice.plan_user_count(plan).await.unwrap(), 0);
    }
    assert_eq!(finish(scene, &scene.practice).await, 1);
    assert_eq!(personal(scene).await, [""; 0]);
}

async fn hint_or_gone(scene: &Scene, user: &User) -> weir_practice::Result<()> {
    let request = UsageRequest::new(Action::Hint);
    scene.practice.take_usage(&user.id, &request).await.map(|_| ())
}

/// Waits until the index shows so many runs: it lags in real time, and the clock of a scene stands still.
async fn shown(scene: &Scene, user: &UserId, runs: usize) {
    let page = weir_practice::list::PageRequest::default();
    let count = async || scene.practice.runs_of_user(user, &page).await.unwrap().items.len();
    weir_testkit::eventually_eq(runs, count).await;
}

fn run_of(user: &UserId, is_public: bool, code: String) -> NewRun {
    NewRun {
        user_id: Some(user.clone()),
        user_identifier: Some("secret".to_owned()),
        is_public,
        ..NewRun::new(Platform::new("baekjoon").unwrap(), "1000", code)
    }
}

async fn the_runs_of_a_deleted_user_are_gone(scene: &Scene) {
    let practice = &scene.practice;
    let (user, other) = (with_everything(scene).await, sign_up(scene, "other", PlanId::FREE).await);
    for number in 0..7 {
        let run = run_of(&user.id, number % 2 == 0, format!("secret {number}"));
        practice.record_run(run).await.unwrap();
    }
    practice.record_run(run_of(&user.id, true, noise(600 * 1024, 1))).await.unwrap();
    let theirs = NewRun { user_identifier: None, ..run_of(&other.id, true, "print(1)".to_owned()) };
    let theirs = practice.record_run(theirs).await.unwrap().run;
    shown(scene, &user.id, 8).await;
    practice.erase_user(&user.id, "admin").await.unwrap();
    // A small budget takes several runs.
    let first = practice.continue_erasures(3).await.unwrap();
    assert!(first.more && first.finished == 0, "{first:?}");
    assert_eq!(finish(scene, practice).await, 1);
    assert_eq!(personal(scene).await, [""; 0]);
    assert_eq!(scene.object_names().await, [""; 0]);
    assert_eq!(practice.run(&theirs.id).await.unwrap().summary, theirs);
    let events = practice.audit_events(None, &EventRange::default()).await.unwrap();
    let finished = &events.items[0];
    assert_eq!(finished.action.as_str(), "user_erasure_finished");
    assert_eq!(finished.detail.as_deref(), Some("8 runs were deleted"));
    // Counts stay.
    let day = Day::utc(NOW_MS);
    assert_eq!(practice.logged_count(&user.id, day, Action::Hint).await.unwrap(), 2);
}

async fn a_deletion_ends_only_when_the_index_is_quiet(scene: &Scene) {
    let practice = &scene.practice;
    let user = with_everything(scene).await;
    practice.erase_user(&user.id, "admin").await.unwrap();
    for _ in 0..20 {
        // A clock that jumps back and forth ends nothing.
        assert_eq!(practice.continue_erasures(10_000).await.unwrap().finished, 0);
    }
    let ahead = scene.another_at(NOW_MS + 400 * 86_400_000);
    let report = ahead.continue_erasures(10_000).await.unwrap();
    assert_eq!((report.finished, report.waiting), (0, 1));
    // A run that the index shows late starts the wait again.
    let late = run_of(&user.id, false, "secret".to_owned());
    let late = NewRun { user_id: None, ..late };
    let late = practice.record_run(late).await.unwrap().run;
    let entry = weir_practice::keys::run_of_user(&user.id, late.created_s, &late.id);
    let write = weir_table::Write::update(
        practice.table().clone(),
        weir_practice::keys::history(&late.id),
        entry.join(),
    );
    practice.write(write).await.unwrap();
    shown(scene, &user.id, 1).await;
    assert_eq!(finish(scene, practice).await, 1);
    assert_eq!(personal(scene).await, [""; 0]);
}

async fn no_run_is_recorded_for_a_deleted_user(scene: &Scene) {
    let practice = &scene.practice;
    let user = with_everything(scene).await;
    practice.erase_user(&user.id, "admin").await.unwrap();
    let run = run_of(&user.id, true, noise(600 * 1024, 1));
    assert!(practice.record_run(run).await.unwrap_err().is_not_found());
    assert_eq!(scene.object_names().await, [""; 0]);
    // A user that only another program knows may have runs.
    let unknown = run_of(&UserId::new("77").unwrap(), false, "x".to_owned());
    assert!(practice.record_run(unknown).await.unwrap().is_new);
}
