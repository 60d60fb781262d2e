//! Test cases, one at a time.

use weir_practice::Error;
use weir_practice::bounds::TEST_CASES_MAX;
use weir_practice::ids::TestCaseId;
use weir_practice::item::COUNT;
use weir_practice::keys;
use weir_practice::list::PageRequest;
use weir_practice::test_cases::{NewTestCase, TestCaseAccess};
use weir_table::Write;
use weir_table::expr::set;

use crate::problem_samples::{at, case, noise, problem};
use crate::scene::Scene;

scenes!(
    test_cases_are_added_replaced_and_deleted,
    hidden_test_cases_are_not_shown,
    the_bound_is_exact_under_concurrency,
    the_counter_is_exact_under_concurrency,
    large_test_cases_are_read_back_whole,
    a_response_has_bounded_texts_however_small_they_are_stored,
);

impl Scene {
    pub(crate) async fn counted(&self) -> i64 {
        let counter = self.practice.item(keys::test_case_count(&at("1"))).await.unwrap();
        counter.and_then(|item| item.i64(COUNT)).unwrap_or_default()
    }

    pub(crate) async fn case_count(&self) -> i64 {
        let prefix = format!("{} | TC", keys::problem_partition(&at("1")));
        let keys = self.stored_keys().await;
        i64::try_from(keys.iter().filter(|key| key.starts_with(&prefix)).count()).unwrap()
    }

    async fn with_problem(&self) {
        self.practice.create_problem(problem("1"), None, "ann").await.unwrap();
    }
}

async fn test_cases_are_added_replaced_and_deleted(scene: &Scene) {
    let (practice, one) = (&scene.practice, at("1"));
    assert!(practice.add_test_case(&one, case("1"), "ann").await.unwrap_err().is_not_found());
    scene.with_problem().await;
    scene.watch.reset();
    let first = practice.add_test_case(&one, case("1 2"), "ann").await.unwrap();
    let calls = scene.watch.calls();
    assert_eq!((calls.transactions, calls.gets, calls.writes), (1, 0, 0));
    let second = practice.add_test_case(&one, case("3 4"), "ann").await.unwrap();
    let page = PageRequest::default();
    let listed = practice.test_cases(&one, TestCaseAccess::All, &page).await.unwrap();
    assert_eq!(listed.items, [first.clone(), second.clone()]);
    scene.clock.advance_ms(3_000);
    let new = NewTestCase { is_sample: true, ..case("5 6") };
    let replaced = practice.replace_test_case(&one, &first.id, new, "ann").await.unwrap();
    assert_eq!((replaced.created_s, replaced.updated_s), (first.created_s, first.created_s + 3));
    practice.delete_test_case(&one, &second.id, "ann").await.unwrap();
    let listed = practice.test_cases(&one, TestCaseAccess::All, &page).await.unwrap();
    assert_eq!((listed.items, scene.counted().await), (vec![replaced], 1));
    let missing = TestCaseId::new("7").unwrap();
    for error in [
        practice.delete_test_case(&one, &second.id, "ann").await.unwrap_err(),
        practice.replace_test_case(&one, &missing, case("1"), "ann").await.unwrap_err(),
        practice.test_cases(&at("2"), TestCaseAccess::All, &page).await.unwrap_err(),
    ] {
        assert!(error.is_not_found(), "{error}");
    }
}

async fn hidden_test_cases_are_not_shown(scene: &Scene) {
    let (practice, one) = (&scene.practice, at("1"));
    scene.with_problem().await;
    for number in 0..6 {
        let new = NewTestCase { is_sample: number % 2 == 0, ..case(&number.to_string()) };
        practice.add_test_case(&one, new, "ann").await.unwrap();
    }
    for (access, expected) in [(TestCaseAccess::All, 6), (TestCaseAccess::Samples, 3)] {
        let (mut count, mut cursor) = (0, None);
        loop {
            let page = PageRequest { limit: 2, cursor };
            let found = practice.test_cases(&one, access, &page).await.unwrap();
            assert!(found.items.len() <= 2);
            count += found.items.len();
            match found.cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(count, expected);
    }
}

async fn the_bound_is_exact_under_concurrency(scene: &Scene) {
    scene.with_problem().await;
    let almost = set(COUNT, TEST_CASES_MAX as u64 - 5);
    let counter = keys::test_case_count(&at("1"));
    let write = Write::update(scene.practice.table().clone(), counter, almost);
    scene.practice.write(write).await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..10 {
        let practice = scene.practice.clone();
        writers.spawn(async move {
            practice.add_test_case(&at("1"), case(&number.to_string()), "ann").await
        });
    }
    let results = writers.join_all().await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 5);
    let refused = results.iter().filter(|result| matches!(result, Err(Error::TooLarge { .. })));
    assert_eq!(refused.count(), 5);
    assert_eq!((scene.case_count().await, scene.counted().await), (5, 10_000));
}

async fn the_counter_is_exact_under_concurrency(scene: &Scene) {
    scene.with_problem().await;
    let mut ids = Vec::new();
    for number in 0..8 {
        let added = scene.practice.add_test_case(&at("1"), case(&number.to_string()), "ann").await;
        ids.push(added.unwrap().id);
    }
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let (practice, ids) = (scene.practice.clone(), ids.clone());
        writers.spawn(async move {
            for (number, id) in ids.iter().enumerate() {
                let new = case(&format!("{writer}"));
                let done = match (number + writer) % 3 {
                    0 => practice.delete_test_case(&at("1"), id, "ann").await,
                    1 => practice.replace_test_case(&at("1"), id, new, "ann").await.map(|_| ()),
                    _ => practice.add_test_case(&at("1"), new, "ann").await.map(|_| ()),
                };
                match done {
                    Ok(()) | Err(Error::NotFound { .. } | Error::Contended) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    writers.join_all().await;
    assert_eq!(scene.counted().await, scene.case_count().await);
}

async fn large_test_cases_are_read_back_whole(scene: &Scene) {
    let (practice, one) = (&scene.practice, at("1"));
    scene.with_problem().await;
    let (input, output) = (noise(1024 * 1024, 1), noise(1024 * 1024, 2));
    let new = NewTestCase { input, output, is_sample: false };
    let added = practice.add_test_case(&one, new.clone(), "ann").await.unwrap();
    let page = PageRequest::default();
    let found = practice.test_cases(&one, TestCaseAccess::All, &page).await.unwrap();
    assert_eq!(found.items, std::slice::from_ref(&added));
    assert_eq!(scene.object_names().await.len(), 2);
    let smaller = NewTestCase { output: "3".to_owned(), ..new };
    practice.replace_test_case(&one, &added.id, smaller, "ann").await.unwrap();
    assert_eq!(scene.object_names().await.len(), 1);
    practice.delete_test_case(&one, &added.id, "ann").await.unwrap();
    assert_eq!(scene.object_names().await.len(), 0);
    practice.purge_problem(&one, "ann").await.unwrap();
    scene.assert_empty().await;
}

async fn a_response_has_bounded_texts_however_small_they_are_stored(scene: &Scene) {
    let (practice, one) = (&scene.practice, at("1"));
    scene.with_problem().await;
    // A mebibyte of one letter is an item of about a kilobyte.
    let text = |letter: &str| letter.repeat(1024 * 1024);
    for _ in 0..11 {
        let new = NewTestCase { input: text("a"), output: text("b"), is_sample: true };
        practice.add_test_case(&one, new, "ann").await.unwrap();
    }
    let whole = practice.problem_with_test_cases(&one, TestCaseAccess::All).await.unwrap();
    assert_eq!(whole.test_cases.len(), 4, "8 MiB");
    let (mut ids, mut cursor) = (Vec::new(), whole.cursor);
    ids.extend(whole.test_cases.into_iter().map(|case| case.id));
    while cursor.is_some() {
        let page = PageRequest { limit: 100, cursor };
        let found = practice.test_cases(&one, TestCaseAccess::Samples, &page).await.unwrap();
        assert!(found.items.len() <= 4, "{}", found.items.len());
        ids.extend(found.items.into_iter().map(|case| case.id));
        cursor = found.cursor;
    }
    let distinct: std::collections::BTreeSet<_> = ids.iter().map(ToString::to_string).collect();
    assert_eq!((ids.len(), distinct.len()), (11, 11));
}
