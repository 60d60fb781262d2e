//! Consumers of a feed: each change is committed by one instance, whoever takes over.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use weir_table::clock::Clock;
use weir_table::expr::add;
use weir_table::feed::{
    Change, Consumer, FeedWindow, LEASE_MS, POSITIONS_TABLE, Position, positions_spec,
};
use weir_table::{AnyBackend, Write};

use crate::fixture::{Fixture, Table, fault, key, row};

contract! {
    a_consumer_gets_every_change_once,
    an_uncommitted_window_is_returned_again,
    a_page_has_at_most_what_was_requested,
    a_window_counts_once_with_its_checkpoint,
    a_refused_checkpoint_undoes_the_count,
    a_successor_continues_at_the_position,
    a_lease_keeps_other_instances_away,
    a_lapsed_lease_is_taken_over,
    a_commit_after_the_takeover_is_refused,
    two_instances_share_the_work,
    consumers_of_other_names_each_get_every_change,
    a_consumer_from_latest_gets_later_changes,
    a_restart_from_latest_skips_earlier_changes,
    a_consumer_name_with_a_separator_is_refused,
    a_consumer_needs_a_feed,
}

/// How long a feed may take to show a change; Streams need seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// The fed table, and a consumer's clock that stands still until it is moved.
async fn events(t: &Fixture) -> (Table<'_>, Clock) {
    t.table(POSITIONS_TABLE, positions_spec(POSITIONS_TABLE)).await;
    (t.events().await, Clock::manual(1_000_000))
}

fn consumer(t: &Fixture, name: &str, owner: &str, clock: &Clock) -> Consumer<AnyBackend> {
    started(t, name, owner, clock, Position::Oldest)
}

fn started(
    t: &Fixture,
    name: &str,
    owner: &str,
    clock: &Clock,
    start: Position,
) -> Consumer<AnyBackend> {
    let store = t.store.clone();
    Consumer::new(store, "events", name, owner, POSITIONS_TABLE, start, clock.clone()).unwrap()
}

async fn put_some(events: &Table<'_>, sorts: std::ops::Range<i32>) {
    for sk in sorts {
        events.put(row("a", &format!("{sk:02}"))).await;
    }
}

/// The first page of the next window, if there is one.
async fn poll(
    consumer: &mut Consumer<AnyBackend>,
    max: usize,
) -> Option<(FeedWindow, Vec<Change>)> {
    let mut window = consumer.next_window(max, &BTreeSet::new()).await.unwrap()?;
    let changes = consumer.read(&mut window, max).await.unwrap();
    Some((window, changes))
}

/// Polls until there is a window.
async fn next(consumer: &mut Consumer<AnyBackend>, max: usize) -> (FeedWindow, Vec<Change>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = poll(consumer, max).await {
            return found;
        }
        assert!(Instant::now() < deadline, "no change came");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Reads and commits one page.
async fn pass(consumer: &mut Consumer<AnyBackend>, max: usize) -> Vec<String> {
    let (window, changes) = next(consumer, max).await;
    assert!(consumer.commit(window, Vec::new()).await.unwrap());
    sorts(&changes)
}

/// Reads and commits `count` changes, and sees that no more follow.
async fn drain(consumer: &mut Consumer<AnyBackend>, count: usize) -> Vec<String> {
    let mut seen = Vec::new();
    while seen.len() < count {
        seen.extend(pass(consumer, 4).await);
    }
    assert_eq!(seen.len(), count, "{seen:?}");
    assert!(poll(consumer, 4).await.is_none());
    seen
}

fn sorts(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| change.key.sort.as_ref().unwrap().to_string()).collect()
}

async fn a_consumer_gets_every_change_once(t: &Fixture) {
    let (events, clock) = events(t).await;
    put_some(&events, 0..10).await;
    let mut reader = consumer(t, "totals", "one", &clock);
    let seen = drain(&mut reader, 10).await;
    assert_eq!(seen, (0..10).map(|sk| format!("{sk:02}")).collect::<Vec<_>>());
    put_some(&events, 10..12).await;
    assert_eq!(drain(&mut reader, 2).await, ["10", "11"]);
}

async fn an_uncommitted_window_is_returned_again(t: &Fixture) {
    let (events, clock) = events(t).await;
    put_some(&events, 0..3).await;
    let mut reader = consumer(t, "totals", "one", &clock);
    let (_, first) = next(&mut reader, 1).await;
    let (window, again) = next(&mut reader, 1).await;
    assert_eq!(first, again);
    assert!(reader.commit(window, Vec::new()).await.unwrap());
    let (_, second) = next(&mut reader, 1).await;
    assert_eq!(sorts(&second), ["01"]);
}

async fn a_page_has_at_most_what_was_requested(t: &Fixture) {
    let (events, clock) = events(t).await;
    put_some(&events, 0..6).await;
    let mut reader = consumer(t, "totals", "one", &clock);
    assert_eq!(pass(&mut reader, 2).await.len(), 1, "the first change is a window of its own");
    let (_, changes) = next(&mut reader, 2).await;
    assert!((1..=2).contains(&changes.len()), "{changes:?}");
}

/// The write of a consumer that counts changes in a table.
fn counted(changes: &[Change]) -> Vec<Write> {
    let by = i64::try_from(changes.len()).unwrap();
    vec![Write::update("items", key("totals", "changes"), add("count", by))]
}

async fn count(items: &Table<'_>) -> Option<i64> {
    items.get(key("totals", "changes")).await?.i64("count")
}

async fn a_window_counts_once_with_its_checkpoint(t: &Fixture) {
    let (events, clock) = events(t).await;
    let items = t.items().await;
    put_some(&events, 0..6).await;
    // Two of one name, which the lease does not keep apart.
    let mut reader = consumer(t, "totals", "one", &clock);
    let mut twin = consumer(t, "totals", "one", &clock);
    let mut done = 0;
    while done < 6 {
        let (window, changes) = next(&mut reader, 4).await;
        let (same, again) = next(&mut twin, 4).await;
        assert!(reader.commit(window, counted(&changes)).await.unwrap());
        assert!(!twin.commit(same, counted(&again)).await.unwrap());
        done += changes.len();
    }
    assert_eq!(count(&items).await, Some(6));
}

async fn a_refused_checkpoint_undoes_the_count(t: &Fixture) {
    let (events, clock) = events(t).await;
    let items = t.items().await;
    put_some(&events, 0..1).await;
    let mut slow = consumer(t, "totals", "slow", &clock);
    let (late, stale) = next(&mut slow, 4).await;
    clock.advance_ms(LEASE_MS * 2);
    let mut quick = consumer(t, "totals", "quick", &clock);
    let (window, changes) = next(&mut quick, 4).await;
    assert!(quick.commit(window, counted(&changes)).await.unwrap());
    assert!(!slow.commit(late, counted(&stale)).await.unwrap());
    assert_eq!(count(&items).await, Some(1));
}

async fn a_successor_continues_at_the_position(t: &Fixture) {
    let (events, clock) = events(t).await;
    put_some(&events, 0..6).await;
    let mut first = consumer(t, "totals", "one", &clock);
    let done = pass(&mut first, 2).await.len();
    first.release().await.unwrap();
    let mut second = consumer(t, "totals", "two", &clock);
    let rest = drain(&mut second, 6 - done).await;
    assert_eq!(rest.last().unwrap(), "05");
}

async fn a_lease_keeps_other_instances_away(t: &Fixture) {
    let (events, clock) = events(t).await;
    put_some(&events, 0..3).await;
    let mut first = consumer(t, "totals", "one", &clock);
    next(&mut first, 4).await;
    let mut second = consumer(t, "totals", "two", &clock);
    assert!(poll(&mut second, 4).await.is_none());
}

async fn a_lapsed_lease_is_taken_over(t: &Fixture) {
    let (events, clock) = events(t).await;
    put_some(&events, 0..3).await;
    let mut first = consumer(t, "totals", "one", &clock);
    assert_eq!(pass(&mut first, 1).await, ["00"]);
    clock.advance_ms(LEASE_MS * 2);
    let mut second = consumer(t, "totals", "two", &clock);
    assert_eq!(drain(&mut second, 2).await, ["01", "02"]);
}

async fn a_commit_after_the_takeover_is_refused(t: &Fixture) {
    let (events, clock) = events(t).await;
    put_some(&events, 0..2).await;
    let mut first = consumer(t, "totals", "one", &clock);
    let (late, _) = next(&mut first, 4).await;
    clock.advance_ms(LEASE_MS * 2);
    let mut second = consumer(t, "totals", "two", &clock);
    drain(&mut second, 2).await;
    assert!(!first.commit(late, Vec::new()).await.unwrap());
}

async fn two_instances_share_the_work(t: &Fixture) {
    let (events, clock) = events(t).await;
    put_some(&events, 0..12).await;
    let mut readers = ["one", "two"].map(|owner| consumer(t, "totals", owner, &clock));
    let mut seen = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while seen.len() < 12 && Instant::now() < deadline {
        for reader in &mut readers {
            if let Some((window, changes)) = poll(reader, 3).await
                && reader.commit(window, Vec::new()).await.unwrap()
            {
                seen.extend(sorts(&changes));
            }
            // Every other time the shards change hands.
            reader.release().await.unwrap();
        }
        clock.advance_ms(1);
    }
    seen.sort();
    assert_eq!(seen, (0..12).map(|sk| format!("{sk:02}")).collect::<Vec<_>>());
}

async fn consumers_of_other_names_each_get_every_change(t: &Fixture) {
    let (events, clock) = events(t).await;
    put_some(&events, 0..5).await;
    let totals = drain(&mut consumer(t, "totals", "one", &clock), 5).await;
    let search = drain(&mut consumer(t, "search", "one", &clock), 5).await;
    assert_eq!(totals, search);
}

async fn a_consumer_from_latest_gets_later_changes(t: &Fixture) {
    let (events, clock) = events(t).await;
    put_some(&events, 0..3).await;
    drain(&mut consumer(t, "totals", "one", &clock), 3).await;
    let mut reader = started(t, "search", "one", &clock, Position::Latest);
    assert!(poll(&mut reader, 4).await.is_none());
    put_some(&events, 3..5).await;
    assert_eq!(drain(&mut reader, 2).await, ["03", "04"]);
}

async fn a_restart_from_latest_skips_earlier_changes(t: &Fixture) {
    let (events, clock) = events(t).await;
    put_some(&events, 0..4).await;
    drain(&mut consumer(t, "search", "one", &clock), 4).await;
    let mut reader = consumer(t, "totals", "one", &clock);
    next(&mut reader, 1).await;
    reader.restart_from_latest().await.unwrap();
    put_some(&events, 4..6).await;
    assert_eq!(drain(&mut reader, 2).await, ["04", "05"]);
}

async fn a_consumer_name_with_a_separator_is_refused(t: &Fixture) {
    for name in ["", "a#b", "a/b"] {
        let store = t.store.clone();
        let made = Consumer::new(
            store,
            "events",
            name,
            "one",
            POSITIONS_TABLE,
            Position::Oldest,
            Clock::System,
        );
        assert_eq!(fault(made.map(|_| ())), "consumer");
    }
}

async fn a_consumer_needs_a_feed(t: &Fixture) {
    t.table(POSITIONS_TABLE, positions_spec(POSITIONS_TABLE)).await;
    t.items().await;
    let store = t.store.clone();
    let mut reader = Consumer::new(
        store,
        "items",
        "totals",
        "one",
        POSITIONS_TABLE,
        Position::Oldest,
        Clock::System,
    )
    .unwrap();
    assert_eq!(fault(reader.next_window(1, &BTreeSet::new()).await.map(|_| ())), "table");
}
