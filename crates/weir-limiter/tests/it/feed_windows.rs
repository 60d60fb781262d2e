//! Usage of many users is counted in windows of several transactions: once, whatever fails in between.

use weir_limiter::bucket::Bucket;
use weir_limiter::item::BucketId;
use weir_table::feed::{LEASE_MS, POSITIONS_TABLE};
use weir_table::{Item, Query};

use crate::fed::{Aggregator, bucket_id, put, take};
use crate::scene::{Scene, eventually, per_minute};
use crate::watched::Strike;

scenes!(
    a_fault_at_any_call_of_a_window_loses_and_repeats_nothing,
    two_instances_that_count_one_window_count_it_once,
    a_window_left_by_one_instance_is_completed_by_another,
);

/// Each has three snapshots, so a window of all is three transactions.
const USERS: usize = 68;
/// More changes than any of these stories makes.
const ALL: usize = 100_000;

async fn users(scene: &Scene) -> Vec<BucketId> {
    let limits = [per_minute("rpm", 1_000)];
    let ids: Vec<_> = (0..USERS).map(|n| bucket_id(scene, &format!("user-{n}"), "gpt-4")).collect();
    for id in &ids {
        put(scene, id, &Bucket::full(&limits, 0, 1, scene.now_ms())).await;
    }
    ids
}

/// Takes one token from each of `ids`.
async fn take_one_each(scene: &Scene, ids: &[BucketId]) {
    for id in ids {
        take(scene, id, "rpm", 1_000).await;
    }
}

/// Counts all that there is.
async fn count(aggregator: &mut Aggregator, chunk: usize) -> weir_table::Result<()> {
    while aggregator.count_window(ALL, chunk).await?.is_some() {}
    Ok(())
}

/// Tokens of `rpm` in each snapshot there is.
async fn used(scene: &Scene) -> Vec<i64> {
    let mut query = Query::scan(scene.limiter.settings().table.as_str());
    let mut all = Vec::new();
    loop {
        let page = scene.store.query(&query).await.unwrap();
        let snapshots = page.items.iter().filter(|item| item.s("window").is_some());
        all.extend(snapshots.map(|item| item.i64("rpm").unwrap()));
        query.cursor = page.cursor;
        if query.cursor.is_none() {
            return all;
        }
    }
}

/// Counts until every user has used as much as `taken`; then none may have used more.
async fn all_used(scene: &Scene, aggregator: &mut Aggregator, taken: i64) {
    let all = eventually(async || {
        count(aggregator, 100).await.unwrap();
        let all = used(scene).await;
        (all.len() == USERS * 3 && all.iter().all(|used| *used >= taken)).then_some(all)
    })
    .await;
    assert_eq!(all, vec![taken; USERS * 3], "by hour, day and month");
    assert!(checkpoints(scene).await.is_empty(), "nothing is left");
}

/// The items of shards with a partly committed window.
async fn checkpoints(scene: &Scene) -> Vec<Item> {
    let partition = format!("FEED#{}#usage", scene.limiter.settings().table);
    let query = Query::partition(POSITIONS_TABLE, partition).begins_with("SHARD#");
    let mut items = scene.store.query(&query).await.unwrap().items;
    items.retain(|item| item.s("until").is_some() || item.s("through").is_some());
    items
}

async fn a_fault_at_any_call_of_a_window_loses_and_repeats_nothing(scene: &Scene) {
    let ids = users(scene).await;
    let (mut taken, mut left) = (0, 0);
    for strike in [Strike::Before, Strike::After] {
        // Finding the shard is two calls, leasing it one; then come the transactions.
        for skip in 2..6 {
            take_one_each(scene, &ids).await;
            taken += 1;
            scene.watch.fail_once(skip, strike);
            // Each dies at its fault, and another one goes on, which reads in other chunks.
            eventually(async || {
                let mut dies = Aggregator::new(scene, "a").await;
                count(&mut dies, 30 + skip as usize).await.ok();
                (!scene.watch.is_planned()).then_some(())
            })
            .await;
            left += checkpoints(scene).await.len();
        }
    }
    assert!(left >= 3, "windows were left partly committed: {left}");
    let mut last = Aggregator::new(scene, "a").await;
    all_used(scene, &mut last, taken).await;
}

async fn two_instances_that_count_one_window_count_it_once(scene: &Scene) {
    let ids = users(scene).await;
    // Both think that the shard is theirs: they have the same name.
    let mut one = Aggregator::new(scene, "a").await;
    let mut two = Aggregator::new(scene, "a").await;
    for round in 0..6 {
        take_one_each(scene, &ids).await;
        // They may meet at the same items, and end their windows at other changes.
        let (left, right) =
            tokio::join!(one.count_window(ALL, 50), two.count_window(40 + round, 20));
        drop((left, right));
    }
    // Whichever of them holds the shard; a third one of their name takes it.
    let mut three = Aggregator::new(scene, "a").await;
    all_used(scene, &mut three, 6).await;
    for other in [&mut one, &mut two] {
        assert_eq!(other.run().await.unwrap(), 0);
    }
}

async fn a_window_left_by_one_instance_is_completed_by_another(scene: &Scene) {
    let ids = users(scene).await;
    let mut taken = 0;
    // One dies after each of its transactions but the last.
    for written in 0..2 {
        let mut one = Aggregator::new(scene, "one").await;
        count(&mut one, 100).await.unwrap();
        take_one_each(scene, &ids).await;
        eventually(async || {
            scene.watch.fail_once(written, Strike::After);
            one.count_window(ALL, 100).await.ok();
            scene.watch.cancel();
            (checkpoints(scene).await.len() == 1).then_some(())
        })
        .await;
        // Later changes do not belong to the window.
        take_one_each(scene, &ids).await;
        taken += 2;
        let mut two = Aggregator::new(scene, "two").await;
        assert!(two.read_window(1, 10).await.unwrap().is_none(), "the lease is the other's");
        scene.clock.advance_ms(LEASE_MS + 1);
        let mut two = Aggregator::new(scene, "two").await;
        assert!(two.count_window(1, 7).await.unwrap().is_some());
        assert!(checkpoints(scene).await.is_empty(), "all of it, whatever the bound");
        assert_eq!(one.count_window(ALL, 100).await.unwrap(), None, "the lease is the other's now");
        scene.clock.advance_ms(LEASE_MS + 1);
    }
    let mut last = Aggregator::new(scene, "three").await;
    all_used(scene, &mut last, taken).await;
}
