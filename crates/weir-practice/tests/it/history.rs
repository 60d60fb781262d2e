//! Runs, own history and the public feed.

use weir_practice::history::{NewRun, RunSummary};
use weir_practice::ids::{HistoryId, IdempotencyKey, Platform};
use weir_practice::list::PageRequest;
use weir_practice::settings::FeedPartitioning;
use weir_practice::{Error, Practice, Settings, keys};
use weir_table::audit::EventRange;
use weir_testkit::eventually_eq;

use crate::problem_samples::{noise, user};
use crate::scene::{NOW_MS, Scene, Watched};

scenes!(
    a_run_is_recorded_and_read_back,
    a_run_is_recorded_once,
    large_code_and_results_are_read_back_whole,
    own_runs_are_listed_newest_first,
    visibility_moves_a_run_in_and_out_of_the_feed,
    a_thousand_toggles_leave_feed_and_runs_in_agreement,
    a_feed_by_day_continues_over_days,
    hints_are_bounded_and_none_is_lost,
    a_deleted_run_leaves_nothing,
);

pub(crate) fn run(code: &str) -> NewRun {
    let platform = Platform::new("baekjoon").unwrap();
    let mut new = NewRun::new(platform, "1000", code.to_owned());
    new.user_id = Some(user("12345"));
    new.user_identifier = Some("ann".to_owned());
    new.problem_id = Some("77".to_owned());
    new.problem_title = Some("A+B".to_owned());
    new.language = Some("python".to_owned());
    new.result_summary = serde_json::json!({"status": "partial", "time_ms": 12.5});
    (new.passed_count, new.failed_count, new.total_count) = (3, 1, 4);
    new.test_results = serde_json::json!([{"id": 1, "ok": true}, {"id": 2, "ok": false}]);
    new.hints = vec!["read the constraints".to_owned()];
    new.metadata = serde_json::json!({"client": "web"});
    new
}

pub(crate) fn public(code: &str) -> NewRun {
    NewRun { is_public: true, ..run(code) }
}

async fn all(
    list: impl AsyncFn(PageRequest) -> weir_table::retry::Listed<RunSummary>,
) -> Vec<RunSummary> {
    let (mut items, mut cursor) = (Vec::new(), None);
    loop {
        let page = list(PageRequest { limit: 7, cursor }).await;
        items.extend(page.items);
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => return items,
        }
    }
}

async fn feed(practice: &Practice<Watched>) -> Vec<String> {
    let runs = all(async |page| practice.feed(&page).await.unwrap()).await;
    runs.into_iter().map(|run| run.id.to_string()).collect()
}

async fn a_run_is_recorded_and_read_back(scene: &Scene) {
    let practice = &scene.practice;
    let new = run("print(1)");
    let recorded = practice.record_run(new.clone()).await.unwrap();
    assert!(recorded.is_new);
    let calls = scene.watch.calls();
    assert_eq!((calls.transactions, calls.gets, calls.writes), (1, 0, 0));
    let found = practice.run(&recorded.run.id).await.unwrap();
    assert_eq!(found.summary, recorded.run);
    assert_eq!((found.code, found.test_results), (new.code, new.test_results));
    let run = found.summary;
    assert_eq!((run.result_summary, run.metadata), (new.result_summary, new.metadata));
    assert_eq!(
        (run.problem_id.as_deref(), run.user_id.as_ref()),
        (Some("77"), new.user_id.as_ref())
    );
    assert_eq!((run.passed_count, run.failed_count, run.total_count), (3, 1, 4));
    assert_eq!((run.created_s, run.hints), (NOW_MS / 1000, new.hints));
    let missing = HistoryId::new("5").unwrap();
    assert!(practice.run(&missing).await.unwrap_err().is_not_found());
}

async fn a_run_is_recorded_once(scene: &Scene) {
    let practice = &scene.practice;
    let id = Some(HistoryId::new("5000").unwrap());
    let key = Some(IdempotencyKey::new("run 1").unwrap());
    for new in [
        NewRun { id, ..public("print(1)") },
        NewRun { idempotency_key: key, ..public(&noise(600 * 1024, 1)) },
    ] {
        let first = practice.record_run(new.clone()).await.unwrap();
        let again = practice.record_run(new.clone()).await.unwrap();
        assert_eq!((first.is_new, again.is_new), (true, false));
        assert_eq!(first.run, again.run);
        let other = NewRun { passed_count: 9, ..new.clone() };
        let error = practice.record_run(other).await.unwrap_err();
        assert!(error.is_conflict(), "{error}");
    }
    let both = NewRun {
        id: Some(HistoryId::new("1").unwrap()),
        idempotency_key: Some(IdempotencyKey::new("k").unwrap()),
        ..run("")
    };
    assert!(practice.record_run(both).await.is_err());
    assert_eq!(scene.object_names().await.len(), 1);
    eventually_eq(2, async || feed(practice).await.len()).await;
}

async fn large_code_and_results_are_read_back_whole(scene: &Scene) {
    let mut new = run(&noise(1024 * 1024, 1));
    let result = |n: u64| serde_json::json!({"id": n, "output": noise(400, n)});
    new.test_results = (0..2_000).map(result).collect();
    let recorded = scene.practice.record_run(new.clone()).await.unwrap();
    let found = scene.practice.run(&recorded.run.id).await.unwrap();
    assert!(found.code == new.code && found.test_results == new.test_results);
    assert_eq!(scene.object_names().await.len(), 2);
    // Results that fit into the item are compressed in it.
    let mut new = run("");
    new.test_results = (0..500).map(|n| serde_json::json!({"id": n, "ok": true})).collect();
    let recorded = scene.practice.record_run(new.clone()).await.unwrap();
    let found = scene.practice.run(&recorded.run.id).await.unwrap();
    assert_eq!(found.test_results, new.test_results);
    let item = scene.practice.item(keys::history(&recorded.run.id)).await.unwrap().unwrap();
    assert!(item.size() < 5_000, "{}", item.size());
}

async fn own_runs_are_listed_newest_first(scene: &Scene) {
    let practice = &scene.practice;
    let mut expected = Vec::new();
    for number in 0..20 {
        let recorded = practice.record_run(run(&number.to_string())).await.unwrap();
        expected.insert(0, recorded.run.id);
        scene.clock.advance_ms(1_000);
    }
    practice.record_run(NewRun { user_id: Some(user("6")), ..run("") }).await.unwrap();
    practice.record_run(NewRun { user_id: None, ..run("") }).await.unwrap();
    let own = async || {
        let list = async |page| practice.runs_of_user(&user("12345"), &page).await.unwrap();
        all(list).await.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };
    eventually_eq(expected, own).await;
    let wrong = PageRequest { limit: 5, cursor: Some("x".to_owned()) };
    let error = practice.runs_of_user(&user("12345"), &wrong).await.unwrap_err();
    assert!(error.to_string().starts_with("cursor: "), "{error}");
}

async fn visibility_moves_a_run_in_and_out_of_the_feed(scene: &Scene) {
    let practice = &scene.practice;
    let id = practice.record_run(run("")).await.unwrap().run.id;
    assert!(feed(practice).await.is_empty());
    let shown = practice.set_run_visibility(&id, true, None).await.unwrap();
    assert!(shown.is_public);
    eventually_eq(vec![id.to_string()], async || feed(practice).await).await;
    let hidden = practice.set_run_visibility(&id, false, Some("admin")).await.unwrap();
    assert_eq!((hidden.is_public, &hidden.user_id), (false, &Some(user("12345"))));
    assert!(feed(practice).await.is_empty(), "a lagging entry is dropped");
    let events = practice.audit_events(None, &EventRange::default()).await.unwrap();
    assert_eq!(events.items.len(), 1);
    let missing = HistoryId::new("5").unwrap();
    assert!(practice.set_run_visibility(&missing, true, None).await.unwrap_err().is_not_found());
}

async fn a_thousand_toggles_leave_feed_and_runs_in_agreement(scene: &Scene) {
    let mut ids = Vec::new();
    for number in 0..10 {
        ids.push(scene.practice.record_run(run(&number.to_string())).await.unwrap().run.id);
    }
    let mut togglers = tokio::task::JoinSet::new();
    for toggler in 0..5_usize {
        let (practice, ids) = (scene.practice.clone(), ids.clone());
        togglers.spawn(async move {
            for round in 0..200_usize {
                let id = &ids[(round * 7 + toggler) % ids.len()];
                let is_public = (round / 10 + toggler + round) % 2 == 0;
                practice.set_run_visibility(id, is_public, None).await.unwrap();
            }
        });
    }
    togglers.join_all().await;
    let mut expected = Vec::new();
    for id in &ids {
        let item = scene.practice.item(keys::history(id)).await.unwrap().unwrap();
        let is_public = scene.practice.run(id).await.unwrap().summary.is_public;
        assert_eq!(item.get("GSI2PK").is_some(), is_public);
        assert_eq!(item.get("GSI2SK").is_some(), is_public);
        if is_public {
            expected.push(id.to_string());
        }
    }
    expected.sort_unstable();
    let sorted = async || {
        let mut found = feed(&scene.practice).await;
        found.sort_unstable();
        found
    };
    eventually_eq(expected, sorted).await;
}

async fn a_feed_by_day_continues_over_days(scene: &Scene) {
    let by_day =
        Settings { public_feed_partitioning: FeedPartitioning::Day, ..Settings::default() };
    let objects = scene.practice.objects().clone();
    let daily = Practice::new(scene.store.clone(), objects, scene.clock.clone(), by_day).unwrap();
    assert!(feed(&daily).await.is_empty());
    // Before the setting was changed.
    let mut expected = Vec::new();
    for _ in 0..3 {
        expected.insert(0, scene.practice.record_run(public("")).await.unwrap().run.id.to_string());
        scene.clock.advance_ms(1_000);
    }
    for days in [1, 0, 40, 2, 0] {
        scene.clock.advance_ms(days * 86_400_000);
        for _ in 0..4 {
            expected.insert(0, daily.record_run(public("")).await.unwrap().run.id.to_string());
            scene.clock.advance_ms(1_000);
        }
    }
    eventually_eq(expected.clone(), async || feed(&daily).await).await;
    // An old run enters the partition of its own day.
    let oldest = HistoryId::new(expected.last().unwrap()).unwrap();
    daily.set_run_visibility(&oldest, false, None).await.unwrap();
    daily.set_run_visibility(&oldest, true, None).await.unwrap();
    let place = expected.len() - 3;
    let last = expected.pop().unwrap();
    expected.insert(place, last);
    eventually_eq(expected, async || feed(&daily).await).await;
    for bad in ["x", "20370123~x", "~"] {
        let page = PageRequest { limit: 3, cursor: Some(bad.to_owned()) };
        let error = daily.feed(&page).await.unwrap_err();
        assert!(error.to_string().starts_with("cursor: "), "{error}");
    }
}

async fn hints_are_bounded_and_none_is_lost(scene: &Scene) {
    let id = scene.practice.record_run(run(&noise(400 * 1024, 1))).await.unwrap().run.id;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..3 {
        let (practice, id) = (scene.practice.clone(), id.clone());
        writers.spawn(async move {
            for number in 0..5 {
                practice.add_hints(&id, &[format!("{writer} {number}")]).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    assert_eq!(scene.practice.run(&id).await.unwrap().summary.hints.len(), 16);
    // Hints push the code out of the item.
    let long: Vec<String> = (0..12).map(|n| noise(8 * 1024, n)).collect();
    scene.practice.add_hints(&id, &long).await.unwrap();
    let found = scene.practice.run(&id).await.unwrap();
    assert!(found.code == noise(400 * 1024, 1) && found.summary.hints.len() == 28);
    assert_eq!(scene.object_names().await.len(), 1);
    for (hints, field) in [
        (vec![String::new(); 101], "hints: are 101"),
        (vec!["x".repeat(8 * 1024 + 1)], "hints[0]: has 8193 bytes"),
        (vec!["x".repeat(8 * 1024); 10], "hints: have "),
    ] {
        let error = scene.practice.add_hints(&id, &hints).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        assert!(error.to_string().starts_with(field), "{error}");
    }
    let error = scene.practice.add_hints(&id, &vec![String::new(); 73]).await.unwrap_err();
    assert!(matches!(&error, Error::Conflict(_)), "{error}");
    assert_eq!(error.to_string(), "the run has 28 hints; at most 100 are allowed");
}

async fn a_deleted_run_leaves_nothing(scene: &Scene) {
    let recorded = scene.practice.record_run(public(&noise(600 * 1024, 1))).await.unwrap();
    for _ in 0..2 {
        scene.practice.delete_run(&recorded.run.id).await.unwrap();
    }
    scene.assert_empty().await;
    eventually_eq(0, async || feed(&scene.practice).await.len()).await;
}
