//! The sweeper: what has expired goes, what was given more time stays.

use std::sync::Arc;

use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options, WriteState};
use weir_table::expr::set;
use weir_table::feed::{Change, Position};
use weir_table::{Error, Get, Item, Key, Kind, Query, Store, TableSpec, Write};
use weir_testkit::eventually_eq;

use crate::check;
use crate::disk::TestDisk;
use crate::folder::Folder;
use crate::workload::{self, MAIN};

const MIB: u64 = 1024 * 1024;
const NOW: u64 = 1_770_000_000;
const FIVE_YEARS: u64 = 5 * 365 * 24 * 60 * 60;

struct Fixture {
    _folder: Folder,
    clock: Clock,
    store: Store<Embedded>,
}

async fn fixture() -> Fixture {
    let folder = Folder::new();
    let mut options = Options::new(folder.data());
    options.sweep_interval = None;
    options.clock = Clock::manual(NOW * 1000);
    let clock = options.clock.clone();
    let store = workload::open(options).unwrap();
    workload::prepare(&store).await.unwrap();
    Fixture { _folder: folder, clock, store }
}

fn item(name: &str, ttl: u64) -> Item {
    Item::new().with("PK", "p").with("SK", name).with("G1", "a").with("G1S", 1).with("ttl", ttl)
}

fn key(name: &str) -> Key {
    Key::new("p", name)
}

async fn changes(store: &Store<Embedded>) -> Vec<Change> {
    let page = store.feed_read(MAIN, "log", &Position::Oldest, 1000).await;
    page.unwrap().changes
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_items_are_removed_and_marked_as_expired_in_the_feed() {
    for folded in [false, true] {
        let Fixture { clock, store, .. } = &fixture().await;
        for (name, ttl) in [("past", NOW - 1), ("now", NOW), ("soon", NOW + 10)] {
            store.write(Write::put(MAIN, item(name, ttl))).await.unwrap();
        }
        if folded {
            store.backend().checkpoint().await.unwrap();
        }
        assert_eq!(store.backend().sweep().await.unwrap(), 2);
        assert_eq!(store.backend().sweep().await.unwrap(), 0);
        let left = check::scan(store, Query::scan(MAIN)).await;
        assert_eq!(left, [item("soon", NOW + 10)]);
        let indexed = check::scan(store, Query::scan(MAIN).index("all")).await;
        assert_eq!(indexed, left);
        let removed: Vec<Change> = changes(store).await.drain(3..).collect();
        assert_eq!(removed.len(), 2);
        for change in &removed {
            assert!(change.expired && change.new.is_none() && change.old.is_some());
        }
        clock.advance_ms(10_000);
        assert_eq!(store.backend().sweep().await.unwrap(), 1);
        assert!(store.backend().verify().await.unwrap().is_sound());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_whose_expiry_was_extended_stays() {
    for folded in [false, true] {
        let Fixture { clock, store, .. } = &fixture().await;
        for name in ["extended", "forever", "replaced", "left"] {
            let write = Write::put(MAIN, item(name, NOW + 5));
            store.write(write).await.unwrap();
        }
        if folded {
            store.backend().checkpoint().await.unwrap();
        }
        let extend = Write::update(MAIN, key("extended"), set("ttl", NOW + 100));
        store.write(extend).await.unwrap();
        let forever = weir_table::expr::remove("ttl");
        let forever = Write::update(MAIN, key("forever"), forever);
        store.write(forever).await.unwrap();
        let replaced = Write::put(MAIN, item("replaced", NOW + 50));
        store.write(replaced).await.unwrap();
        clock.advance_ms(20_000);
        assert_eq!(store.backend().sweep().await.unwrap(), 1);
        for (name, there) in
            [("extended", true), ("forever", true), ("replaced", true), ("left", false)]
        {
            let found = store.get(&Get::new(MAIN, key(name))).await.unwrap();
            assert_eq!(found.is_some(), there, "{name}");
        }
        let expired = changes(store).await;
        assert_eq!(expired.iter().filter(|change| change.expired).count(), 1);
        assert!(store.backend().verify().await.unwrap().is_sound());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_of_more_than_five_years_ago_is_taken_for_a_mistake() {
    let Fixture { store, .. } = &fixture().await;
    for (name, ttl) in
        [("zero", 0), ("ancient", NOW - FIVE_YEARS - 1), ("old", NOW - FIVE_YEARS + 1)]
    {
        store.write(Write::put(MAIN, item(name, ttl))).await.unwrap();
    }
    assert_eq!(store.backend().sweep().await.unwrap(), 1);
    let left = check::scan(store, Query::scan(MAIN)).await;
    assert_eq!(left.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_deleted_tables_do_not_stop_the_sweeper() {
    let Fixture { store, .. } = &fixture().await;
    let spec = TableSpec::new("doomed", "PK", Kind::N).ttl("ttl");
    store.create_table(&spec).await.unwrap();
    // More than one sweep takes, and all of them before the one that matters.
    for n in 0..10_100 {
        let item = Item::new().with("PK", n).with("ttl", NOW - 1000);
        store.write(Write::put("doomed", item).flushed()).await.unwrap();
    }
    store.backend().checkpoint().await.unwrap();
    store.delete_table("doomed").await.unwrap();
    store.write(Write::put(MAIN, item("past", NOW - 1))).await.unwrap();
    let swept = [store.backend().sweep().await.unwrap(), store.backend().sweep().await.unwrap()];
    assert_eq!(swept.iter().sum::<u64>(), 1, "{swept:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_sweep_removes_everything_that_has_expired_in_few_commits() {
    const EXPIRED: u64 = 12_000;
    for folded in [false, true] {
        let Fixture { store, .. } = &fixture().await;
        for n in 0..EXPIRED {
            let write = Write::put(MAIN, item(&format!("{n:05}"), NOW - 100 - n % 50)).flushed();
            store.write(write).await.unwrap();
        }
        store.write(Write::put(MAIN, item("stays", NOW + 10))).await.unwrap();
        if folded {
            store.backend().checkpoint().await.unwrap();
        }
        let before = store.backend().stats();
        assert_eq!(store.backend().sweep().await.unwrap(), EXPIRED);
        let after = store.backend().stats();
        assert!(after.last_seq - before.last_seq < EXPIRED / 50, "{after:?}");
        assert_eq!(after.expired_total, EXPIRED);
        assert_eq!(after.sweep_backlog_ms, 0);
        assert_eq!(check::scan(store, Query::scan(MAIN)).await.len(), 1);
        assert!(store.backend().verify().await.unwrap().is_sound());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_leaves_what_is_extended_while_it_runs() {
    let Fixture { store, .. } = &fixture().await;
    let names: Vec<String> = (0..3_000).map(|n| format!("{n:05}")).collect();
    for name in &names {
        store.write(Write::put(MAIN, item(name, NOW - 1)).flushed()).await.unwrap();
    }
    store.backend().checkpoint().await.unwrap();
    let extending = async {
        let mut extended = Vec::new();
        for name in names.iter().rev() {
            let update = set("ttl", NOW + 100);
            let there = weir_table::expr::attr("PK").exists();
            let extend = Write::update(MAIN, key(name), update).when(there).flushed();
            if store.write(extend).await.unwrap().is_applied() {
                extended.push(name.clone());
            }
        }
        extended
    };
    let (mut extended, swept) = tokio::join!(extending, store.backend().sweep());
    extended.sort();
    assert_eq!(extended.len() as u64 + swept.unwrap(), names.len() as u64);
    let left = check::scan(store, Query::scan(MAIN)).await;
    let mut left: Vec<_> = left.iter().map(|item| item.s("SK").unwrap().to_owned()).collect();
    left.sort();
    assert_eq!(left, extended);
    assert!(store.backend().verify().await.unwrap().is_sound());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_backlog_stays_known_while_nothing_can_be_removed() {
    let (folder, disk) = (Folder::new(), TestDisk::new());
    let mut options = Options::new(folder.data());
    options.disk = Arc::new(disk.clone());
    options.free_bytes_min = 8 * MIB;
    options.sweep_interval = None;
    options.clock = Clock::manual(NOW * 1000);
    let store = workload::open(options).unwrap();
    workload::prepare(&store).await.unwrap();
    store.write(Write::put(MAIN, item("old", NOW - 100))).await.unwrap();
    disk.leave_room(MIB);
    eventually_eq(WriteState::DiskFull, async || store.backend().write_state()).await;
    let swept = store.backend().sweep().await;
    assert!(matches!(swept, Err(Error::DiskFull)), "{swept:?}");
    assert_eq!(store.backend().stats().sweep_backlog_ms, 100_000);
    // A nearly full disk takes deletions.
    disk.leave_room(7 * MIB);
    eventually_eq(WriteState::DiskNearlyFull, async || store.backend().write_state()).await;
    assert_eq!(store.backend().sweep().await.unwrap(), 1);
    assert_eq!(store.backend().stats().sweep_backlog_ms, 0);
}
