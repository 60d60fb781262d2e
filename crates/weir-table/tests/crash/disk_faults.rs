//! Failing disks: an fsync that fails, writes that take long.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_table::embedded::{Embedded, Options};
use weir_table::{Error, Get, Item, Key, Store, Write};
use weir_testkit::eventually;

use crate::check::Model;
use crate::disk::{Leaves, TestDisk};
use crate::folder::Folder;
use crate::power;
use crate::seed::{self, Random};
use crate::workload::{self, Ack, MAIN, Run};

/// Writes until the disk's fault stops every task; returns what was answered and the failures.
pub(crate) async fn write_until_refused(
    store: &Store<Embedded>,
    model: &Model,
) -> (Vec<Ack>, Vec<Error>) {
    let acks: Arc<Mutex<Vec<Ack>>> = Arc::default();
    let sink = Arc::clone(&acks);
    let run = Run::new(model.seed, model.done());
    let writing = run.go(store, move |ack| sink.lock().unwrap().push(ack));
    let failures = tokio::time::timeout(Duration::from_secs(120), writing)
        .await
        .expect("every waiting writer is told");
    let acks = std::mem::take(&mut *acks.lock().unwrap());
    (acks, failures)
}

fn assert_read_only(failures: &[Error], reason: &str) {
    assert!(!failures.is_empty());
    for failure in failures {
        let Error::ReadOnly { reason: actual } = failure else { panic!("{failure:?}") };
        assert!(actual.contains(reason), "{actual}");
    }
}

/// Every answered write is there and nothing else, as soon as the store has hidden what was never written.
pub(crate) async fn eventually_sound(store: &Store<Embedded>, model: &Model, acks: &[Ack]) {
    eventually(async || {
        let (store, mut model) = (store.clone(), model.clone());
        model.note(acks.iter().copied());
        // The check panics where it fails, so each try is a task.
        tokio::spawn(async move { model.check(&store).await }).await.ok()
    })
    .await;
}

/// Writes are refused from now on, reading works, and the disk is left alone.
async fn check_refusing(store: &Store<Embedded>, model: &Model, acks: &[Ack], disk: &TestDisk) {
    eventually_sound(store, model, acks).await;
    let syncs = disk.syncs();
    let write = |item| store.write(Write::put(MAIN, item));
    let refused = write(Item::new().with("PK", "late").with("SK", "x")).await;
    assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
    let get = Get::new(MAIN, Key::new("late", "x"));
    assert_eq!(store.get(&get).await.unwrap(), None);
    assert!(store.backend().checkpoint().await.is_err());
    assert!(store.backend().close().await.is_err());
    assert_eq!(disk.syncs(), syncs, "an fsync that failed is never tried again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_fsync_stops_writes_and_loses_nothing() {
    for seed in seed::seeds(8, 300) {
        eprintln!("failed fsync: WEIR_TEST_SEED={seed}");
        let mut random = Random::of(&[seed, 7]);
        let (folder, disk) = (Folder::new(), TestDisk::new());
        let data = folder.data();
        let mut model = Model::new(seed);
        let store = workload::open(power::options(&data, &disk, &mut random)).unwrap();
        workload::prepare(&store).await.unwrap();
        disk.sync_takes(Duration::from_micros(random.one_of(&[0, 2_000])));
        disk.fail_sync_after(random.below(30));
        let (acks, failures) = write_until_refused(&store, &model).await;
        assert_read_only(&failures, "making the log durable failed (Input/output error");
        check_refusing(&store, &model, &acks, &disk).await;
        drop(store);
        disk.revive();
        if random.coin() {
            // What the failed fsync did not write is gone with the power.
            disk.cut_power(Leaves::SomeSectors, &mut random);
            let kept: Vec<Ack> = acks.iter().filter(|ack| ack.synced).copied().collect();
            let store = workload::open(power::options(&data, &disk, &mut random)).unwrap();
            model.note(acks);
            model.check_with(&store, &kept).await;
        } else {
            let store = workload::open(power::options(&data, &disk, &mut random)).unwrap();
            model.note(acks);
            model.check(&store).await;
            model.retry_tokens(&store).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_writes_to_the_log_leave_the_async_threads() {
    let (folder, disk) = (Folder::new(), TestDisk::new());
    let mut options = Options::new(folder.data());
    options.disk = Arc::new(disk.clone());
    let store = workload::open(options).unwrap();
    workload::prepare(&store).await.unwrap();
    disk.append_takes(Duration::from_millis(5));
    eventually(async || {
        let item = Item::new().with("PK", "slow").with("SK", "x").with("n", disk.syncs());
        store.write(Write::put(MAIN, item).flushed()).await.unwrap();
        disk.has_appended("weir-flush").then_some(())
    })
    .await;
}
