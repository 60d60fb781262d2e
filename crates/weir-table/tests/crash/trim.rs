//! How long the log is kept: for its consumers, within bounds, and always for the store itself.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};
use weir_table::feed::{Consumer, POSITIONS_TABLE, Position};
use weir_table::{Error, Item, Query, Store, Write};
use weir_testkit::eventually;

use crate::check;
use crate::disk::TestDisk;
use crate::folder::{self, Folder};
use crate::workload::{self, MAIN};

fn options(data: &Path) -> Options {
    let mut options = Options::new(data);
    options.segment_bytes_max = 4_000;
    options.checkpoint_interval = Duration::from_secs(600);
    options.sweep_interval = None;
    options
}

async fn write(store: &Store<Embedded>, numbers: std::ops::Range<u64>) {
    for n in numbers {
        let item =
            Item::new().with("PK", "p").with("SK", format!("{n:05}")).with("pad", "x".repeat(100));
        store.write(Write::put(MAIN, item).flushed()).await.unwrap();
    }
}

async fn stand_at(store: &Store<Embedded>, consumer: &str, position: &Position) {
    let Position::After(position) = position else { panic!("{position:?}") };
    let item = workload::consumer(consumer).with("position", position.as_str());
    store.write(Write::put(POSITIONS_TABLE, item)).await.unwrap();
}

/// Reads `count` changes from `from`; returns where to go on.
async fn read(store: &Store<Embedded>, from: &Position, count: usize) -> Result<Position, Error> {
    let (mut from, mut left) = (from.clone(), count);
    while left > 0 {
        let page = store.feed_read(MAIN, "log", &from, left.min(100)).await?;
        assert!(!page.changes.is_empty(), "{left} of {count} are missing");
        left -= page.changes.len();
        from = page.next;
    }
    Ok(from)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_is_retained_until_every_consumer_has_read_it() {
    let folder = Folder::new();
    let data = folder.data();
    let store = workload::open(options(&data)).unwrap();
    // Its one consumer has read nothing.
    workload::prepare(&store).await.unwrap();
    write(&store, 0..300).await;
    store.backend().checkpoint().await.unwrap();
    let all = folder::segments(&data).len();
    assert!(all > 10);
    let middle = read(&store, &Position::Oldest, 150).await.unwrap();
    stand_at(&store, "checker", &middle).await;
    let slow = read(&store, &Position::Oldest, 50).await.unwrap();
    stand_at(&store, "slow", &slow).await;
    store.backend().checkpoint().await.unwrap();
    // Where consumers stand counts once it is in the store.
    store.backend().checkpoint().await.unwrap();
    let left = folder::segments(&data).len();
    assert!(left < all, "{left} of {all} are left");
    read(&store, &slow, 250).await.unwrap();
    let end = read(&store, &middle, 150).await.unwrap();
    stand_at(&store, "slow", &end).await;
    stand_at(&store, "checker", &end).await;
    store.backend().checkpoint().await.unwrap();
    store.backend().checkpoint().await.unwrap();
    assert!(folder::segments(&data).len() <= 2);
    let trimmed = read(&store, &slow, 1).await;
    assert!(matches!(trimmed, Err(Error::Trimmed)), "{trimmed:?}");
    // A consumer that is up to date goes on, also in another process.
    write(&store, 300..310).await;
    drop(store);
    let store = workload::open(options(&data)).unwrap();
    read(&store, &end, 10).await.unwrap();
    assert_eq!(check::scan(&store, Query::scan(MAIN)).await.len(), 310);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_too_far_behind_gets_a_trimmed_error() {
    let folder = Folder::new();
    let data = folder.data();
    let mut options = options(&data);
    options.feed_bytes_max = 20_000;
    let store = workload::open(options.clone()).unwrap();
    workload::prepare(&store).await.unwrap();
    write(&store, 0..50).await;
    let early = read(&store, &Position::Oldest, 10).await.unwrap();
    stand_at(&store, "checker", &early).await;
    write(&store, 50..500).await;
    store.backend().checkpoint().await.unwrap();
    assert!(store.backend().stats().log_bytes <= 24_000);
    let behind = store.feed_read(MAIN, "log", &early, 10).await;
    assert!(matches!(behind, Err(Error::Trimmed)), "{behind:?}");
    // It does its full pass and begins anew.
    let page = store.feed_read(MAIN, "log", &Position::Oldest, 10).await;
    assert_eq!(page.unwrap().changes.len(), 10);
    let latest = store.feed_read(MAIN, "log", &Position::Latest, 10).await;
    let latest = latest.unwrap().next;
    write(&store, 500..520).await;
    read(&store, &latest, 20).await.unwrap();
    drop(store);
    let store = workload::open(options).unwrap();
    assert_eq!(check::scan(&store, Query::scan(MAIN)).await.len(), 520);
    assert!(store.backend().verify().await.unwrap().is_sound());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_part_of_the_log_needed_for_replay_is_never_trimmed() {
    let folder = Folder::new();
    let data = folder.data();
    let mut options = options(&data);
    options.feed_bytes_max = 0;
    options.feed_age_max = Duration::ZERO;
    // Folds all the time, and makes the store durable at every eighth fold only.
    options.checkpoint_interval = Duration::from_millis(2);
    let mut written = 0;
    for round in 0..6 {
        let store = workload::open(options.clone()).unwrap();
        workload::prepare(&store).await.unwrap();
        write(&store, written..written + 150).await;
        written += 150;
        store.backend().close().await.unwrap();
        drop(store);
        // The store as it was made durable last, and a log that went on.
        let old = folder.path().join("old");
        folder::copy(&data.join("store"), &old);
        let mut still = options.clone();
        still.checkpoint_interval = Duration::from_secs(600);
        let store = workload::open(still).unwrap();
        write(&store, written..written + 150).await;
        written += 150;
        drop(store);
        std::fs::remove_dir_all(data.join("store")).unwrap();
        std::fs::rename(&old, data.join("store")).unwrap();
        let store = workload::open(options.clone()).unwrap();
        let there = check::scan(&store, Query::scan(MAIN)).await.len();
        assert_eq!(there as u64, written, "round {round}");
    }
}

/// Options with a clock that the test moves, and their clock.
fn clocked(data: &Path) -> (Options, Clock) {
    let clock = Clock::manual(1_900_000_000_000);
    let mut options = options(data);
    options.clock = clock.clone();
    // The files are younger than the clock.
    options.feed_age_max = Duration::from_secs(365 * 24 * 3600 * 100);
    (options, clock)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_reads_nothing_for_long_does_not_pin_the_log() {
    let folder = Folder::new();
    let data = folder.data();
    let (options, clock) = clocked(&data);
    let idle_ms = u64::try_from(options.feed_idle_max.as_millis()).unwrap();
    let store = workload::open(options).unwrap();
    // It registers a consumer that never reads.
    workload::prepare(&store).await.unwrap();
    let mut active = consumer(&store, &clock);
    let none = BTreeSet::new();
    let window = active.next_window(100, &none).await.unwrap();
    assert!(window.is_none(), "it begins at the latest change");
    write(&store, 0..300).await;
    store.backend().checkpoint().await.unwrap();
    let all = folder::segments(&data).len();
    assert!(all > 10, "the log waits for both");
    let early = read(&store, &Position::Oldest, 1).await.unwrap();
    clock.advance_ms(idle_ms + 1);
    // The active one renews its lease, and reads nothing yet.
    active.next_window(100, &none).await.unwrap();
    store.backend().checkpoint().await.unwrap();
    store.backend().checkpoint().await.unwrap();
    let left = folder::segments(&data).len();
    assert!((10..=all).contains(&left), "{left} of {all}: the log waits for the active one");
    while let Some(mut window) = active.next_window(100, &none).await.unwrap() {
        while !active.read(&mut window, 100).await.unwrap().is_empty() {}
        assert!(active.commit(window, Vec::new()).await.unwrap());
    }
    store.backend().checkpoint().await.unwrap();
    store.backend().checkpoint().await.unwrap();
    assert!(folder::segments(&data).len() <= 2, "the log waits for nobody");
    let trimmed = read(&store, &early, 1).await;
    assert!(matches!(trimmed, Err(Error::Trimmed)), "{trimmed:?}");
    let lags = store.backend().consumer_lags();
    let behind = |name: &str| lags.iter().find(|lag| lag.consumer == name).unwrap().commits;
    assert!(behind("checker") > 300 && behind("active") < 50, "{lags:?}");
}

fn consumer(store: &Store<Embedded>, clock: &Clock) -> Consumer<Embedded> {
    let (start, clock) = (Position::Latest, clock.clone());
    Consumer::new(store.clone(), MAIN, "active", "me", POSITIONS_TABLE, start, clock).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_are_waited_for_after_a_long_stop_of_the_store() {
    let folder = Folder::new();
    let data = folder.data();
    let (options, clock) = clocked(&data);
    let idle_ms = u64::try_from(options.feed_idle_max.as_millis()).unwrap();
    let store = workload::open(options.clone()).unwrap();
    workload::prepare(&store).await.unwrap();
    write(&store, 0..100).await;
    let early = read(&store, &Position::Oldest, 1).await.unwrap();
    store.backend().close().await.unwrap();
    drop(store);
    clock.advance_ms(10 * idle_ms);
    let store = workload::open(options).unwrap();
    store.backend().checkpoint().await.unwrap();
    read(&store, &early, 99).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_store_trims_its_log() {
    let folder = Folder::new();
    let data = folder.data();
    let mut options = options(&data);
    options.checkpoint_interval = Duration::from_millis(10);
    let store = workload::open(options).unwrap();
    workload::prepare(&store).await.unwrap();
    write(&store, 0..300).await;
    let latest = store.feed_read(MAIN, "log", &Position::Latest, 1).await.unwrap().next;
    stand_at(&store, "checker", &latest).await;
    // Nothing is written from here on, and nobody asks for a checkpoint.
    eventually(async || (folder::segments(&data).len() <= 2).then_some(())).await;
    assert_eq!(check::scan(&store, Query::scan(MAIN)).await.len(), 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_cannot_be_removed_is_removed_later() {
    let folder = Folder::new();
    let data = folder.data();
    let disk = TestDisk::new();
    let mut options = options(&data);
    options.feed_bytes_max = 0;
    options.disk = Arc::new(disk.clone());
    let store = workload::open(options.clone()).unwrap();
    workload::prepare(&store).await.unwrap();
    disk.keep_files(true);
    write(&store, 0..300).await;
    store.backend().checkpoint().await.unwrap();
    assert!(folder::segments(&data).len() > 10);
    write(&store, 300..310).await;
    let page = store.feed_read(MAIN, "log", &Position::Oldest, 10).await.unwrap();
    assert_eq!(page.changes.len(), 10, "what is there can be read");
    disk.keep_files(false);
    store.backend().checkpoint().await.unwrap();
    assert!(folder::segments(&data).len() <= 2);
    drop(store);
    let store = workload::open(options).unwrap();
    assert_eq!(check::scan(&store, Query::scan(MAIN)).await.len(), 310);
}
