//! Shards that split, end, vanish and are trimmed.

use weir_table::Error;
use weir_table::clock::Clock;
use weir_table::embedded::{self, Embedded};
use weir_table::feed::Position;

use crate::places::{self, Place, consumer, drain, numbers};
use crate::scripted::{Feed, Scripted};

async fn scripted() -> (Place<Scripted>, Feed, Clock) {
    let folder = tempfile::tempdir().unwrap();
    let options = embedded::Options::new(folder.path());
    let feed = Feed::default();
    let backend = Scripted { tables: Embedded::open(options).unwrap(), feed: feed.clone() };
    let place = places::prepared(backend, Some(folder)).await;
    (place, feed, Clock::manual(1_000_000))
}

#[tokio::test]
async fn a_parent_is_read_to_its_end_before_its_children() {
    let (place, feed, clock) = scripted().await;
    feed.add("1-parent", None);
    feed.change("1-parent", 0..10);
    feed.end("1-parent");
    feed.add("0-child", Some("1-parent"));
    feed.change("0-child", 10..15);
    feed.end("0-child");
    feed.add("0-grandchild", Some("0-child"));
    feed.change("0-grandchild", 15..20);
    let mut consumer = consumer(&place.store, "a", Position::Oldest, &clock);
    assert_eq!(drain(&mut consumer).await, (0..20).collect::<Vec<_>>());
    feed.change("0-grandchild", 20..21);
    assert_eq!(drain(&mut consumer).await, [20]);
}

#[tokio::test]
async fn a_child_waits_while_another_instance_reads_its_parent() {
    let (place, feed, clock) = scripted().await;
    feed.add("parent", None);
    feed.change("parent", 0..2);
    feed.end("parent");
    feed.add("child", Some("parent"));
    feed.change("child", 2..4);
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut b = consumer(&place.store, "b", Position::Oldest, &clock);
    let of_parent = a.poll(10).await.unwrap().unwrap();
    assert!(b.poll(10).await.unwrap().is_none());
    assert!(a.commit(of_parent).await.unwrap());
    clock.advance_ms(10_001);
    assert_eq!(numbers(&b.poll(10).await.unwrap().unwrap().changes), [2, 3]);
}

#[tokio::test]
async fn shards_have_their_turns() {
    let (place, feed, clock) = scripted().await;
    for shard in ["a", "b", "c"] {
        feed.add(shard, None);
        feed.change(shard, 0..50);
    }
    let mut consumer = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut order = Vec::new();
    for _ in 0..6 {
        let batch = consumer.poll(5).await.unwrap().unwrap();
        order.push(batch.shard.clone());
        assert!(consumer.commit(batch).await.unwrap());
    }
    assert_eq!(order, ["a", "b", "c", "a", "b", "c"]);
}

#[tokio::test]
async fn from_now_on_reads_shards_that_come_later_whole() {
    let (place, feed, clock) = scripted().await;
    feed.add("old", None);
    feed.change("old", 0..5);
    feed.end("old");
    feed.add("open", Some("old"));
    feed.change("open", 5..8);
    let mut consumer = consumer(&place.store, "a", Position::Latest, &clock);
    assert!(consumer.poll(10).await.unwrap().is_none());
    feed.change("open", 8..10);
    feed.end("open");
    feed.add("new", Some("open"));
    feed.change("new", 10..12);
    clock.advance_ms(10_001);
    assert_eq!(drain(&mut consumer).await, [8, 9, 10, 11]);
}

#[tokio::test]
async fn a_consumer_left_behind_is_told_and_starts_anew() {
    let (place, feed, clock) = scripted().await;
    feed.add("log", None);
    feed.change("log", 0..10);
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let batch = a.poll(2).await.unwrap().unwrap();
    assert!(a.commit(batch).await.unwrap());
    feed.trim("log", 5);
    for _ in 0..2 {
        let error = a.poll(2).await.unwrap_err();
        assert!(matches!(error, Error::Trimmed), "{error:?}");
    }
    a.restart_from_latest().await.unwrap();
    // What changes during the full pass is not lost.
    feed.change("log", 10..13);
    assert_eq!(drain(&mut a).await, [10, 11, 12]);
}

#[tokio::test]
async fn an_ended_shard_that_is_listed_again_is_not_read_again() {
    let (place, feed, clock) = scripted().await;
    feed.add("a", None);
    feed.change("a", 0..3);
    feed.end("a");
    feed.add("b", Some("a"));
    let mut consumer = consumer(&place.store, "a", Position::Oldest, &clock);
    assert_eq!(drain(&mut consumer).await, [0, 1, 2]);
    feed.remove("a");
    clock.advance_ms(60_000);
    assert_eq!(drain(&mut consumer).await, Vec::<i64>::new());
    feed.add("a", None);
    feed.change("a", 0..3);
    feed.end("a");
    clock.advance_ms(60_000);
    assert_eq!(drain(&mut consumer).await, Vec::<i64>::new());
}

#[tokio::test]
async fn only_one_of_two_restarts_at_once_wins() {
    let (place, feed, clock) = scripted().await;
    feed.add("log", None);
    feed.change("log", 0..3);
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut b = consumer(&place.store, "b", Position::Oldest, &clock);
    assert!(a.poll(1).await.unwrap().is_some());
    let (first, second) = tokio::join!(a.restart_from_oldest(), b.restart_from_oldest());
    for done in [&first, &second] {
        if let Err(error) = done {
            assert!(error.is_conflict(), "{error:?}");
        }
    }
    assert!(first.is_ok() || second.is_ok());
    clock.advance_ms(60_000);
    let mut seen = drain(&mut a).await;
    seen.extend(drain(&mut b).await);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [0, 1, 2]);
}
