//! A background thread that panics: writers get an error, and readiness says so.

use std::sync::Arc;
use std::time::Duration;

use weir_table::embedded::{Options, WriteState};
use weir_table::{Error, Get, Item, Key, Write};
use weir_testkit::eventually_eq;

use crate::disk::TestDisk;
use crate::folder::Folder;
use crate::workload::{self, MAIN};

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_panics_closes_the_store_for_writes() {
    for thread in ["weir-sync", "weir-fold", "weir-space"] {
        let (folder, disk) = (Folder::new(), TestDisk::new());
        let mut options = Options::new(folder.data());
        options.disk = Arc::new(disk.clone());
        options.checkpoint_interval = Duration::from_millis(50);
        let store = workload::open(options.clone()).unwrap();
        workload::prepare(&store).await.unwrap();
        let item = |name: &str| Item::new().with("PK", "p").with("SK", name);
        store.write(Write::put(MAIN, item("before"))).await.unwrap();
        disk.panic_in(thread);
        // Whether it is answered before the thread panics.
        let waiting = store.write(Write::put(MAIN, item("waiting")));
        let _ = tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("an answer");
        eventually_eq(WriteState::Failed, async || store.backend().write_state()).await;
        let refused = store.write(Write::put(MAIN, item("late"))).await;
        let Err(Error::ReadOnly { reason }) = refused else { panic!("{thread}: {refused:?}") };
        assert!(reason.contains(thread) && reason.contains("it panicked"), "{reason}");
        let get = Get::new(MAIN, Key::new("p", "before"));
        assert!(store.get(&get).await.unwrap().is_some());
        drop(store);
        disk.panic_in("none");
        let store = workload::open(options).unwrap();
        assert!(store.get(&get).await.unwrap().is_some());
    }
}
