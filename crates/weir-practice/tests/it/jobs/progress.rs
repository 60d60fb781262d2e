//! Progress steps: their order, their rate, pages and streams of them.

use weir_practice::Practice;
use weir_practice::jobs::{JobRef, NewStep, ProgressStep, Reported};
use weir_practice::keys::List;
use weir_practice::kinds::JobStatus;
use weir_practice::list::PageRequest;
use weir_table::{Item, Query, Value};
use weir_testkit::eventually_eq;

use super::samples::{SCRIPT, YEAR_MS, at_once, generated, script, step, worker};
use crate::scene::{NOW_MS, Scene, Watched};

scenes!(
    steps_are_in_the_order_of_their_reports,
    a_job_has_at_most_100_steps_a_second,
    a_stream_goes_on_after_its_last_event,
    a_list_has_the_last_step,
    steps_expire_after_30_days,
    steps_of_the_source_are_read,
    bad_positions_are_refused,
);

async fn report(practice: &Practice<Watched>, job: &JobRef, name: &str) -> ProgressStep {
    match practice.report_progress(job, 1, &step(name)).await.unwrap() {
        Reported::Recorded(step) => step,
        limited @ Reported::RateLimited { .. } => panic!("{limited:?}"),
    }
}

async fn claimed(scene: &Scene) -> JobRef {
    let job = scene.submit("1").await;
    scene.practice.claim_job(&job, &worker("w")).await.unwrap();
    job
}

fn names(steps: &[ProgressStep]) -> Vec<&str> {
    steps.iter().map(|step| step.step.as_str()).collect()
}

async fn steps_are_in_the_order_of_their_reports(scene: &Scene) {
    let job = claimed(scene).await;
    // Servers whose clocks differ take the steps.
    let servers = [0, YEAR_MS, -YEAR_MS, 500, -500, 0].map(|differs| scene.process(differs).0);
    let expected: Vec<String> = (0..servers.len()).map(|number| format!("s{number}")).collect();
    let mut reported = Vec::new();
    for (server, name) in servers.iter().zip(&expected) {
        reported.push(report(server, &job, name).await);
    }
    assert!(reported.is_sorted_by(|a, b| a.position < b.position), "{reported:?}");
    let all = scene.practice.progress(&job, &PageRequest::default()).await.unwrap();
    assert_eq!((all.items, all.cursor), (reported, None));

    let mut page = PageRequest { limit: 4, cursor: None };
    let first = scene.practice.progress(&job, &page).await.unwrap();
    page.cursor = first.cursor;
    let second = scene.practice.progress(&job, &page).await.unwrap();
    let both: Vec<_> = first.items.into_iter().chain(second.items).collect();
    assert_eq!(names(&both), expected);

    scene.watch.reset();
    report(&scene.practice, &job, "last").await;
    let calls = scene.watch.calls();
    assert_eq!((calls.gets, calls.transactions), (1, 1));
}

async fn a_job_has_at_most_100_steps_a_second(scene: &Scene) {
    let job = claimed(scene).await;
    let reported = at_once(2, |_| {
        let (practice, job) = (scene.process(250).0, job.clone());
        async move {
            let mut recorded = 0;
            for _ in 0..60 {
                match practice.report_progress(&job, 1, &step("x")).await {
                    Ok(Reported::Recorded(_)) => recorded += 1,
                    Ok(Reported::RateLimited { retry_after_ms }) => assert_eq!(retry_after_ms, 750),
                    Err(error) => assert!(error.is_unavailable(), "{error}"),
                }
            }
            recorded
        }
    })
    .await;
    let recorded: usize = reported.iter().sum();
    let steps = Query::partition(scene.practice.table().clone(), "SGJ#1").begins_with("JPH#");
    assert_eq!(scene.all(steps).await.len(), recorded);
    assert!((50..=100).contains(&recorded), "{recorded}");
    scene.clock.advance_ms(1_000);
    report(&scene.practice, &job, "next second").await;
}

async fn a_stream_goes_on_after_its_last_event(scene: &Scene) {
    let job = claimed(scene).await;
    let practice = &scene.practice;
    for name in ["a", "b", "c", "d", "e"] {
        report(practice, &job, name).await;
    }
    let (mut seen, mut last) = (Vec::new(), None::<String>);
    for expected in [2, 2, 1, 0] {
        scene.watch.reset();
        let events = practice.progress_after(&job, last.as_deref(), 2).await.unwrap();
        assert_eq!(scene.watch.take_reads(), 2);
        assert_eq!((events.steps.len(), events.is_end), (expected, false));
        assert_eq!(events.status, JobStatus::Processing);
        last = events.steps.last().map(|step| step.position.clone()).or(last);
        seen.extend(events.steps);
    }
    assert_eq!(names(&seen), ["a", "b", "c", "d", "e"]);
    report(practice, &job, "f").await;
    practice.complete_job(&job, 1, &generated()).await.unwrap();
    let events = practice.progress_after(&job, last.as_deref(), 2).await.unwrap();
    assert_eq!((names(&events.steps), events.is_end), (vec!["f"], true));
    let all = practice.progress_after(&job, None, 3).await.unwrap();
    assert_eq!((names(&all.steps), all.is_end), (vec!["a", "b", "c"], false));
}

async fn a_list_has_the_last_step(scene: &Scene) {
    let job = claimed(scene).await;
    report(&scene.practice, &job, "a").await;
    let last = report(&scene.practice, &job, "b").await;
    assert_eq!(scene.practice.job(&job).await.unwrap().summary.last_step, Some(last.clone()));
    scene.practice.complete_job(&job, 1, &generated()).await.unwrap();
    scene.listed(List::Jobs(SCRIPT), 1).await;
    let listed = async || {
        let page = PageRequest::default();
        let completed = Some(JobStatus::Completed);
        let jobs = scene.practice.jobs(SCRIPT, completed, &page).await.unwrap().items;
        jobs.into_iter().filter_map(|job| job.last_step).collect::<Vec<_>>()
    };
    eventually_eq(vec![last], listed).await;
}

async fn steps_expire_after_30_days(scene: &Scene) {
    let job = claimed(scene).await;
    report(&scene.practice, &job, "a").await;
    scene.clock.advance_ms(86_400_000);
    report(&scene.practice, &job, "b").await;
    scene.clock.advance_ms(29 * 86_400_000);
    let page = PageRequest::default();
    let left = scene.practice.progress(&job, &page).await.unwrap();
    assert_eq!(names(&left.items), ["b"]);
    // A stream goes on behind steps that have expired and are not removed yet.
    let events = scene.practice.progress_after(&job, None, 1).await.unwrap();
    assert_eq!((events.steps.len(), events.more), (0, true));
    let events = scene.practice.progress_after(&job, events.position.as_deref(), 1).await.unwrap();
    assert_eq!(names(&events.steps), ["b"]);
    scene.clock.advance_ms(86_400_000);
    assert!(scene.practice.progress(&job, &page).await.unwrap().items.is_empty());
}

async fn steps_of_the_source_are_read(scene: &Scene) {
    let job = claimed(scene).await;
    let dat = Value::map([("stp", "fetch"), ("msg", "fetching"), ("sts", "started")]);
    let theirs = Item::new()
        .with("PK", "SGJ#1")
        .with("SK", format!("JPH#{}", NOW_MS / 1000 - 5))
        .with("tp", "jph")
        .with("dat", dat)
        .with("crt", NOW_MS / 1000 - 5);
    scene.put_one(theirs).await;
    report(&scene.practice, &job, "own").await;
    let all = scene.practice.progress_after(&job, None, 10).await.unwrap().steps;
    assert_eq!(names(&all), ["fetch", "own"]);
    assert_eq!(all[0].at_ms, NOW_MS - 5_000);
    let rest = scene.practice.progress_after(&job, Some(&all[0].position), 10).await.unwrap();
    assert_eq!(names(&rest.steps), ["own"]);
}

async fn bad_positions_are_refused(scene: &Scene) {
    let job = claimed(scene).await;
    for bad in ["", "x", "12#y", "META", "~"] {
        let error = scene.practice.progress_after(&job, Some(bad), 10).await.unwrap_err();
        assert!(error.to_string().starts_with("Last-Event-ID"), "{bad:?} {error}");
    }
    let missing = script("missing");
    for error in [
        scene.practice.progress_after(&missing, None, 10).await.unwrap_err(),
        scene.practice.progress(&missing, &PageRequest::default()).await.unwrap_err(),
    ] {
        assert!(error.is_not_found(), "{error}");
    }
    let long = NewStep { message: "x".repeat(9_000), ..step("a") };
    let error = scene.practice.report_progress(&job, 1, &long).await.unwrap_err();
    assert!(error.to_string().starts_with("message"), "{error}");
    assert!(scene.practice.progress_after(&job, None, 10).await.unwrap().steps.is_empty());
}
