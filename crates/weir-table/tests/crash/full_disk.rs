//! A disk that is full: writes are refused, nothing that was answered is lost, and the store goes on by itself when there is
//! room again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_table::embedded::{self, Embedded, Options, WriteState};
use weir_table::feed::Position;
use weir_table::{Error, Get, Item, Key, Kind, Query, Store, TableSpec, Write};
use weir_testkit::{SmallDisk, eventually, eventually_eq};

use crate::check::{self, Model};
use crate::disk::{Leaves, TestDisk};
use crate::disk_faults::{eventually_sound, write_until_refused};
use crate::folder::Folder;
use crate::power;
use crate::preload::Library;
use crate::seed::{self, Random};
use crate::workload::{self, Ack, MAIN, Run};

const MIB: u64 = 1024 * 1024;
/// Times that the disk of one store is filled.
const ROUNDS: u64 = 4;

async fn state_becomes(store: &Store<Embedded>, state: WriteState) {
    eventually_eq(state, async || store.backend().write_state()).await;
}

fn assert_full(failures: &[Error]) {
    assert!(!failures.is_empty());
    for failure in failures {
        assert!(matches!(failure, Error::DiskFull), "{failure:?}");
    }
}

fn item(name: &str) -> Item {
    Item::new().with("PK", "p").with("SK", name).with("pad", "x".repeat(200))
}

fn key(name: &str) -> Key {
    Key::new("p", name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_loses_nothing_and_the_store_goes_on_without_a_restart() {
    let (mut torn, mut checked) = (0, 0);
    for seed in seed::seeds(8, 300) {
        eprintln!("full disk: WEIR_TEST_SEED={seed}");
        let mut random = Random::of(&[seed, 8]);
        let (folder, disk) = (Folder::new(), TestDisk::new());
        let mut options = power::options(&folder.data(), &disk, &mut random);
        // The bound is off, so that the log itself finds no room.
        options.free_bytes_min = 0;
        let mut model = Model::new(seed);
        let store = workload::open(options.clone()).unwrap();
        workload::prepare(&store).await.unwrap();
        for _ in 0..ROUNDS {
            disk.leave_room(random.below(100_000));
            let (answered, failures) = write_until_refused(&store, &model).await;
            assert_full(&failures);
            assert_eq!(store.backend().write_state(), WriteState::DiskFull);
            eventually_sound(&store, &model, &answered).await;
            disk.leave_room(u64::MAX);
            state_becomes(&store, WriteState::Accepting).await;
            model.note(answered);
            model.check(&store).await;
            model.retry_tokens(&store).await;
        }
        drop(store);
        if random.coin() {
            disk.die();
            disk.cut_power(Leaves::SomeSectors, &mut random);
            disk.revive();
        }
        // What was written before the disk was full is synced before the store goes on.
        let store = workload::open(options).unwrap();
        assert_eq!(store.backend().stats().cut_bytes, 0, "the torn end was cut while running");
        model.check(&store).await;
        checked += model.checked;
        torn += disk.torn();
    }
    eprintln!("{torn} torn ends, {checked} answers checked");
    assert!(torn > 0 || seed::wanted().is_some(), "no append was torn");
    assert!(checked > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_write_never_appears_later() {
    let (folder, disk) = (Folder::new(), TestDisk::new());
    let mut options = Options::new(folder.data());
    options.disk = Arc::new(disk.clone());
    options.free_bytes_min = 0;
    let store = workload::open(options.clone()).unwrap();
    workload::prepare(&store).await.unwrap();
    let latest = store.feed_read(MAIN, "log", &Position::Latest, 1).await.unwrap().next;
    store.write(Write::put(MAIN, item("before"))).await.unwrap();
    disk.leave_room(20);
    for write in [Write::put(MAIN, item("refused")), Write::put(MAIN, item("late")).flushed()] {
        let refused = store.write(write).await;
        assert!(matches!(refused, Err(Error::DiskFull)), "{refused:?}");
    }
    let spec = TableSpec::new("refused", "PK", Kind::S);
    assert!(matches!(store.create_table(&spec).await, Err(Error::DiskFull)));
    disk.leave_room(u64::MAX);
    state_becomes(&store, WriteState::Accepting).await;
    store.write(Write::put(MAIN, item("after"))).await.unwrap();
    let check = async |store: &Store<Embedded>| {
        let names = check::scan(store, Query::scan(MAIN)).await;
        let names: Vec<&str> = names.iter().map(|item| item.s("SK").unwrap()).collect();
        assert_eq!(names, ["after", "before"]);
        let page = store.feed_read(MAIN, "log", &latest, 10).await.unwrap();
        let fed: Vec<String> = page.changes.iter().map(|change| change.key.to_string()).collect();
        assert_eq!(fed, ["p | before", "p | after"]);
        assert!(!store.table_names().await.unwrap().contains(&"refused".to_owned()));
    };
    check(&store).await;
    assert!(store.backend().stats().space_refusals_total > 0);
    drop(store);
    check(&workload::open(options).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nearly_full_disk_refuses_growth_and_accepts_deletions_and_settlements() {
    let (folder, disk) = (Folder::new(), TestDisk::new());
    let mut options = Options::new(folder.data());
    options.disk = Arc::new(disk.clone());
    options.free_bytes_min = 8 * MIB;
    let store = workload::open(options).unwrap();
    workload::prepare(&store).await.unwrap();
    for name in ["one", "two", "three"] {
        store.write(Write::put(MAIN, item(name))).await.unwrap();
    }
    let put = || Write::put(MAIN, item("more"));
    disk.leave_room(7 * MIB);
    state_becomes(&store, WriteState::DiskNearlyFull).await;
    let refused = store.write(put()).await;
    assert!(matches!(refused, Err(Error::DiskFull)), "{refused:?}");
    store.write(Write::delete(MAIN, key("one"))).await.unwrap();
    store.write(Write::put(MAIN, item("two").with("settled", true)).essential()).await.unwrap();
    disk.leave_room(3 * MIB);
    state_becomes(&store, WriteState::DiskFull).await;
    let refused = store.write(Write::delete(MAIN, key("two"))).await;
    assert!(matches!(refused, Err(Error::DiskFull)), "{refused:?}");
    assert!(store.get(&Get::new(MAIN, key("two"))).await.unwrap().is_some());
    disk.leave_room(MIB);
    let folded = store.backend().checkpoint().await;
    assert!(matches!(folded, Err(Error::DiskFull)), "{folded:?}");
    disk.leave_room(100 * MIB);
    state_becomes(&store, WriteState::Accepting).await;
    store.write(put()).await.unwrap();
    store.backend().checkpoint().await.unwrap();
    assert_eq!(check::scan(&store, Query::scan(MAIN)).await.len(), 3);
    let stats = store.backend().stats();
    assert_eq!(stats.space_refusals_total, 2);
    assert!(stats.disk_free_bytes.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_fsync_is_final_even_on_a_full_disk() {
    let (folder, disk) = (Folder::new(), TestDisk::new());
    let mut options = Options::new(folder.data());
    options.disk = Arc::new(disk.clone());
    options.free_bytes_min = 0;
    let store = workload::open(options).unwrap();
    workload::prepare(&store).await.unwrap();
    disk.fail_sync_after(0);
    disk.leave_room(20);
    let refused = store.write(Write::put(MAIN, item("refused")).flushed()).await;
    assert!(refused.is_err());
    disk.leave_room(u64::MAX);
    // The store syncs before it goes on, and that fails.
    state_becomes(&store, WriteState::Failed).await;
    let refused = store.write(Write::put(MAIN, item("late"))).await;
    assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
}

/// Writes items of its own until it is stopped, and through refusals. Returns how many were answered.
async fn write_on(store: Store<Embedded>, task: u64, writing: Arc<Writing>) -> u64 {
    let mut number = 0;
    while !writing.is_over.load(Ordering::Relaxed) {
        let name = format!("{task}-{number:08}");
        let write = Write::put(MAIN, item(&name));
        match store.write(if number % 2 == 0 { write } else { write.flushed() }).await {
            Ok(_) => {
                number += 1;
                writing.answered.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(writing.pause).await;
            }
            Err(Error::DiskFull) => tokio::time::sleep(Duration::from_millis(2)).await,
            Err(error) => panic!("{error:?}"),
        }
    }
    number
}

struct Writing {
    is_over: AtomicBool,
    answered: AtomicU64,
    /// After every write of a task.
    pause: Duration,
}

impl Writing {
    async fn answers_more(&self, more: u64) {
        let answered = || self.answered.load(Ordering::Relaxed);
        let goal = answered() + more;
        eventually(async || (answered() >= goal).then_some(())).await;
    }
}

/// How a disk is filled and freed under load.
struct Filling<F, G> {
    rounds: u64,
    pause: Duration,
    fill: F,
    free: G,
}

/// Fills a disk under load, frees it, and checks every answer. Returns how often the base store was opened again.
async fn fill_and_free<F: Fn(), G: Fn()>(options: Options, filling: Filling<F, G>) -> u64 {
    let store = workload::open(options.clone()).unwrap();
    workload::prepare(&store).await.unwrap();
    let writing = Arc::new(Writing {
        is_over: AtomicBool::new(false),
        answered: AtomicU64::new(0),
        pause: filling.pause,
    });
    let tasks: Vec<_> = (0..4)
        .map(|task| tokio::spawn(write_on(store.clone(), task, Arc::clone(&writing))))
        .collect();
    for _ in 0..filling.rounds {
        writing.answers_more(200).await;
        (filling.fill)();
        state_becomes(&store, WriteState::DiskFull).await;
        // Readers are served meanwhile.
        assert!(store.get(&Get::new(MAIN, key("0-00000000"))).await.unwrap().is_some());
        (filling.free)();
        state_becomes(&store, WriteState::Accepting).await;
    }
    writing.answers_more(200).await;
    writing.is_over.store(true, Ordering::Relaxed);
    let mut expected = Vec::new();
    for (task, written) in tasks.into_iter().enumerate() {
        let written = written.await.unwrap();
        expected.extend((0..written).map(|number| format!("{task}-{number:08}")));
    }
    expected.sort();
    let names = async |store: &Store<Embedded>| {
        let items = check::scan(store, Query::scan(MAIN)).await;
        let mut names: Vec<_> = items.iter().map(|item| item.s("SK").unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert!(names(&store).await == expected, "the items are not those that were answered");
    assert!(store.backend().verify().await.unwrap().is_sound());
    let reopened = store.backend().stats().base_reopened_total;
    drop(store);
    let store = workload::open(options).unwrap();
    assert!(names(&store).await == expected, "the items are not those that were answered");
    let (rounds, answered) = (filling.rounds, expected.len());
    eprintln!(
        "{rounds} rounds, {answered} writes answered, base store opened again {reopened} times"
    );
    reopened
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_and_is_freed_under_load_loses_nothing() {
    let Some(small) = SmallDisk::mount(256) else {
        return;
    };
    let mut options = Options::new(small.data());
    options.free_bytes_min = 64 * MIB;
    options.checkpoint_interval = Duration::from_millis(50);
    options.segment_bytes_max = MIB;
    let (fill, free) = (|| small.fill_to(24 * MIB), || small.free());
    fill_and_free(options, Filling { rounds: 3, pause: Duration::ZERO, fill, free }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_finds_no_room_goes_on_when_there_is() {
    let Some(small) = SmallDisk::mount(64) else {
        return;
    };
    let mut options = Options::new(small.data());
    // The log meets the end of the disk itself; nothing is folded.
    options.free_bytes_min = 0;
    options.checkpoint_interval = Duration::from_secs(600);
    options.segment_bytes_max = 64 * 1024;
    let (fill, free) = (|| small.fill(), || small.free());
    fill_and_free(options, Filling { rounds: 5, pause: Duration::ZERO, fill, free }).await;
}

/// Options with which the base store writes to its disk all the time.
fn folding(data: PathBuf) -> Options {
    let mut options = Options::new(data);
    // Nothing keeps the base store from the end of the disk.
    options.free_bytes_min = 0;
    options.checkpoint_interval = Duration::from_millis(5);
    options.memtable_bytes = Some(64 * 1024);
    options.segment_bytes_max = MIB;
    options.feed_bytes_max = 8 * MIB;
    options
}

#[tokio::test(flavor = "multi_thread")]
async fn log_and_base_store_that_find_no_room_go_on_when_there_is() {
    let Some(small) = SmallDisk::mount(256) else {
        return;
    };
    let rounds = if seed::all() { 60 } else { 20 };
    let (fill, free) = (|| small.fill(), || small.free());
    let filling = Filling { rounds, pause: Duration::from_millis(1), fill, free };
    let reopened = fill_and_free(folding(small.data()), filling).await;
    assert!(reopened >= rounds / 4, "the base store found no room only {reopened} times");
}

const NO_ROOM_CHILD: &str = "full_disk::the_process_whose_base_store_finds_no_room";
const NO_ROOM_ROOT: &str = "WEIR_NO_ROOM_ROOT";
const NO_ROOM_FLAG: &str = "WEIR_NO_ROOM_FLAG";

/// Needs no mount, so that it runs everywhere. The file system reports free space all the while, as it does with a quota.
#[test]
fn a_base_store_that_is_refused_room_goes_on_when_there_is() {
    let folder = Folder::new();
    let status = Library::compile("no_room.c")
        .process(NO_ROOM_CHILD)
        .env(NO_ROOM_ROOT, folder.data().join("store"))
        .env(NO_ROOM_FLAG, folder.path().join("no-room"))
        .status();
    assert!(status.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "not a test of its own: `a_base_store_that_is_refused_room_goes_on_when_there_is` starts it as a process"]
async fn the_process_whose_base_store_finds_no_room() {
    let path = |name: &str| PathBuf::from(std::env::var(name).unwrap());
    let (root, flag) = (path(NO_ROOM_ROOT), path(NO_ROOM_FLAG));
    let fill = || drop(std::fs::File::create(&flag).unwrap());
    let free = || std::fs::remove_file(&flag).unwrap();
    let options = folding(root.parent().unwrap().to_owned());
    let pause = Duration::from_millis(1);
    let reopened = fill_and_free(options, Filling { rounds: 10, pause, fill, free }).await;
    assert!(reopened >= 10, "{reopened}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_store_that_finds_no_room_loses_nothing_and_goes_on_without_a_restart() {
    // The log has room; what it is folded into has not.
    let Some(small) = SmallDisk::mount(3) else {
        return;
    };
    let folder = Folder::new();
    std::fs::create_dir_all(folder.data()).unwrap();
    std::fs::create_dir_all(small.data()).unwrap();
    std::os::unix::fs::symlink(small.data(), folder.data().join("store")).unwrap();
    let mut options = Options::new(folder.data());
    options.sweep_interval = None;
    options.checkpoint_interval = Duration::from_millis(20);
    // Nothing keeps the store from filling the disk.
    options.free_bytes_min = 0;
    let store = workload::open(options.clone()).unwrap();
    workload::prepare(&store).await.unwrap();
    store.create_table(&TableSpec::new("more", "PK", Kind::S)).await.unwrap();
    let mut model = Model::new(2);
    let (answered, failures) = write_until_refused(&store, &model).await;
    assert_full(&failures);
    // A compaction that failed may have left some room.
    small.fill();
    eventually(async || {
        let more = Item::new().with("PK", "p").with("pad", "x".repeat(1000));
        let _ = store.write(Write::put("more", more)).await;
        (store.backend().write_state() == WriteState::DiskFull).then_some(())
    })
    .await;
    // Neither of these may fold past the one that failed, and a backup to another disk has all of it.
    for round in 0..3 {
        assert!(matches!(store.backend().checkpoint().await, Err(Error::DiskFull)));
        let name = |what: &str| folder.path().join(format!("{what}-{round}"));
        store.backend().backup(&name("backup"), None, |_, _| {}).await.unwrap();
        embedded::restore(&name("backup"), &name("restored"), None, &|_, _| {}).unwrap();
        let copy = workload::open(Options::new(name("restored"))).unwrap();
        let mut model = model.clone();
        model.forget_feed();
        model.note(answered.iter().copied());
        model.check(&copy).await;
        assert!(copy.backend().verify().await.unwrap().is_sound());
    }
    eventually_sound(&store, &model, &answered).await;
    small.free();
    small.grow(256);
    state_becomes(&store, WriteState::Accepting).await;
    model.note(answered);
    model.check(&store).await;
    assert!(model.checked > 0, "no write was answered before the disk was full");
    assert!(store.backend().stats().base_reopened_total > 0);
    // It folds and answers as before.
    let run = Run { steps_max: 20, ..Run::new(model.seed, model.done()) };
    let answered: Arc<Mutex<Vec<Ack>>> = Arc::default();
    let sink = Arc::clone(&answered);
    let failures = run.go(&store, move |ack| sink.lock().unwrap().push(ack)).await;
    assert!(failures.is_empty(), "{failures:?}");
    model.note(answered.lock().unwrap().drain(..));
    store.backend().checkpoint().await.unwrap();
    model.check(&store).await;
    assert!(store.backend().verify().await.unwrap().is_sound());
    drop(store);
    let store = workload::open(options).unwrap();
    model.check(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_trimmed_though_nothing_can_be_folded() {
    let (folder, disk) = (Folder::new(), TestDisk::new());
    let mut options = Options::new(folder.data());
    options.disk = Arc::new(disk.clone());
    options.free_bytes_min = 8 * MIB;
    options.segment_bytes_max = 4_000;
    options.checkpoint_interval = Duration::from_secs(600);
    let store = workload::open(options).unwrap();
    store.create_table(&TableSpec::new("table", "PK", Kind::S)).await.unwrap();
    for number in 0..100 {
        let item = Item::new().with("PK", number.to_string()).with("pad", "x".repeat(200));
        store.write(Write::put("table", item).flushed()).await.unwrap();
    }
    disk.keep_files(true);
    store.backend().checkpoint().await.unwrap();
    let before = store.backend().stats().log_bytes;
    disk.keep_files(false);
    disk.leave_room(MIB);
    let folded = store.backend().checkpoint().await;
    assert!(matches!(folded, Err(Error::DiskFull)), "{folded:?}");
    let after = store.backend().stats().log_bytes;
    assert!(after <= 4_000 && before > 5 * after, "{before} bytes became {after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fold_needs_room_for_its_bytes_and_few_files_are_a_full_disk() {
    let (folder, disk) = (Folder::new(), TestDisk::new());
    let mut options = Options::new(folder.data());
    options.disk = Arc::new(disk.clone());
    options.free_bytes_min = 8 * MIB;
    options.checkpoint_interval = Duration::from_secs(600);
    let store = workload::open(options).unwrap();
    workload::prepare(&store).await.unwrap();
    for number in 0..30 {
        let item = item(&number.to_string()).with("large", "x".repeat(100_000));
        store.write(Write::put(MAIN, item).flushed()).await.unwrap();
    }
    // A quarter of the bound is left, and twice the bytes of the fold are not.
    disk.leave_room(7 * MIB);
    let folded = store.backend().checkpoint().await;
    assert!(matches!(folded, Err(Error::DiskFull)), "{folded:?}");
    disk.leave_room(9 * MIB);
    store.backend().checkpoint().await.unwrap();
    disk.leave_room(u64::MAX);
    disk.leave_files(1_000);
    state_becomes(&store, WriteState::DiskFull).await;
    disk.leave_files(2_000);
    state_becomes(&store, WriteState::Accepting).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fullest_of_the_disks_of_a_store_counts() {
    let Some(small) = SmallDisk::mount(32) else {
        return;
    };
    let folder = Folder::new();
    std::fs::create_dir_all(folder.data()).unwrap();
    std::fs::create_dir_all(small.data()).unwrap();
    std::os::unix::fs::symlink(small.data(), folder.data().join("store")).unwrap();
    let mut options = Options::new(folder.data());
    options.free_bytes_min = 48 * MIB;
    let store = workload::open(options).unwrap();
    assert_eq!(store.backend().write_state(), WriteState::DiskNearlyFull);
    small.grow(256);
    state_becomes(&store, WriteState::Accepting).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_leaves_the_last_room_to_the_store_and_works_on_another_disk() {
    let (folder, other, disk) = (Folder::new(), SmallDisk::mount(64), TestDisk::new());
    let mut options = Options::new(folder.data());
    options.disk = Arc::new(disk.clone());
    options.free_bytes_min = 8 * MIB;
    options.checkpoint_interval = Duration::from_secs(600);
    let store = workload::open(options).unwrap();
    workload::prepare(&store).await.unwrap();
    for number in 0..3_000 {
        store.write(Write::put(MAIN, item(&format!("{number:05}"))).flushed()).await.unwrap();
    }
    let to = folder.path().join("backup");
    // The disk becomes nearly full while the backup runs.
    let filling = disk.clone();
    let backup = store.backend().backup(&to, None, move |_, _| filling.leave_room(7 * MIB)).await;
    assert!(matches!(backup, Err(Error::DiskFull)), "{backup:?}");
    assert!(!to.exists(), "an unfinished backup stays");
    std::fs::create_dir(&to).unwrap();
    let backup = store.backend().backup(&to, None, |_, _| {}).await;
    assert!(matches!(backup, Err(Error::DiskFull)), "{backup:?}");
    assert_eq!(std::fs::read_dir(&to).unwrap().count(), 0);
    let Some(other) = other else {
        return;
    };
    disk.leave_room(100 * MIB);
    state_becomes(&store, WriteState::Accepting).await;
    // These are in no fold.
    store.write(Write::delete(MAIN, key("00000"))).await.unwrap();
    store.write(Write::put(MAIN, item("00001").with("changed", true))).await.unwrap();
    store.write(Write::put(MAIN, item("a new one"))).await.unwrap();
    disk.leave_room(MIB);
    let (to, restored) = (other.path().join("backup"), folder.path().join("restored"));
    store.backend().backup(&to, None, |_, _| {}).await.unwrap();
    embedded::restore(&to, &restored, None, &|_, _| {}).unwrap();
    let copy = workload::open(Options::new(&restored)).unwrap();
    let expected = check::scan(&store, Query::scan(MAIN)).await;
    assert_eq!(expected.len(), 3_000);
    assert_eq!(check::scan(&copy, Query::scan(MAIN)).await, expected);
    assert!(copy.backend().verify().await.unwrap().is_sound());
}
