//! The ten access patterns: each is one query, the newest first, with stable cursors.

use std::collections::BTreeSet;

use weir_calendar::Day;
use weir_reviews::finding::Severity;
use weir_reviews::read::ListOptions;
use weir_reviews::review::Review;
use weir_reviews::{Result, Reviews};
use weir_table::retry::Listed;

use crate::samples::{category, id, model, owner, repo, review, review_at, user, with_raws};
use crate::scene::{NOW_MS, Scene, Watched, eventually};

scenes!(
    every_pattern_is_one_query,
    lists_are_newest_first_within_their_range,
    cursors_are_stable_while_reviews_arrive,
    indexes_agree_with_the_table,
    a_wrong_cursor_is_refused,
    lists_of_one_review_have_pages,
);

const HOUR_MS: i64 = 3_600_000;

/// Waits until the indexes show so many reviews, and findings of each severity as the table has them.
pub(crate) async fn indexed(scene: &Scene, reviews: usize) {
    let everything = ListOptions::default();
    eventually(async || {
        let all = scene.reviews.all(&everything).await.unwrap().items;
        let by_user = scene.reviews.by_user(&user("octocat"), &everything).await.unwrap().items;
        let consensus = scene.reviews.all_consensus(&everything).await.unwrap().items;
        (all.len() == reviews && by_user.len() == reviews && consensus.len() >= reviews)
            .then_some(())
    })
    .await;
}

async fn every_pattern_is_one_query(scene: &Scene) {
    scene.reviews.record(review_at("r-1", NOW_MS), false).await.unwrap();
    indexed(scene, 1).await;
    let (reviews, all) = (&scene.reviews, ListOptions::default());
    let day = Day::utc(NOW_MS);
    let one = id("r-1");
    macro_rules! one_query {
        ($gets:expr, $list:expr, $count:expr) => {
            scene.watch.reset();
            assert_eq!($list.await.unwrap().items.len(), $count);
            let calls = scene.watch.calls();
            assert_eq!((calls.queries, calls.gets), (1, $gets), stringify!($list));
            assert_eq!(calls.batch_gets + calls.writes + calls.transactions, 0);
        };
    }
    one_query!(0, reviews.by_repo(&owner(), &repo(), &all), 1);
    // The lookup is read before and after.
    one_query!(2, reviews.responses(&one, 10, None), 2);
    one_query!(2, reviews.findings(&one, 10, None), 4);
    one_query!(2, reviews.consensus(&one, 10, None), 2);
    one_query!(0, reviews.by_model(&model("meta/llama:70b"), &all), 1);
    one_query!(0, reviews.by_date(day, &all), 1);
    one_query!(0, reviews.all(&all), 1);
    one_query!(0, reviews.findings_by_severity(Severity::Critical, &all), 2);
    one_query!(0, reviews.all_consensus(&all), 2);
    one_query!(0, reviews.findings_by_category(&category("security"), &all), 2);
    one_query!(0, reviews.by_user(&user("octocat"), &all), 1);
    one_query!(0, reviews.costs(&owner(), &repo(), &all), 2);
    scene.watch.reset();
    reviews.get(&one).await.unwrap();
    assert_eq!((scene.watch.calls().gets, scene.watch.calls().queries), (4, 0));
    assert!(
        reviews
            .by_repo(&owner(), &weir_reviews::ids::Repo::new("other").unwrap(), &all)
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

/// The ids of a list of reviews.
fn ids(listed: &Listed<Review>) -> Vec<&str> {
    listed.items.iter().map(|review| review.id.as_str()).collect()
}

async fn lists_are_newest_first_within_their_range(scene: &Scene) {
    for (name, hours) in [("b", 1), ("d", 3), ("a", 0), ("c", 2)] {
        let at_ms = NOW_MS - 12 * HOUR_MS + hours * HOUR_MS;
        scene.reviews.record(review_at(name, at_ms), false).await.unwrap();
    }
    indexed(scene, 4).await;
    let reviews = &scene.reviews;
    let start_ms = NOW_MS - 12 * HOUR_MS;
    for (from, to, expected) in [
        (None, None, vec!["d", "c", "b", "a"]),
        (Some(1), None, vec!["d", "c", "b"]),
        (None, Some(2), vec!["b", "a"]),
        (Some(1), Some(3), vec!["c", "b"]),
        (Some(2), Some(2), vec![]),
        (Some(3), Some(1), vec![]),
    ] {
        let at = |hours: Option<i64>| hours.map(|hours| start_ms + hours * HOUR_MS);
        let options = ListOptions { from_ms: at(from), to_ms: at(to), ..ListOptions::default() };
        assert_eq!(ids(&reviews.all(&options).await.unwrap()), expected);
        assert_eq!(ids(&reviews.by_repo(&owner(), &repo(), &options).await.unwrap()), expected);
        assert_eq!(ids(&reviews.by_user(&user("octocat"), &options).await.unwrap()), expected);
        assert_eq!(ids(&reviews.by_date(Day::utc(start_ms), &options).await.unwrap()), expected);
        let by_model = reviews.by_model(&model("gpt-5"), &options).await.unwrap();
        let found: Vec<&str> = by_model.items.iter().map(|one| one.review.id.as_str()).collect();
        assert_eq!(found, expected);
        let costs = reviews.costs(&owner(), &repo(), &options).await.unwrap();
        assert_eq!(costs.items.len(), 2 * expected.len());
        let consensus = reviews.all_consensus(&options).await.unwrap();
        assert_eq!(consensus.items.len(), 2 * expected.len());
        let severe = reviews.findings_by_severity(Severity::Critical, &options).await.unwrap();
        let mut found: Vec<&str> = severe.items.iter().map(|one| one.review.id.as_str()).collect();
        found.dedup();
        assert_eq!(found, expected);
        let secure = reviews.findings_by_category(&category("security"), &options).await.unwrap();
        assert_eq!(secure.items.len(), 2 * expected.len());
    }
}

/// Reads all pages of a list; `between` runs after each.
pub(crate) async fn pages<T>(
    mut page: impl AsyncFnMut(Option<String>) -> Result<Listed<T>>,
    mut between: impl AsyncFnMut(usize),
) -> Vec<T> {
    let (mut cursor, mut items, mut number) = (None, Vec::new(), 0);
    loop {
        let listed = page(cursor).await.unwrap();
        items.extend(listed.items);
        number += 1;
        assert!(number < 100);
        match listed.cursor {
            Some(next) => cursor = Some(next),
            None => return items,
        }
        between(number).await;
    }
}

async fn cursors_are_stable_while_reviews_arrive(scene: &Scene) {
    stable_cursors(scene, &scene.reviews).await;
}

/// Pages return each review of the beginning once, while newer and older ones arrive.
pub(crate) async fn stable_cursors(scene: &Scene, reviews: &Reviews<Watched>) {
    let expected: Vec<String> = (0..17).rev().map(|number| format!("r-{number:02}")).collect();
    for (number, name) in expected.iter().rev().enumerate() {
        let at_ms = NOW_MS - HOUR_MS + i64::try_from(number / 3).unwrap();
        reviews.record(review_at(name, at_ms), false).await.unwrap();
    }
    let everything = ListOptions::default();
    eventually(async || {
        let found = reviews.all(&everything).await.unwrap().items.len();
        (found == 17).then_some(())
    })
    .await;
    let page = async |cursor| {
        let options = ListOptions { limit: 3, cursor, ..ListOptions::default() };
        reviews.all(&options).await
    };
    let arrive = async |number: usize| {
        let name = format!("new-{number}");
        reviews.record(review_at(&name, NOW_MS), false).await.unwrap();
    };
    let found = pages(page, arrive).await;
    let found: Vec<&str> = found.iter().map(|review| review.id.as_str()).collect();
    let sorted: BTreeSet<&str> = found.iter().copied().collect();
    assert_eq!(found.len(), sorted.len(), "none twice: {found:?}");
    assert_eq!(sorted, expected.iter().map(String::as_str).collect());
    let times = (0..17).rev().map(|number| number / 3);
    let order: Vec<usize> = found.iter().map(|id| id[2..].parse::<usize>().unwrap() / 3).collect();
    assert_eq!(order, times.collect::<Vec<_>>(), "newest first");
    let _ = scene;
}

async fn indexes_agree_with_the_table(scene: &Scene) {
    let reviews = &scene.reviews;
    for (number, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let mut new = with_raws(review(name, &["gpt-5", "llama"], 5 + number));
        new.head.created_at_ms = Some(NOW_MS - i64::try_from(number).unwrap() * 40 * HOUR_MS);
        reviews.record(new, false).await.unwrap();
    }
    reviews.record(review("b", &["gpt-5", "mistral"], 3), true).await.unwrap();
    reviews.delete(&id("c")).await.unwrap();
    let mut expected: BTreeSet<(String, String)> = BTreeSet::new();
    for name in ["a", "b", "d"] {
        let seen = scene.seen(name).await.unwrap();
        expected.extend(seen.findings.iter().map(|found| {
            (name.to_owned(), format!("{}/{}", found.finding.model, found.finding.id))
        }));
    }
    let options = ListOptions::default();
    eventually(async || {
        let mut found = BTreeSet::new();
        for severity in Severity::ALL {
            let listed = reviews.findings_by_severity(severity, &options).await.unwrap().items;
            assert!(listed.iter().all(|one| one.finding.finding.severity == severity));
            found.extend(listed.into_iter().map(|one| {
                let finding = &one.finding.finding;
                (one.review.id.to_string(), format!("{}/{}", finding.model, finding.id))
            }));
        }
        (found == expected).then_some(())
    })
    .await;
    for (name, count) in [("gpt-5", 3), ("llama", 2), ("mistral", 1)] {
        eventually(async || {
            let listed = reviews.by_model(&model(name), &options).await.unwrap().items;
            (listed.len() == count).then_some(())
        })
        .await;
    }
    let costs = reviews.costs(&owner(), &repo(), &options).await.unwrap();
    assert_eq!(costs.items.len(), 6);
}

async fn a_wrong_cursor_is_refused(scene: &Scene) {
    for name in ["a", "b", "c"] {
        scene.reviews.record(review_at(name, NOW_MS), false).await.unwrap();
    }
    let first = ListOptions { limit: 1, ..ListOptions::default() };
    let cursor = scene.reviews.by_repo(&owner(), &repo(), &first).await.unwrap().cursor;
    assert!(cursor.is_some());
    let other = ListOptions { cursor, ..ListOptions::default() };
    for wrong in [other, ListOptions { cursor: Some("x".into()), ..ListOptions::default() }] {
        let refused = scene.reviews.costs(&owner(), &repo(), &wrong).await.unwrap_err();
        assert!(refused.to_string().starts_with("cursor: "), "{refused}");
    }
}

async fn lists_of_one_review_have_pages(scene: &Scene) {
    scene.reviews.record(review("r-1", &["gpt-5", "llama"], 9), false).await.unwrap();
    let findings =
        pages(async |cursor| scene.reviews.findings(&id("r-1"), 4, cursor).await, async |_| {})
            .await;
    assert_eq!(findings, scene.seen("r-1").await.unwrap().findings);
}
