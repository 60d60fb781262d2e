//! Merged changes add up to the same as every change on its own.

use std::collections::{BTreeMap, BTreeSet};

use weir_table::clock::Clock;
use weir_table::embedded::{self, Embedded};
use weir_table::expr::{Update, add, set};
use weir_table::feed::{Change, Merge, Position};
use weir_table::{Item, Key, KeyValue, Write};

use crate::setup::{TABLE, TestStore, consumer, prepared};

const SPAN_MS: u64 = 1_000;

/// Items called `m…` may be merged; changes of `n` are counted.
const MERGE: Merge = Merge {
    items: |key| matches!(&key.partition, KeyValue::S(id) if id.starts_with('m')),
    within_ms: SPAN_MS,
    counted: |attribute| attribute == "n",
};

async fn place_at(clock: &Clock) -> TestStore<Embedded> {
    let folder = tempfile::tempdir().unwrap();
    let mut options = embedded::Options::new(folder.path());
    options.clock = clock.clone();
    prepared(Embedded::open(options).unwrap(), Some(folder)).await
}

async fn write(place: &TestStore<Embedded>, write: Write) {
    place.store.write(write.flushed()).await.unwrap();
}

async fn update(place: &TestStore<Embedded>, id: &str, update: Update) {
    write(place, Write::update(TABLE, Key::partition(id), update)).await;
}

/// All changes of the table, each page's as they came.
async fn read(place: &TestStore<Embedded>, merge: Option<Merge>) -> Vec<Change> {
    let (store, mut from, mut all) = (&place.store, Position::Oldest, Vec::new());
    loop {
        let page = match merge {
            Some(merge) => store.feed_read_merged(TABLE, "log", &from, merge).await.unwrap(),
            None => store.feed_read(TABLE, "log", &from, 100).await.unwrap(),
        };
        if page.read == 0 {
            assert_eq!((page.changes.len(), page.last), (0, None));
            return all;
        }
        assert!(page.last.is_some() && page.changes.len() <= page.read);
        all.extend(page.changes);
        from = page.next;
    }
}

#[tokio::test]
async fn changes_of_an_item_are_merged() {
    let clock = Clock::manual(10_000);
    let place = place_at(&clock).await;
    write(&place, Write::put(TABLE, Item::new().with("id", "m1").with("n", 1))).await;
    update(&place, "m1", add("n", 1).set("x", "a")).await;
    update(&place, "m1", add("n", 1)).await;
    clock.advance_ms(10);
    update(&place, "m1", set("x", "b")).await;
    update(&place, "other", add("n", 1)).await;
    update(&place, "other", add("n", 1)).await;
    clock.advance_ms(10);
    update(&place, "m1", add("n", -1)).await;
    let changes = read(&place, Some(MERGE)).await;
    let ids: Vec<String> = changes.iter().map(|change| change.key.partition.to_string()).collect();
    assert_eq!(ids, ["m1", "m1", "m1", "other", "other"], "as they came, the other's apart");
    assert!(changes[0].merged.is_none() && changes[1].merged.is_none(), "one is new, one adds x");
    let merged = changes[2].merged.unwrap();
    assert_eq!((merged.counted, merged.first_ms, changes[2].at_ms), (2, 10_000, 10_020));
    let item = |n: i64, x: &str| Item::new().with("id", "m1").with("n", n).with("x", x);
    assert_eq!(changes[2].images().unwrap(), (Some(item(2, "a")), Some(item(2, "b"))));
    assert_eq!(changes[2].old.as_ref().unwrap().item().unwrap(), item(2, "a"));
    assert_eq!(changes[2].new.as_ref().unwrap().item().unwrap(), item(2, "b"));
    let picked = changes[2].pick(|name| name == "x").unwrap();
    assert_eq!(picked, (Some(Item::new().with("x", "a")), Some(Item::new().with("x", "b"))));
    // In another span, with what took an attribute away, after it went and came again: not as one.
    clock.advance_ms(SPAN_MS);
    update(&place, "m1", add("n", 10_000_000)).await;
    update(&place, "m1", Update::default().remove("x")).await;
    update(&place, "m1", add("n", 1)).await;
    write(&place, Write::delete(TABLE, Key::partition("m1"))).await;
    update(&place, "m1", add("n", 1)).await;
    update(&place, "m1", add("n", 1)).await;
    let changes = read(&place, Some(MERGE)).await;
    let merged: Vec<bool> = changes[5..].iter().map(|change| change.merged.is_some()).collect();
    assert_eq!(merged, [false, true, false, false, false]);
    let images = changes[6].pick(|name| name == "x").unwrap();
    assert_eq!(images, (Some(Item::new().with("x", "b")), Some(Item::new())));
}

/// How much a counter grew, and how often it was touched, by item and span. A removed counter
/// counts nothing.
fn growth(changes: &[Change]) -> BTreeMap<(String, u64), (i64, u32)> {
    let mut sums: BTreeMap<(String, u64), (i64, u32)> = BTreeMap::new();
    for change in changes {
        let (old, new) = change.images().unwrap();
        let n = |item: &Option<Item>| item.as_ref().and_then(|item| item.i64("n"));
        let Some(after) = n(&new) else { continue };
        let by = after - n(&old).unwrap_or_default();
        let times = change.merged.map_or(u32::from(by != 0), |merged| merged.counted);
        let key = (change.key.partition.to_string(), change.at_ms / SPAN_MS);
        let sum = sums.entry(key).or_default();
        *sum = (sum.0 + by, sum.1 + times);
    }
    sums.retain(|_, sum| *sum != (0, 0));
    sums
}

#[tokio::test]
async fn merged_changes_add_up_to_the_same() {
    for seed in 1..8 {
        let clock = Clock::manual(50_000);
        let place = place_at(&clock).await;
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..300 {
            let id = format!("m{}", random.u8(..4));
            let by = i64::from(random.i8(..));
            match random.u8(..20) {
                0 => write(&place, Write::delete(TABLE, Key::partition(id.as_str()))).await,
                1 => update(&place, &id, Update::default().remove("n")).await,
                2 => update(&place, &id, Update::default().remove("x")).await,
                3 => update(&place, &id, set("x", "y".repeat(random.usize(..200)))).await,
                4 => update(&place, &id, set("n", by)).await,
                5 => {
                    let fresh = Item::new().with("id", id).with("n", by);
                    write(&place, Write::put(TABLE, fresh)).await;
                }
                _ => update(&place, &id, add("n", by)).await,
            }
            if random.u8(..10) == 0 {
                clock.advance_ms(random.u64(..SPAN_MS / 2));
            }
        }
        let (steps, changes) = (read(&place, None).await, read(&place, Some(MERGE)).await);
        assert!(changes.len() < steps.len(), "seed {seed}: something was merged");
        assert_eq!(growth(&changes), growth(&steps), "seed {seed}");
        // The image after one change is the image before the next one of the item.
        let mut last: BTreeMap<String, Option<Item>> = BTreeMap::new();
        for change in &changes {
            let (old, new) = change.images().unwrap();
            let before = last.insert(change.key.partition.to_string(), new);
            assert_eq!(before.unwrap_or_default(), old, "seed {seed}");
        }
    }
}

#[tokio::test]
async fn a_window_of_merged_changes_ends_with_the_last_change_that_was_read() {
    let clock = Clock::manual(10_000);
    let place = place_at(&clock).await;
    for id in ["m1", "m2", "m1"] {
        update(&place, id, add("n", 1)).await;
    }
    let mut reader = consumer(&place.store, "a", Position::Oldest, &clock).merging(Some(MERGE));
    let mut first = reader.next_window(10, &BTreeSet::new()).await.unwrap().unwrap();
    assert_eq!(reader.read(&mut first, 10).await.unwrap().len(), 1, "the first is alone");
    assert!(reader.commit(first, Vec::new()).await.unwrap());
    for id in ["m2", "m1", "m2", "m1"] {
        update(&place, id, add("n", 1)).await;
    }
    let mut window = reader.next_window(10, &BTreeSet::new()).await.unwrap().unwrap();
    let changes = reader.read(&mut window, 10).await.unwrap();
    let steps = read(&place, None).await;
    assert_eq!((window.changes_read(), steps.len()), (6, 7), "all but the first");
    assert!(changes.len() < 6);
    assert!(reader.read(&mut window, 10).await.unwrap().is_empty());
    assert!(reader.commit(window, Vec::new()).await.unwrap());
    update(&place, "m2", add("n", 1)).await;
    let mut next = reader.next_window(10, &BTreeSet::new()).await.unwrap().unwrap();
    assert_eq!(reader.read(&mut next, 10).await.unwrap().len(), 1, "nothing comes again");
}
