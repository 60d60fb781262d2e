//! Lists of problems: what moves a problem between them, and what keeps them like the problem.

use weir_practice::Error;
use weir_practice::item::{Data, entity};
use weir_practice::keys::{self, List};
use weir_practice::kinds::{EntityType, ProblemStatus};
use weir_practice::list::PageRequest;
use weir_practice::problems::{ProblemFilter, ProblemPatch};
use weir_table::{Query, Value, Write};
use weir_testkit::eventually_eq;

use crate::problem_samples::{at, case, problem, tag};
use crate::scene::{NOW_MS, Scene};

scenes!(
    a_problem_moves_between_lists,
    lists_are_paged,
    lists_agree_after_concurrent_changes,
    a_problem_of_the_source_is_listed_after_a_change,
);

/// The lists that have exactly this problem, by name.
async fn lists_with(scene: &Scene, id: &str) -> Vec<String> {
    let statuses = ProblemStatus::ALL.iter().map(|status| {
        let filter = ProblemFilter { status: Some(*status), ..ProblemFilter::default() };
        (status.to_string(), filter)
    });
    let platform = Some(at(id).platform);
    let rest = [
        ("platform".to_owned(), ProblemFilter { platform, ..ProblemFilter::default() }),
        ("math".to_owned(), ProblemFilter { tag: Some(tag("math")), ..ProblemFilter::default() }),
        ("dp".to_owned(), ProblemFilter { tag: Some(tag("dp")), ..ProblemFilter::default() }),
        ("all".to_owned(), ProblemFilter::default()),
    ];
    let mut names = Vec::new();
    for (name, filter) in statuses.chain(rest) {
        let found = scene.practice.problems(&filter, &PageRequest::default()).await.unwrap();
        if found.items.iter().any(|one| one.at == at(id)) {
            names.push(name);
        }
    }
    names
}

async fn assert_lists(scene: &Scene, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|name| (*name).to_owned()).collect();
    eventually_eq(expected, async || lists_with(scene, "1").await).await;
}

async fn a_problem_moves_between_lists(scene: &Scene) {
    let (practice, one) = (&scene.practice, at("1"));
    practice.create_problem(problem("1"), None, "ann").await.unwrap();
    assert_lists(scene, &["draft", "platform", "math", "all"]).await;
    practice.publish_problem(&one, "ann").await.unwrap();
    let notes = Some("the output is wrong".to_owned());
    let marked = practice.request_review(&one, notes.clone(), "ann").await.unwrap();
    assert_eq!((marked.needs_review, marked.review_notes), (true, notes));
    assert_lists(scene, &["published", "needs_review", "platform", "math", "all"]).await;
    let verified = practice.verify_problem(&one, "ann").await.unwrap();
    assert_eq!((verified.is_verified, verified.reviewed_at_s), (true, Some(NOW_MS / 1000)));
    let tags = Some(vec![tag("dp")]);
    let patch = ProblemPatch { tags, ..ProblemPatch::default() };
    practice.update_problem(&one, patch.clone(), "ann").await.unwrap();
    assert_lists(scene, &["published", "verified", "platform", "dp", "all"]).await;
    let reason = Some("a duplicate".to_owned());
    let deleted = practice.delete_problem(&one, reason.clone(), "ann").await.unwrap();
    assert_eq!(deleted.deletion.unwrap().reason, reason);
    assert_lists(scene, &["deleted"]).await;
    for error in [
        practice.publish_problem(&one, "ann").await.unwrap_err(),
        practice.update_problem(&one, patch, "ann").await.unwrap_err(),
        practice.add_test_case(&one, case("1"), "ann").await.unwrap_err(),
    ] {
        assert!(error.is_conflict(), "{error}");
    }
    let restored = practice.restore_problem(&one, "ann").await.unwrap();
    assert_eq!(restored.deletion, None);
    assert_lists(scene, &["published", "verified", "platform", "dp", "all"]).await;
    practice.purge_problem(&one, "ann").await.unwrap();
    assert_lists(scene, &[]).await;
    scene.assert_empty().await;
}

async fn lists_are_paged(scene: &Scene) {
    let practice = &scene.practice;
    for number in 0..7 {
        practice.create_problem(problem(&format!("{number}")), None, "ann").await.unwrap();
        scene.clock.advance_ms(1_000);
    }
    let filter = ProblemFilter { tag: Some(tag("math")), ..ProblemFilter::default() };
    let ids = async || {
        let (mut ids, mut cursor) = (Vec::new(), None);
        loop {
            let page = PageRequest { limit: 3, cursor };
            let found = practice.problems(&filter, &page).await.unwrap();
            ids.extend(found.items.iter().map(|one| one.at.id.to_string()));
            match found.cursor {
                Some(next) => cursor = Some(next),
                None => return ids.join(" "),
            }
        }
    };
    eventually_eq("6 5 4 3 2 1 0".to_owned(), ids).await;
    scene.watch.reset();
    practice.problems(&filter, &PageRequest::default()).await.unwrap();
    let calls = scene.watch.calls();
    assert_eq!((calls.queries, calls.batch_gets, calls.gets), (1, 1, 0));
}

/// The small items beside a problem are those that its fields ask for, whatever raced.
async fn assert_agreement(scene: &Scene, id: &str) {
    let found = scene.practice.problem(&at(id)).await.unwrap().summary;
    let mut lists: Vec<List> = found.statuses().into_iter().map(List::ProblemsOfStatus).collect();
    if found.deletion.is_none() {
        lists.push(List::ProblemsOfPlatform(found.at.platform.clone()));
        lists.extend(found.tags.iter().cloned().map(List::ProblemsWithTag));
    }
    let key = |list: &List| list.problem(found.created_s, &found.at).key.to_string();
    let mut expected: Vec<String> = lists.iter().map(key).collect();
    expected.sort_unstable();
    let query = Query::partition(scene.practice.table().clone(), keys::problem_partition(&at(id)));
    let entries = scene.all(query.begins_with(keys::LIST_ENTRY_PREFIX)).await;
    let mut keys: Vec<String> =
        entries.iter().map(|item| keys::key_of(item).unwrap().to_string()).collect();
    keys.sort_unstable();
    assert_eq!(keys, expected);
    let head = scene.practice.item(keys::problem(&at(id))).await.unwrap().unwrap();
    assert_eq!(head.get("GSI2PK").is_some(), found.deletion.is_none());
}

async fn lists_agree_after_concurrent_changes(scene: &Scene) {
    scene.practice.create_problem(problem("1"), None, "ann").await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4_usize {
        let practice = scene.practice.clone();
        writers.spawn(async move {
            for round in 0..12_usize {
                let one = at("1");
                let tags = (0..round % 5).map(|n| tag(&format!("t{}", n * writer))).collect();
                let tags: std::collections::BTreeSet<_> = Vec::into_iter(tags).collect();
                let tags = Some(tags.into_iter().collect());
                let patch = ProblemPatch { tags, ..ProblemPatch::default() };
                let done = match (round + writer) % 6 {
                    0 => practice.delete_problem(&one, None, "ann").await,
                    1 => practice.restore_problem(&one, "ann").await,
                    2 => practice.request_review(&one, None, "ann").await,
                    3 => practice.verify_problem(&one, "ann").await,
                    4 => practice.publish_problem(&one, "ann").await,
                    _ => practice.update_problem(&one, patch, "ann").await,
                };
                match done {
                    Ok(_) | Err(Error::Conflict(_) | Error::Contended) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    writers.join_all().await;
    assert_agreement(scene, "1").await;
}

async fn a_problem_of_the_source_is_listed_after_a_change(scene: &Scene) {
    let data = Data::new().with("tit", "A+B").with("tag", Value::list(["math"]));
    let item = entity(keys::problem(&at("1")), EntityType::Problem, data, NOW_MS / 1000);
    let write = Write::put(scene.practice.table().clone(), item);
    assert!(scene.practice.write(write).await.unwrap().is_applied());
    assert_eq!(scene.practice.problem(&at("1")).await.unwrap().summary.version, 0);
    scene.practice.publish_problem(&at("1"), "ann").await.unwrap();
    assert_agreement(scene, "1").await;
    assert_lists(scene, &["published", "platform", "math", "all"]).await;
}
