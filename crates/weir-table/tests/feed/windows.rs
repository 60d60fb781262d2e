//! Windows: a partly committed window is resumed exactly where it stopped.

use std::collections::BTreeSet;

use weir_table::clock::Clock;
use weir_table::embedded::{self, Embedded};
use weir_table::expr::{add, attr};
use weir_table::feed::{Consumer, FeedWindow, LEASE_MS, POSITIONS_TABLE, Position};
use weir_table::{Backend, Error, Get, Item, Key, Query, Store, Write};

use crate::scripted::{Feed, Scripted};
use crate::setup::{self, OTHER, TestStore, consumer, numbers, order};

on_both!(
    a_window_is_written_once_in_groups,
    a_window_that_another_instance_committed_is_refused,
    writes_that_cannot_be_made_again_are_refused,
);

/// The writes that count numbers: three items for each.
fn writes(numbers: &[i64]) -> Vec<Write> {
    let count = |number: &i64, part: i64| {
        let key = Key::partition(format!("{number}-{part}"));
        Write::update(OTHER, key, add("count", 1)).flushed()
    };
    numbers.iter().flat_map(|number| (0..3).map(move |part| count(number, part))).collect()
}

/// Reads a window of about `max` changes.
async fn read<B: Backend>(
    consumer: &mut Consumer<B>,
    max: usize,
) -> Option<(FeedWindow, Vec<i64>)> {
    let (window, changes) = setup::read(consumer, max).await?;
    Some((window, numbers(&changes)))
}

async fn counted<B: Backend>(store: &Store<B>, number: i64) -> Vec<Option<i64>> {
    let mut counts = Vec::new();
    for part in 0..3 {
        let get = Get::new(OTHER, Key::partition(format!("{number}-{part}")));
        counts.push(store.get(&get).await.unwrap().and_then(|item| item.i64("count")));
    }
    counts
}

async fn shards<B: Backend>(store: &Store<B>) -> Vec<Item> {
    let query = Query::partition(POSITIONS_TABLE, "FEED#orders#totals").begins_with("SHARD#");
    store.query(&query).await.unwrap().items
}

async fn a_window_is_written_once_in_groups<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..80).await;
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut seen = Vec::new();
    while let Some((window, numbers)) = read(&mut a, 1_000).await {
        assert!(a.commit(window, writes(&numbers)).await.unwrap());
        seen.push(numbers);
    }
    assert_eq!(seen.concat(), (0..80).collect::<Vec<_>>());
    assert_eq!(seen[0], [0], "the first change is a window of its own");
    for number in 0..80 {
        assert_eq!(counted(&place.store, number).await, [Some(1); 3]);
    }
    let shards = shards(&place.store).await;
    assert!(shards.iter().all(|item| item.s("until").is_none() && item.s("through").is_none()));
}

async fn a_window_that_another_instance_committed_is_refused<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..1).await;
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let (window, numbers) = read(&mut a, 10).await.unwrap();
    assert!(a.commit(window, writes(&numbers)).await.unwrap());
    order(&place.store, 1..41).await;
    // Both have read the same; one of them has read more of it.
    let (mine, seen) = read(&mut a, 1_000).await.unwrap();
    clock.advance_ms(LEASE_MS + 1);
    let mut b = consumer(&place.store, "b", Position::Oldest, &clock);
    let (theirs, some) = read(&mut b, 20).await.unwrap();
    assert!((some.len(), seen.len()) < (40, 41));
    assert!(b.commit(theirs, writes(&some)).await.unwrap());
    assert!(!a.commit(mine, writes(&seen)).await.unwrap());
    while let Some((window, numbers)) = read(&mut b, 1_000).await {
        assert!(b.commit(window, writes(&numbers)).await.unwrap());
    }
    for number in 0..41 {
        assert_eq!(counted(&place.store, number).await, [Some(1); 3]);
    }
}

async fn writes_that_cannot_be_made_again_are_refused<B: Backend>(place: TestStore<B>) {
    let clock = Clock::manual(1_000_000);
    order(&place.store, 0..3).await;
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let write = || Write::update(OTHER, Key::partition("x"), add("count", 1));
    let put = Write::put(OTHER, Item::new().with("id", "x"));
    let conditional = write().when(attr("count").absent());
    let many = (0..40).collect::<Vec<_>>();
    for (bad, field) in [
        (vec![conditional], "condition"),
        (vec![Write::check(OTHER, Key::partition("x"), attr("y").absent())], "condition"),
        (vec![write(), put], "writes"),
        (writes(&many), "writes"),
    ] {
        let (window, seen) = read(&mut a, 10).await.unwrap();
        assert_eq!(seen, [0], "it is returned again");
        let error = a.commit(window, bad).await.unwrap_err();
        assert_eq!(error.field(), Some(field), "{error}");
    }
    let nothing = Get::new(OTHER, Key::partition("x"));
    assert_eq!(place.store.get(&nothing).await.unwrap(), None);
}

async fn scripted() -> (TestStore<Scripted>, Feed, Clock) {
    let folder = tempfile::tempdir().unwrap();
    let feed = Feed::default();
    let tables = Embedded::open(embedded::Options::new(folder.path())).unwrap();
    let place = setup::prepared(Scripted { tables, feed: feed.clone() }, Some(folder)).await;
    (place, feed, Clock::manual(1_000_000))
}

/// Commits the first two groups of a window, and not the third.
async fn leave_partly_committed(place: &TestStore<Scripted>, feed: &Feed, clock: &Clock) {
    feed.add("log", None);
    feed.change("log", 0..1);
    let mut a = consumer(&place.store, "a", Position::Oldest, clock);
    let (window, numbers) = read(&mut a, 10).await.unwrap();
    assert!(a.commit(window, writes(&numbers)).await.unwrap());
    feed.change("log", 1..81);
    let (window, numbers) = read(&mut a, 1_000).await.unwrap();
    // The last item of the last group, which is last in order, cannot be written.
    let mut all = writes(&numbers);
    let text = Item::new().with("id", "zzz").with("count", "none");
    place.store.write(Write::put(OTHER, text)).await.unwrap();
    all.push(Write::update(OTHER, Key::partition("zzz"), add("count", 1)));
    a.commit(window, all).await.unwrap_err();
    let item = &shards(&place.store).await[0];
    assert_eq!((item.s("position"), item.s("until")), (Some("1"), Some("81")));
}

#[tokio::test]
async fn a_resumed_window_writes_only_what_is_missing() {
    let (place, feed, clock) = scripted().await;
    leave_partly_committed(&place, &feed, &clock).await;
    feed.change("log", 81..90);
    clock.advance_ms(LEASE_MS + 1);
    let mut b = consumer(&place.store, "b", Position::Oldest, &clock);
    let (window, numbers) = read(&mut b, 1).await.unwrap();
    assert!(window.is_resumed());
    assert_eq!(numbers, (1..81).collect::<Vec<_>>());
    assert!(b.commit(window, writes(&numbers)).await.unwrap());
    let (window, numbers) = read(&mut b, 100).await.unwrap();
    assert_eq!((window.is_resumed(), numbers), (false, (81..90).collect()));
    for number in 0..81 {
        assert_eq!(counted(&place.store, number).await, [Some(1); 3]);
    }
}

#[tokio::test]
async fn the_checkpoint_of_a_trimmed_window_goes_with_a_restart() {
    let (place, feed, clock) = scripted().await;
    leave_partly_committed(&place, &feed, &clock).await;
    feed.trim("log", 40);
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut window = a.next_window(7, &BTreeSet::new()).await.unwrap().unwrap();
    let error = a.read(&mut window, 7).await.unwrap_err();
    assert!(matches!(error, Error::Trimmed), "{error:?}");
    a.restart_from_latest().await.unwrap();
    let item = &shards(&place.store).await[0];
    assert_eq!((item.s("until"), item.s("through")), (None, None));
    feed.change("log", 81..84);
    let (window, numbers) = read(&mut a, 100).await.unwrap();
    assert_eq!(numbers, [81, 82, 83]);
    assert!(a.commit(window, writes(&numbers)).await.unwrap());
}

#[tokio::test]
async fn a_renewed_lease_leaves_the_checkpoint_alone() {
    let (place, feed, clock) = scripted().await;
    leave_partly_committed(&place, &feed, &clock).await;
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    for _ in 0..3 {
        assert!(a.next_window(7, &BTreeSet::new()).await.unwrap().unwrap().is_resumed());
        let item = &shards(&place.store).await[0];
        assert_eq!((item.s("position"), item.s("until")), (Some("1"), Some("81")));
        clock.advance_ms(LEASE_MS * 2 / 3);
    }
}

#[tokio::test]
async fn windows_end_with_their_shards_and_children_follow() {
    let (place, feed, clock) = scripted().await;
    feed.add("parent", None);
    feed.change("parent", 0..50);
    feed.end("parent");
    feed.add("child", Some("parent"));
    feed.change("child", 50..60);
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let mut seen = Vec::new();
    while let Some((window, numbers)) = read(&mut a, 1_000).await {
        assert!(a.commit(window, writes(&numbers)).await.unwrap());
        seen.extend(numbers);
    }
    assert_eq!(seen, (0..60).collect::<Vec<_>>());
}

#[tokio::test]
async fn skipped_shards_are_left_out() {
    let (place, feed, clock) = scripted().await;
    for shard in ["a", "b"] {
        feed.add(shard, None);
        feed.change(shard, 0..5);
    }
    let mut a = consumer(&place.store, "a", Position::Oldest, &clock);
    let passed = BTreeSet::from(["a".to_owned()]);
    let window = a.next_window(7, &passed).await.unwrap().unwrap();
    assert_eq!(window.shard(), "b");
    let both = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
    assert!(a.next_window(7, &both).await.unwrap().is_none());
}
