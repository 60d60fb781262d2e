//! Lists whose entries are spread over several partitions.

use weir_calendar::Day;
use weir_reviews::finding::Severity;
use weir_reviews::read::ListOptions;

use crate::lists::{pages, stable_cursors};
use crate::samples::review_at;
use crate::scene::{NOW_MS, Scene, eventually};

scenes!(
    shards_are_merged_in_order,
    cursors_of_shards_are_stable_while_reviews_arrive,
    reviews_of_the_time_before_shards_are_listed,
    a_wrong_cursor_of_shards_is_refused,
);

async fn shards_are_merged_in_order(scene: &Scene) {
    let sharded = scene.another_with(|settings| settings.index_shards = 4);
    for number in 0..25 {
        let at_ms = NOW_MS - 3_600_000 + number * 7;
        sharded.record(review_at(&format!("r-{number:02}"), at_ms), false).await.unwrap();
    }
    let everything = ListOptions::default();
    eventually(async || {
        let found = sharded.all(&everything).await.unwrap().items.len();
        let severe = sharded.findings_by_severity(Severity::High, &everything).await.unwrap();
        (found == 25 && severe.items.len() == 50).then_some(())
    })
    .await;
    scene.watch.reset();
    let expected: Vec<String> = (0..25).rev().map(|number| format!("r-{number:02}")).collect();
    for limit in [1, 4, 25, 100] {
        let options = |cursor| ListOptions { limit, cursor, ..ListOptions::default() };
        let all = pages(async |at| sharded.all(&options(at)).await, async |_| {}).await;
        let of_day = Day::utc(NOW_MS);
        let by_date =
            pages(async |at| sharded.by_date(of_day, &options(at)).await, async |_| {}).await;
        for found in [all, by_date] {
            let found: Vec<&str> = found.iter().map(|review| review.id.as_str()).collect();
            assert_eq!(found, expected, "pages of {limit}");
        }
        let severe = async |at| sharded.findings_by_severity(Severity::High, &options(at)).await;
        let severe = pages(severe, async |_| {}).await;
        assert_eq!(severe.len(), 50);
        assert!(severe.is_sorted_by(|a, b| a.created_at_ms >= b.created_at_ms));
    }
    scene.watch.reset();
    sharded.all(&ListOptions { limit: 3, ..ListOptions::default() }).await.unwrap();
    let calls = scene.watch.calls();
    assert_eq!((calls.queries, calls.gets), (5, 0), "one for each shard, and the unsharded one");
    let range = ListOptions {
        from_ms: Some(NOW_MS - 3_600_000 + 7),
        to_ms: Some(NOW_MS - 3_600_000 + 21),
        ..ListOptions::default()
    };
    let found = sharded.all(&range).await.unwrap().items;
    let found: Vec<&str> = found.iter().map(|review| review.id.as_str()).collect();
    assert_eq!(found, ["r-02", "r-01"]);
    let unsharded = scene.items().await;
    let unsharded = unsharded.iter().filter(|item| item.s("GSI2PK") == Some("TYPE#REVIEW"));
    assert_eq!(unsharded.count(), 0);
}

async fn cursors_of_shards_are_stable_while_reviews_arrive(scene: &Scene) {
    let sharded = scene.another_with(|settings| settings.index_shards = 3);
    stable_cursors(scene, &sharded).await;
}

async fn reviews_of_the_time_before_shards_are_listed(scene: &Scene) {
    scene.reviews.record(review_at("old", NOW_MS - 10), false).await.unwrap();
    let few = scene.another_with(|settings| settings.index_shards = 2);
    few.record(review_at("few", NOW_MS - 5), false).await.unwrap();
    let many = scene.another_with(|settings| settings.index_shards = 16);
    many.record(review_at("many", NOW_MS), false).await.unwrap();
    eventually(async || {
        let found = many.all(&ListOptions::default()).await.unwrap().items;
        let found: Vec<&str> = found.iter().map(|review| review.id.as_str()).collect();
        (found == ["many", "few", "old"]).then_some(())
    })
    .await;
}

async fn a_wrong_cursor_of_shards_is_refused(scene: &Scene) {
    let sharded = scene.another_with(|settings| settings.index_shards = 2);
    for name in ["a", "b", "c"] {
        sharded.record(review_at(name, NOW_MS), false).await.unwrap();
    }
    let first = ListOptions { limit: 1, ..ListOptions::default() };
    let cursor = eventually(async || sharded.all(&first).await.unwrap().cursor).await;
    let other = ListOptions { cursor: Some(cursor), ..ListOptions::default() };
    for wrong in [other, ListOptions { cursor: Some("x".into()), ..ListOptions::default() }] {
        let refused = sharded.by_date(Day::utc(NOW_MS), &wrong).await.unwrap_err();
        assert!(refused.to_string().starts_with("cursor: "), "{refused}");
    }
}
