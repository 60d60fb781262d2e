//! Problems: their creation, their changes, their end.

use weir_practice::audit::AuditAction;
use weir_practice::item::COUNT;
use weir_practice::keys;
use weir_practice::problems::{NewProblem, ProblemPatch, Registrar};
use weir_practice::test_cases::TestCaseAccess;
use weir_practice::{Error, Practice};
use weir_table::Write;
use weir_table::audit::EventRange;
use weir_table::expr::{add, attr};

use crate::problem_samples::{at, case, large_problem, problem, tag, user};
use crate::scene::{NOW_MS, Scene, Watched};

scenes!(
    a_problem_is_created_once,
    a_plan_limits_who_registers,
    a_patch_changes_only_its_fields,
    of_two_writers_with_a_version_one_wins,
    three_megabytes_are_read_back_whole,
    many_test_cases_come_with_their_problem,
    a_text_leaves_its_object_when_it_is_short_again,
    invalid_problems_are_refused,
);

async fn a_problem_is_created_once(scene: &Scene) {
    let practice = &scene.practice;
    let new = problem("1000");
    let created = practice.create_problem(new.clone(), None, "ann").await.unwrap();
    assert_eq!(scene.watch.calls().transactions, 1);
    let found = practice.problem(&at("1000")).await.unwrap();
    assert_eq!(found.summary, created);
    assert_eq!((found.solution_code, found.constraints), (new.solution_code, new.constraints));
    assert_eq!((created.created_s, created.version), (NOW_MS / 1000, 1));
    assert_eq!((created.tags, created.metadata), (new.tags, new.metadata));
    let again = practice.create_problem(problem("1000"), None, "ann").await.unwrap_err();
    assert_eq!(again.to_string(), "the problem baekjoon/1000 exists");
    assert!(practice.problem(&at("1001")).await.unwrap_err().is_not_found());
    let events = practice.audit_events(None, &EventRange::default()).await.unwrap().items;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].action, AuditAction::ProblemCreated);
}

/// What the rules of plans add to the transaction: at most two problems.
fn registrar(practice: &Practice<Watched>) -> Registrar {
    let key = keys::problem_count(&user("7"));
    let count = Write::update(practice.table().clone(), key, add(COUNT, 1));
    let count = count.when(attr(COUNT).absent().or(attr(COUNT).lt(2)));
    Registrar { user: user("7"), writes: vec![count] }
}

async fn a_plan_limits_who_registers(scene: &Scene) {
    let practice = &scene.practice;
    let create = async |new: NewProblem| {
        practice.create_problem(new, Some(registrar(practice)), "user 7").await
    };
    let first = create(problem("1")).await.unwrap();
    assert_eq!(first.registered_by, Some(user("7")));
    create(problem("2")).await.unwrap();
    let before = scene.stored_keys().await;
    let mut many = large_problem("3");
    many.test_cases.extend((0..150).map(|n| case(&n.to_string())));
    for refused in [problem("3"), many] {
        let error = create(refused).await.unwrap_err();
        assert!(matches!(error, Error::Forbidden(_)), "{error}");
        assert_eq!(scene.stored_keys().await, before);
        assert!(scene.object_names().await.is_empty());
    }
    practice.purge_problem(&at("1"), "ann").await.unwrap();
    create(problem("3")).await.unwrap();
}

async fn a_patch_changes_only_its_fields(scene: &Scene) {
    let practice = &scene.practice;
    practice.create_problem(problem("1"), None, "ann").await.unwrap();
    let old = practice.problem(&at("1")).await.unwrap();
    scene.clock.advance_ms(5_000);
    let patch = ProblemPatch {
        title: Some("Sum".to_owned()),
        language: Some(None),
        constraints: Some(Some("none".to_owned())),
        ..ProblemPatch::default()
    };
    let changed = practice.update_problem(&at("1"), patch.clone(), "ann").await.unwrap();
    let new = practice.problem(&at("1")).await.unwrap();
    assert_eq!(new.summary, changed);
    assert_eq!((new.summary.title.as_str(), &new.summary.language), ("Sum", &None));
    assert_eq!(new.constraints.as_deref(), Some("none"));
    assert_eq!(new.solution_code, old.solution_code);
    assert_eq!((new.summary.version, new.summary.updated_s), (2, NOW_MS / 1000 + 5));
    assert_eq!((&new.summary.tags, new.summary.created_s), (&old.summary.tags, NOW_MS / 1000));
    // The same again changes nothing.
    let same = practice.update_problem(&at("1"), patch.clone(), "ann").await.unwrap();
    assert_eq!(same.version, 2);
    let stale = ProblemPatch { version: Some(1), ..patch.clone() };
    let error = practice.update_problem(&at("1"), stale, "ann").await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    let error = practice.update_problem(&at("2"), patch, "ann").await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

async fn of_two_writers_with_a_version_one_wins(scene: &Scene) {
    let practice = &scene.practice;
    practice.create_problem(problem("1"), None, "ann").await.unwrap();
    let write = |title: &str| {
        let (practice, title) = (practice.clone(), Some(title.to_owned()));
        let patch = ProblemPatch { title, version: Some(1), ..ProblemPatch::default() };
        tokio::spawn(async move { practice.update_problem(&at("1"), patch, "ann").await })
    };
    let (one, other) = (write("one"), write("other"));
    let results = [one.await.unwrap(), other.await.unwrap()];
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    assert!(results.iter().flatten().all(|changed| changed.version == 2));
}

async fn three_megabytes_are_read_back_whole(scene: &Scene) {
    let practice = &scene.practice;
    let new = large_problem("1");
    let bytes: usize =
        new.test_cases.iter().map(weir_practice::test_cases::NewTestCase::bytes).sum();
    assert!(bytes + new.solution_code.as_ref().unwrap().len() > 2_500_000);
    practice.create_problem(new.clone(), None, "ann").await.unwrap();
    scene.watch.reset();
    let all = practice.problem_with_test_cases(&at("1"), TestCaseAccess::All).await.unwrap();
    assert_eq!((scene.watch.calls().queries, scene.watch.calls().gets), (1, 0));
    assert_eq!(all.problem.solution_code, new.solution_code);
    assert_eq!(all.problem.constraints, new.constraints);
    let cases = all.test_cases.iter().map(|case| (&case.input, &case.output, case.is_sample));
    assert!(cases.eq(new.test_cases.iter().map(|case| (
        &case.input,
        &case.output,
        case.is_sample
    ))));
    assert_eq!(all.cursor, None);
    let shown = practice.problem_with_test_cases(&at("1"), TestCaseAccess::Samples).await.unwrap();
    assert_eq!(shown.test_cases.len(), 1);
    assert!(!scene.object_names().await.is_empty());
    let marks = scene.stored_keys().await.into_iter().filter(|key| key.starts_with("OBJECTS"));
    assert_eq!(marks.count(), 0);
    practice.purge_problem(&at("1"), "ann").await.unwrap();
    scene.assert_empty().await;
}

async fn many_test_cases_come_with_their_problem(scene: &Scene) {
    let practice = &scene.practice;
    let mut new = problem("1");
    new.test_cases = (0..250).map(|n| case(&n.to_string())).collect();
    practice.create_problem(new.clone(), None, "ann").await.unwrap();
    let all = practice.problem_with_test_cases(&at("1"), TestCaseAccess::All).await.unwrap();
    let inputs: Vec<_> = all.test_cases.iter().map(|case| case.input.as_str()).collect();
    let expected: Vec<_> = new.test_cases.iter().map(|case| case.input.as_str()).collect();
    assert_eq!(inputs, expected);
    let error = practice.create_problem(new, None, "ann").await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    practice.purge_problem(&at("1"), "ann").await.unwrap();
    scene.assert_empty().await;
}

async fn a_text_leaves_its_object_when_it_is_short_again(scene: &Scene) {
    let (practice, one) = (&scene.practice, at("1"));
    practice.create_problem(large_problem("1"), None, "ann").await.unwrap();
    let before = scene.object_names().await.len();
    let solution_code = Some(Some("print(1)".to_owned()));
    let patch = ProblemPatch { solution_code, ..ProblemPatch::default() };
    practice.update_problem(&one, patch, "ann").await.unwrap();
    assert_eq!(scene.object_names().await.len(), before - 1);
    assert_eq!(practice.problem(&one).await.unwrap().solution_code.as_deref(), Some("print(1)"));
    practice.purge_problem(&one, "ann").await.unwrap();
    scene.assert_empty().await;
}

async fn invalid_problems_are_refused(scene: &Scene) {
    let with = |change: fn(&mut NewProblem)| {
        let mut new = problem("1");
        change(&mut new);
        new
    };
    for (new, field) in [
        (with(|new| new.title = " ".to_owned()), "title: "),
        (with(|new| new.title = "x".repeat(501)), "title: "),
        (with(|new| new.url = Some("ftp://x".to_owned())), "problem_url: "),
        (with(|new| new.tags = vec![tag("a"), tag("a")]), "tags: "),
        (with(|new| new.solution_code = Some("x".repeat(1024 * 1024 + 1))), "solution_code: "),
        (with(|new| new.metadata = serde_json::json!([])), "metadata: "),
        (
            with(|new| new.test_cases = vec![case("1"), case(&"x".repeat(1024 * 1024 + 1))]),
            "test_cases[1].input: ",
        ),
        (with(|new| new.test_cases = vec![case(&"x".repeat(1024 * 1000)); 9]), "problem: "),
    ] {
        let error = scene.practice.create_problem(new, None, "ann").await.unwrap_err();
        assert!(error.to_string().starts_with(field), "{error}");
    }
    scene.assert_empty().await;
}
