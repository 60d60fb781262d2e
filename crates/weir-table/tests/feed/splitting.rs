//! Shards that split, end, vanish and are trimmed.

use std::collections::BTreeSet;

use weir_table::Error;
use weir_table::clock::Clock;
use weir_table::embedded::{self, Embedded};
use weir_table::feed::Position;

use crate::scripted::{Feed, Scripted};
use crate::setup::{self, TestStore, consumer, drain, numbers, read};

async fn scripted() -> (TestStore<Scripted>, Feed, Clock) {
    let folder = tempfile::tempdir().unwrap();
    let options = embedded::Options::new(folder.path());
    let feed = Feed::default();
    let backend = Scripted { tables: Embedded::open(options).unwrap(), feed: feed.clone() };
    let place = setup::prepared(backend, Some(folder)).await;
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
    for _ in 0..2 {
        let (of_parent, _) = read(&mut a, 9).await.unwrap();
        assert!(read(&mut b, 9).await.is_none());
        assert!(a.commit(of_parent, Vec::new()).await.unwrap());
    }
    clock.advance_ms(10_001);
    assert_eq!(numbers(&read(&mut b, 9).await.unwrap().1), [2]);
    assert_eq!(drain(&mut b).await, [2, 3]);
}

#[tokio::test]
async fn shards_are_read_in_turn() {
    let (place, feed, clock) = scripted().await;
    for shard in ["a", "b", "c"] {
        feed.add(shard, None);
        feed.change(shard, 0..50);
    }
    let mut consumer = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut order = Vec::new();
    for _ in 0..6 {
        let (window, _) = read(&mut consumer, 5).await.unwrap();
        order.push(window.shard().to_owned());
        assert!(consumer.commit(window, Vec::new()).await.unwrap());
    }
    assert_eq!(order, ["a", "b", "c", "a", "b", "c"]);
}

#[tokio::test]
async fn a_consumer_from_latest_reads_later_shards_from_their_beginning() {
    let (place, feed, clock) = scripted().await;
    feed.add("old", None);
    feed.change("old", 0..5);
    feed.end("old");
    feed.add("open", Some("old"));
    feed.change("open", 5..8);
    let mut consumer = consumer(&place.store, "a", Position::Latest, &clock);
    assert!(read(&mut consumer, 9).await.is_none());
    feed.change("open", 8..10);
    feed.end("open");
    feed.add("new", Some("open"));
    feed.change("new", 10..12);
    clock.advance_ms(10_001);
    assert_eq!(drain(&mut consumer).await, [8, 9, 10, 11]);
}

#[tokio::test]
async fn a_trimmed_consumer_gets_an_error_and_restarts() {
    let (place, feed, clock) = scripted().await;
    feed.add("log", None);
    feed.change("log", 0..10);
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let (window, _) = read(&mut a, 2).await.unwrap();
    assert!(a.commit(window, Vec::new()).await.unwrap());
    feed.trim("log", 5);
    for _ in 0..2 {
        let error = a.next_window(2, &BTreeSet::new()).await.unwrap_err();
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
    assert!(read(&mut a, 1).await.is_some());
    let (first, second) = tokio::join!(a.restart_from_latest(), b.restart_from_latest());
    for done in [&first, &second] {
        if let Err(error) = done {
            assert!(error.is_conflict(), "{error:?}");
        }
    }
    assert!(first.is_ok() || second.is_ok());
    feed.change("log", 3..6);
    clock.advance_ms(60_000);
    let mut seen = drain(&mut a).await;
    seen.extend(drain(&mut b).await);
    seen.sort_unstable();
    assert_eq!(seen, [3, 4, 5]);
}
