//! The archive of usage logs: every line once, whatever fails.

use std::collections::BTreeSet;
use std::io::Read as _;

use weir_calendar::Day;
use weir_practice::Practice;
use weir_practice::Settings;
use weir_practice::ids::PlanId;
use weir_practice::kinds::Action;
use weir_practice::objects::usage_archive;
use weir_practice::usage::{ArchiveReport, UsageRequest};
use weir_table::Value;
use weir_testkit::eventually_eq;
use weir_testkit::watched::Strike;

use crate::scene::{NOW_MS, Scene, Watched};
use crate::usage::DAY_MS;
use crate::users::{at_once, sign_up};

scenes!(
    old_logs_are_archived_once,
    a_killed_archive_leaves_no_gap_and_no_double,
    without_an_archive_nothing_happens,
);

const USERS: usize = 3;
const PER_USER: usize = 4;

/// An instance that archives after 30 days.
pub(crate) fn archiving(scene: &Scene) -> Practice<Watched> {
    let settings = Settings { usage_archive_days: Some(30), ..Settings::default() };
    scene.another(scene.clock.clone(), settings)
}

async fn use_it(scene: &Scene) {
    for number in 0..USERS {
        let user = sign_up(scene, &format!("u{number}"), PlanId::FREE).await;
        for number in 0..PER_USER {
            let metadata = Some(Value::map([("secret", number as u64)]));
            let request = UsageRequest { metadata, ..UsageRequest::new(Action::Hint) };
            scene.practice.take_usage(&user.id, &request).await.unwrap();
        }
    }
    let check = async || {
        let day = Day::utc(NOW_MS);
        scene.practice.verify_rollup(day, weir_practice::usage::Repair::No).await.unwrap()
    };
    eventually_eq(USERS as u64, async || check().await.active_users).await;
}

/// All lines of the archive of the first day.
pub(crate) async fn archived(practice: &Practice<Watched>) -> Vec<String> {
    let mut lines = Vec::new();
    for part in 1.. {
        let name = usage_archive(Day::utc(NOW_MS), part);
        let Some(bytes) = practice.objects().get(&name).await.unwrap() else { break };
        let mut text = String::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        lines.extend(text.lines().map(str::to_owned));
    }
    lines
}

async fn old_logs_are_archived_once(scene: &Scene) {
    use_it(scene).await;
    let practice = archiving(scene);
    scene.clock.advance_ms(29 * DAY_MS);
    practice.archive_usage(1_000).await.unwrap();
    assert!(archived(&practice).await.is_empty());
    scene.clock.advance_ms(DAY_MS);
    let report = practice.archive_usage(1_000).await.unwrap();
    assert_eq!((report.parts, report.lines, report.more), (1, 12, false));
    let lines = archived(&practice).await;
    assert_eq!(lines.len(), USERS * PER_USER);
    assert!(lines[0].contains(r#""action":"hint""#), "{}", lines[0]);
    // A day that is done is only looked at.
    scene.watch.reset();
    let report = practice.archive_usage(1_000).await.unwrap();
    assert_eq!((report.parts, report.days, scene.watch.take_reads()), (0, 0, 1));
    // The log stays until it expires, together with its counter.
    let ann = scene.practice.user_by_email(&crate::users::email("u0@example.com")).await.unwrap();
    let logged = practice.logged_count(&ann.id, Day::utc(NOW_MS), Action::Hint).await.unwrap();
    assert_eq!(logged, PER_USER as u64);
}

async fn a_killed_archive_leaves_no_gap_and_no_double(scene: &Scene) {
    use_it(scene).await;
    let practice = archiving(scene);
    scene.clock.advance_ms(30 * DAY_MS);
    // It is killed at every call in turn.
    for skip in 0.. {
        let strike = if skip % 2 == 0 { Strike::Before } else { Strike::After };
        scene.watch.fail_once(skip, strike);
        let done = practice.archive_usage(1_000).await;
        let was_struck = !scene.watch.is_planned();
        scene.watch.cancel();
        assert!(was_struck || done.is_ok());
        if done.is_ok_and(|report| !report.more) {
            break;
        }
    }
    let runs = at_once((0..3).map(|_| practice.archive_usage(1_000))).await;
    assert!(runs.iter().all(Result::is_ok), "{runs:?}");
    let lines = archived(&practice).await;
    let users: BTreeSet<_> = lines.iter().collect();
    assert_eq!((lines.len(), users.len()), (USERS * PER_USER, USERS * PER_USER));
}

async fn without_an_archive_nothing_happens(scene: &Scene) {
    use_it(scene).await;
    scene.clock.advance_ms(40 * DAY_MS);
    scene.watch.reset();
    let report = scene.practice.archive_usage(10).await.unwrap();
    assert_eq!((report, scene.watch.take_reads()), (ArchiveReport::default(), 0));
}
