//! Closing: one owner at a time, no writer left waiting, nothing lost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_table::embedded::{Embedded, Options};
use weir_table::{Error, Get, Item, Key, Write};
use weir_testkit::eventually;

use crate::check::Model;
use crate::folder::Folder;
use crate::workload::{self, Ack, MAIN, Run};

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_has_one_owner() {
    let folder = Folder::new();
    let store = workload::open(Options::new(folder.data())).unwrap();
    let second = Embedded::open(Options::new(folder.data()));
    let Err(Error::InUse { path }) = second else { panic!("{second:?}") };
    assert_eq!(path, folder.data());
    store.backend().close().await.unwrap();
    // Closed, but still readable: it is in use until it is dropped.
    let third = Embedded::open(Options::new(folder.data()));
    assert!(matches!(third, Err(Error::InUse { .. })));
    drop(store);
    workload::open(Options::new(folder.data())).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_store_refuses_writes_at_once_and_still_reads() {
    let folder = Folder::new();
    let store = workload::open(Options::new(folder.data())).unwrap();
    workload::prepare(&store).await.unwrap();
    let item = Item::new().with("PK", "p").with("SK", "s");
    store.write(Write::put(MAIN, item.clone())).await.unwrap();
    store.backend().close().await.unwrap();
    for write in [Write::put(MAIN, item.clone().with("n", 1)), {
        Write::put(MAIN, item.clone().with("n", 2)).flushed()
    }] {
        let late = tokio::time::timeout(Duration::from_secs(5), store.write(write)).await;
        assert!(matches!(late, Ok(Err(Error::Closed))), "{late:?}");
    }
    let get = Get::new(MAIN, Key::new("p", "s"));
    assert_eq!(store.get(&get).await.unwrap(), Some(item));
    store.backend().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_under_load_responds_to_every_writer() {
    for seed in 0..4 {
        let folder = Folder::new();
        let mut options = Options::new(folder.data());
        // Small bounds, so that some writers wait for room when the folder is closed.
        options.dirty_bytes_max = 64 * 1024;
        options.sweep_interval = None;
        let store = workload::open(options.clone()).unwrap();
        workload::prepare(&store).await.unwrap();
        let mut model = Model::new(seed);
        let acks: Arc<Mutex<Vec<Ack>>> = Arc::default();
        let run = Run::new(seed, model.done());
        let writing = {
            let (run, store, acks) = (run.clone(), store.clone(), Arc::clone(&acks));
            tokio::spawn(
                async move { run.go(&store, move |ack| acks.lock().unwrap().push(ack)).await },
            )
        };
        let answered = usize::try_from(50 * (seed + 1)).unwrap();
        eventually(async || (acks.lock().unwrap().len() >= answered).then_some(())).await;
        store.backend().close().await.unwrap();
        let failures = tokio::time::timeout(Duration::from_secs(10), writing).await;
        let failures = failures.expect("no writer waits for ever").unwrap();
        assert_eq!(failures.len(), 12);
        for failure in failures {
            assert!(matches!(failure, Error::Closed), "{failure:?}");
        }
        let stats = store.backend().stats();
        assert_eq!(stats.applied_seq, stats.last_seq, "closing folds everything");
        drop(store);
        let store = workload::open(options).unwrap();
        assert_eq!(store.backend().stats().replayed, 0);
        model.note(acks.lock().unwrap().drain(..));
        model.check(&store).await;
    }
}
