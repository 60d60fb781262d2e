//! Power cuts: what was synced is there, and of what was only flushed nothing older than the last
//! sync is lost.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weir_table::embedded::{Embedded, Options};
use weir_table::expr::{attr, set};
use weir_table::{Error, Get, Item, Key, Query, Store, Write};
use weir_testkit::{eventually, eventually_eq};

use crate::check::{self, Model};
use crate::disk::{Leaves, TestDisk};
use crate::folder::{self, Folder};
use crate::seed::{self, Random};
use crate::workload::{self, Ack, MAIN, Run};

/// Power cuts that one folder goes through.
const CUTS_OF_A_FOLDER: u64 = 3;

/// Power cuts of a run at least, however slow the machine is: usually, and at full length.
const CUTS_MIN: (u64, u64) = (30, 300);
/// Stores that lose their last folds at least: usually, and at full length.
const LOST_FOLDS_MIN: (u64, u64) = (5, 50);

/// Answered writes of each power cut at least, on average. Usually there are hundreds.
const ANSWERED_MIN: u64 = 20;

/// What was answered in a run, and what of it must be there after the power cut that ended it.
struct Ended {
    acks: Vec<Ack>,
    kept: Vec<Ack>,
}

pub(crate) fn options(dir: &Path, disk: &TestDisk, random: &mut Random) -> Options {
    let mut options = workload::options(dir, random);
    options.disk = Arc::new(disk.clone());
    options.sweep_interval = None;
    options
}

/// Writes under load until the disk dies.
async fn write_until_the_end(
    store: Store<Embedded>,
    model: &Model,
    disk: &TestDisk,
    life: Duration,
) -> Ended {
    let acks: Arc<Mutex<Vec<Ack>>> = Arc::default();
    let run = Run::new(model.seed, model.done());
    let writing = {
        let (run, store, acks) = (run.clone(), store.clone(), Arc::clone(&acks));
        tokio::spawn(async move { run.go(&store, move |ack| acks.lock().unwrap().push(ack)).await })
    };
    // Every answer in a sample rests on a commit up to the sample's sequence.
    let mut samples: Vec<(u64, usize)> = Vec::new();
    let end = Instant::now() + life;
    while Instant::now() < end {
        let answered = acks.lock().unwrap().len();
        samples.push((store.backend().stats().last_seq, answered));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let synced_seq = store.backend().stats().synced_seq;
    disk.die();
    run.stop.store(true, Ordering::Relaxed);
    for failure in writing.await.unwrap() {
        assert!(matches!(failure, Error::ReadOnly { .. }), "{failure:?}");
    }
    let acks = std::mem::take(&mut *acks.lock().unwrap());
    let safe = samples.iter().filter(|(seq, _)| *seq <= synced_seq);
    let safe = safe.map(|(_, answered)| *answered).max().unwrap_or(0);
    let kept =
        acks[..safe].iter().chain(acks[safe..].iter().filter(|ack| ack.synced)).copied().collect();
    Ended { acks, kept }
}

async fn cut_once(folder: &Folder, disk: &TestDisk, model: &mut Model, random: &mut Random) {
    let data = folder.data();
    disk.revive();
    let store = workload::open(options(&data, disk, random)).unwrap();
    workload::prepare(&store).await.unwrap();
    let life = Duration::from_millis(20 + random.below(200));
    let ended = write_until_the_end(store, model, disk, life).await;
    disk.cut_power(random.one_of(&[Leaves::Nothing, Leaves::SomeSectors]), random);
    disk.revive();
    let store = workload::open(options(&data, disk, random)).unwrap();
    workload::prepare(&store).await.unwrap();
    model.note(ended.acks);
    model.check_with(&store, &ended.kept).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_takes_nothing_that_was_synced() {
    let many = 200;
    let (cuts_min, budget_secs) = if seed::all() { (CUTS_MIN.1, 900) } else { (CUTS_MIN.0, 30) };
    let budget = Duration::from_secs(budget_secs);
    let began = Instant::now();
    let (mut cuts, mut checked) = (0, 0);
    for seed in seed::seeds(many, 10 * many) {
        eprintln!("power cuts: WEIR_TEST_SEED={seed}");
        let mut random = Random::of(&[seed, 4]);
        let (folder, disk) = (Folder::new(), TestDisk::new());
        disk.sync_takes(Duration::from_micros(random.one_of(&[0, 500, 5_000])));
        let mut model = Model::new(seed);
        for _ in 0..CUTS_OF_A_FOLDER {
            cut_once(&folder, &disk, &mut model, &mut random).await;
            cuts += 1;
        }
        checked += model.checked;
        if began.elapsed() > budget && cuts >= cuts_min {
            break;
        }
    }
    eprintln!("{cuts} power cuts, {checked} answered writes checked");
    if seed::wanted().is_none() {
        let enough = cuts >= cuts_min && checked > ANSWERED_MIN * cuts;
        assert!(enough, "{cuts} power cuts, {checked} answered writes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_lost_its_last_folds_replays_them() {
    let (stores_min, budget_secs) =
        if seed::all() { (LOST_FOLDS_MIN.1, 300) } else { (LOST_FOLDS_MIN.0, 10) };
    let budget = Duration::from_secs(budget_secs);
    let began = Instant::now();
    let (mut stores, mut checked) = (0, 0);
    for seed in seed::seeds(100, 1000) {
        eprintln!("lost folds: WEIR_TEST_SEED={seed}");
        let mut random = Random::of(&[seed, 5]);
        let (folder, disk) = (Folder::new(), TestDisk::new());
        let data = folder.data();
        let mut model = Model::new(seed);
        // A store that was made durable once …
        let store = workload::open(options(&data, &disk, &mut random)).unwrap();
        workload::prepare(&store).await.unwrap();
        let run = Run { steps_max: 20, ..Run::new(seed, model.done()) };
        let acks: Arc<Mutex<Vec<Ack>>> = Arc::default();
        let sink = Arc::clone(&acks);
        let failures = run.go(&store, move |ack| sink.lock().unwrap().push(ack)).await;
        assert!(failures.is_empty(), "{failures:?}");
        model.note(acks.lock().unwrap().drain(..));
        model.check(&store).await;
        store.backend().close().await.unwrap();
        drop(store);
        let old = folder.path().join("old");
        folder::copy(&data.join("store"), &old);
        // … and whose later folds never reached the disk.
        let store = workload::open(options(&data, &disk, &mut random)).unwrap();
        let life = Duration::from_millis(50 + random.below(150));
        let ended = write_until_the_end(store, &model, &disk, life).await;
        disk.cut_power(Leaves::SomeSectors, &mut random);
        std::fs::remove_dir_all(data.join("store")).unwrap();
        std::fs::rename(&old, data.join("store")).unwrap();
        disk.revive();
        let store = workload::open(options(&data, &disk, &mut random)).unwrap();
        assert!(store.backend().stats().replayed > 0);
        model.note(ended.acks);
        model.check_with(&store, &ended.kept).await;
        stores += 1;
        checked += model.checked;
        if began.elapsed() > budget && stores >= stores_min {
            break;
        }
    }
    eprintln!("{stores} stores lost their last folds, {checked} answered writes checked");
    if seed::wanted().is_none() {
        let enough = stores >= stores_min && checked > ANSWERED_MIN * stores;
        assert!(enough, "{stores} stores, {checked} answered writes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unsynced_writes_of_a_killed_process_are_synced_on_opening() {
    for seed in seed::seeds(10, 100) {
        eprintln!("kill, then power cut: WEIR_TEST_SEED={seed}");
        let mut random = Random::of(&[seed, 6]);
        let (folder, disk) = (Folder::new(), TestDisk::new());
        let data = folder.data();
        // No fsync of its own, and several files: all of it is in the operating system only.
        let mut lazy = lazy(&folder, &disk);
        lazy.segment_bytes_max = 4 * 1024;
        let store = workload::open(lazy).unwrap();
        workload::prepare(&store).await.unwrap();
        let count = 100 + random.below(200);
        for n in 0..count {
            let item = item(1).with("SK", format!("{n:04}"));
            let write = Write::put(MAIN, item).flushed();
            store.write(write).await.unwrap();
        }
        disk.die();
        drop(store);
        disk.revive();
        let mut next = options(&data, &disk, &mut random);
        // Replaying folds on the way: the store must not get ahead of the log.
        next.dirty_bytes_max = random.one_of(&[8 * 1024, 64 * 1024 * 1024]);
        let store = workload::open(next).unwrap();
        let found = check::scan(&store, Query::scan(MAIN)).await.len() as u64;
        assert_eq!(found, count);
        disk.die();
        drop(store);
        disk.cut_power(Leaves::Nothing, &mut random);
        disk.revive();
        let store = workload::open(options(&data, &disk, &mut random)).unwrap();
        let found = check::scan(&store, Query::scan(MAIN)).await.len() as u64;
        assert_eq!(found, count);
        assert!(store.backend().verify().await.unwrap().is_sound());
    }
}

fn lazy(folder: &Folder, disk: &TestDisk) -> Options {
    let mut options = Options::new(folder.data());
    options.disk = Arc::new(disk.clone());
    options.sync_interval = Duration::from_secs(600);
    options.checkpoint_interval = Duration::from_secs(600);
    options.sweep_interval = None;
    options
}

fn item(n: i64) -> Item {
    Item::new().with("PK", "p").with("SK", "s").with("n", n)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_commit_of_a_new_store_survives_a_power_cut() {
    for seed in 0..8 {
        let (folder, disk) = (Folder::new(), TestDisk::new());
        let store = workload::open(lazy(&folder, &disk)).unwrap();
        workload::prepare(&store).await.unwrap();
        disk.die();
        drop(store);
        disk.cut_power(Leaves::Nothing, &mut Random::new(seed));
        disk.revive();
        let store = workload::open(lazy(&folder, &disk)).unwrap();
        assert_eq!(store.table_names().await.unwrap().len(), 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synced_write_that_changes_nothing_is_synced_all_the_same() {
    let (folder, disk) = (Folder::new(), TestDisk::new());
    let store = workload::open(lazy(&folder, &disk)).unwrap();
    workload::prepare(&store).await.unwrap();
    store.write(Write::put(MAIN, item(1)).flushed()).await.unwrap();
    store.write(Write::put(MAIN, item(1))).await.unwrap();
    disk.die();
    drop(store);
    disk.cut_power(Leaves::Nothing, &mut Random::new(1));
    disk.revive();
    let store = workload::open(lazy(&folder, &disk)).unwrap();
    let get = Get::new(MAIN, Key::new("p", "s"));
    assert_eq!(store.get(&get).await.unwrap(), Some(item(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_waits_for_the_synced_write_it_depends_on() {
    let (folder, disk) = (Folder::new(), TestDisk::new());
    let store = workload::open(lazy(&folder, &disk)).unwrap();
    workload::prepare(&store).await.unwrap();
    disk.hold_syncs(true);
    let create = || Write::put(MAIN, item(1)).when(attr("PK").absent());
    let spawn = |write: Write| {
        let store = store.clone();
        tokio::spawn(async move { store.write(write).await })
    };
    let first = spawn(create());
    let get = Get::new(MAIN, Key::new("p", "s"));
    eventually(async || store.get(&get.clone().eventual()).await.unwrap()).await;
    // A flushed write on top must not hide that the item may still be lost.
    let touch = Write::update(MAIN, Key::new("p", "s"), set("n", 2)).flushed();
    let second = spawn(touch);
    eventually_eq(Some(2), async || {
        store.get(&get.clone().eventual()).await.unwrap().and_then(|item| item.i64("n"))
    })
    .await;
    let again = spawn(create());
    let read = {
        let (store, get) = (store.clone(), get.clone());
        tokio::spawn(async move { store.get(&get).await })
    };
    tokio::time::sleep(Duration::from_millis(200)).await;
    let early = [
        ("the synced write", first.is_finished()),
        ("the flushed write on top", second.is_finished()),
        ("the refused retry", again.is_finished()),
        ("the strong read", read.is_finished()),
    ];
    disk.hold_syncs(false);
    for (what, done) in early {
        assert!(!done, "{what} was answered before the disk had the item");
    }
    assert!(first.await.unwrap().unwrap().is_applied());
    assert!(second.await.unwrap().unwrap().is_applied());
    assert!(!again.await.unwrap().unwrap().is_applied());
    assert_eq!(read.await.unwrap().unwrap().unwrap().i64("n"), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flushed_write_is_synced_within_the_interval() {
    let (folder, disk) = (Folder::new(), TestDisk::new());
    let mut options = lazy(&folder, &disk);
    options.sync_interval = Duration::from_millis(100);
    let store = workload::open(options).unwrap();
    workload::prepare(&store).await.unwrap();
    for n in 0..5 {
        store.write(Write::put(MAIN, item(n)).flushed()).await.unwrap();
        let written = store.backend().stats().last_seq;
        // Without the interval it would take ten minutes.
        eventually(async || (store.backend().stats().synced_seq >= written).then_some(())).await;
    }
}
