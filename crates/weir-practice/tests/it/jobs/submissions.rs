//! Submitting and listing.

use weir_practice::Error;
use weir_practice::ids::{IdempotencyKey, JobId, ProblemId, Tag};
use weir_practice::jobs::{JobFields, JobRef, NewJob};
use weir_practice::keys::List;
use weir_practice::kinds::JobStatus;
use weir_practice::list::PageRequest;
use weir_table::{Item, Value};
use weir_testkit::eventually_eq;

use super::samples::{EXTRACTION, SCRIPT, at_once, generated, new_extraction, new_script, worker};
use crate::scene::{NOW_MS, Scene};

scenes!(
    a_job_is_submitted_once,
    a_key_submits_one_job,
    many_submitters_make_one_job,
    jobs_are_listed_by_status,
    a_job_of_the_source_is_read_and_claimed,
    bad_jobs_name_their_field_and_write_nothing,
);

async fn a_job_is_submitted_once(scene: &Scene) {
    let practice = &scene.practice;
    let first = practice.submit_job(SCRIPT, &new_script("7")).await.unwrap();
    assert!(first.is_new);
    assert_eq!(first.job.summary.status, JobStatus::Pending);
    assert_eq!((scene.watch.calls().transactions, scene.watch.take_reads()), (1, 0));
    scene.clock.advance_ms(86_400_000);
    let again = practice.submit_job(SCRIPT, &new_script("7")).await.unwrap();
    assert!(!again.is_new);
    assert_eq!(again.job, first.job);
    assert_eq!(practice.job(&first.job.summary.job).await.unwrap(), first.job);

    let other = NewJob { constraints: Some("n < 10".to_owned()), ..new_script("7") };
    let error = practice.submit_job(SCRIPT, &other).await.unwrap_err();
    assert!(matches!(error, Error::Conflict(_)), "{error}");
    // The other type has ids of its own.
    let id = Some(JobId::new("7").unwrap());
    let extraction = NewJob { id, ..new_extraction() };
    assert!(practice.submit_job(EXTRACTION, &extraction).await.unwrap().is_new);
}

async fn a_key_submits_one_job(scene: &Scene) {
    let key = Some(IdempotencyKey::new("request 1").unwrap());
    let new = NewJob { idempotency_key: key, ..new_extraction() };
    let first = scene.practice.submit_job(EXTRACTION, &new).await.unwrap();
    let again = scene.practice.submit_job(EXTRACTION, &new).await.unwrap();
    assert_eq!((first.is_new, again.is_new), (true, false));
    assert_eq!(first.job, again.job);
    // Without a key and an id each request is a job.
    for _ in 0..2 {
        assert!(scene.practice.submit_job(EXTRACTION, &new_extraction()).await.unwrap().is_new);
    }
}

async fn many_submitters_make_one_job(scene: &Scene) {
    let submitted = at_once(10, |_| {
        let practice = scene.process(0).0;
        async move { practice.submit_job(SCRIPT, &new_script("7")).await.unwrap() }
    })
    .await;
    assert_eq!(submitted.iter().filter(|one| one.is_new).count(), 1);
    assert!(submitted.iter().all(|one| one.job == submitted[0].job));
    assert_eq!(scene.items().await, 2);
}

async fn jobs_are_listed_by_status(scene: &Scene) {
    let practice = &scene.practice;
    for id in ["1", "2", "3", "4", "5"] {
        scene.submit(id).await;
        scene.clock.advance_ms(1_000);
    }
    scene.listed(List::JobsOfStatus(SCRIPT, JobStatus::Pending), 5).await;
    let claimed = practice.claim_next_job(SCRIPT, &worker("w")).await.unwrap().unwrap();
    assert_eq!(claimed.job.summary.job.id.as_str(), "1", "the oldest first");
    practice
        .complete_job(&claimed.job.summary.job, claimed.lease.fence, &generated())
        .await
        .unwrap();

    let ids = async |status: Option<JobStatus>, page: &PageRequest| {
        let listed = practice.jobs(SCRIPT, status, page).await.unwrap();
        let ids: Vec<_> =
            listed.items.into_iter().map(|job| job.job.id.as_str().to_owned()).collect();
        (ids, listed.cursor)
    };
    let all = PageRequest::default();
    let completed = Some(JobStatus::Completed);
    eventually_eq(vec!["1".to_owned()], async || ids(completed, &all).await.0).await;
    assert_eq!(ids(Some(JobStatus::Pending), &all).await.0, ["5", "4", "3", "2"]);
    assert_eq!(ids(None, &all).await.0, ["5", "4", "3", "2", "1"]);
    assert!(ids(Some(JobStatus::Failed), &all).await.0.is_empty());

    scene.watch.reset();
    let two = PageRequest { limit: 2, cursor: None };
    let (first, cursor) = ids(None, &two).await;
    assert_eq!(scene.watch.take_reads(), 2);
    let (second, _) = ids(None, &PageRequest { limit: 2, cursor }).await;
    assert_eq!((first, second), (vec!["5".into(), "4".into()], vec!["3".into(), "2".into()]));
    let wrong = PageRequest { limit: 2, cursor: Some("x".to_owned()) };
    let error = practice.jobs(SCRIPT, None, &wrong).await.unwrap_err();
    assert!(error.to_string().starts_with("cursor:"), "{error}");
}

async fn a_job_of_the_source_is_read_and_claimed(scene: &Scene) {
    let dat = Value::map([
        ("plt", Value::from("baekjoon")),
        ("pno", "1000".into()),
        ("sts", "PENDING".into()),
        ("sol", "print(1)".into()),
    ]);
    let theirs = Item::new()
        .with("PK", "SGJ#12")
        .with("SK", "META")
        .with("tp", "sgj")
        .with("dat", dat)
        .with("crt", NOW_MS / 1000);
    scene.put_one(theirs).await;
    let job = JobRef { job_type: SCRIPT, id: JobId::new("12").unwrap() };
    let claimed = scene.practice.claim_job(&job, &worker("w")).await.unwrap();
    assert_eq!(claimed.job.solution_code.as_deref(), Some("print(1)"));
    scene.practice.complete_job(&job, claimed.lease.fence, &generated()).await.unwrap();
    scene.listed(List::JobsOfStatus(SCRIPT, JobStatus::Completed), 1).await;
}

async fn bad_jobs_name_their_field_and_write_nothing(scene: &Scene) {
    let good = || new_script("7");
    let with = |change: &dyn Fn(&mut JobFields)| {
        let mut new = good();
        change(&mut new.fields);
        new
    };
    let tags = |n: usize| (0..n).map(|n| Tag::new(format!("t{n}")).unwrap()).collect();
    for (of, wrong, field) in [
        (SCRIPT, with(&|fields| fields.platform = None), "platform"),
        (SCRIPT, with(&|fields| fields.problem_id = None), "problem_id"),
        (SCRIPT, with(&|fields| fields.title = None), "title"),
        (SCRIPT, with(&|fields| fields.title = Some("x".repeat(501))), "title"),
        (SCRIPT, with(&|fields| fields.language = Some(" ".to_owned())), "language"),
        (SCRIPT, with(&|fields| fields.problem_url = Some("file:///x".to_owned())), "problem_url"),
        (SCRIPT, with(&|fields| fields.tags = tags(31)), "tags"),
        (SCRIPT, with(&|fields| fields.problem_identifier = Some("x".to_owned())), "problem_ident"),
        (SCRIPT, NewJob { solution_code: Some("x".repeat(1_048_577)), ..good() }, "solution_code"),
        (SCRIPT, NewJob { constraints: Some("x".repeat(1_048_577)), ..good() }, "constraints"),
        (
            SCRIPT,
            NewJob { idempotency_key: Some(IdempotencyKey::new("k").unwrap()), ..good() },
            "idempotency_key",
        ),
        (EXTRACTION, NewJob::default(), "problem_url"),
        (
            EXTRACTION,
            NewJob { solution_code: Some("x".to_owned()), ..new_extraction() },
            "solution",
        ),
        (EXTRACTION, NewJob { fields: good().fields, ..NewJob::default() }, "problem_url"),
    ] {
        let error = scene.practice.submit_job(of, &wrong).await.unwrap_err();
        assert!(error.to_string().starts_with(field), "{field}: {error}");
    }
    assert_eq!(scene.watch.calls().transactions, 0);
    assert_eq!(scene.items().await, 0);
    let largest = NewJob { solution_code: Some("x".repeat(1_048_576)), ..good() };
    let stored = scene.practice.submit_job(SCRIPT, &largest).await.unwrap().job;
    let read = scene.practice.job(&stored.summary.job).await.unwrap();
    assert_eq!(read.solution_code, largest.solution_code);
    assert_eq!(read.summary.fields.problem_id, Some(ProblemId::new("1000").unwrap()));
}
