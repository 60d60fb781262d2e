//! The memory of recent commits stays within its bound, whatever is being folded.

use std::time::Duration;

use weir_table::embedded::Options;
use weir_table::{Item, Write};

use crate::folder::Folder;
use crate::workload::{self, MAIN};

const MIB: u64 = 1024 * 1024;
const WRITERS: u64 = 16;

#[tokio::test(flavor = "multi_thread")]
async fn recent_commits_take_no_more_memory_than_their_bound() {
    let folder = Folder::new();
    let mut options = Options::new(folder.data());
    options.dirty_bytes_max = 6 * MIB;
    options.sweep_interval = None;
    options.checkpoint_interval = Duration::from_secs(600);
    let store = workload::open(options).unwrap();
    workload::prepare(&store).await.unwrap();
    let writers = (0..WRITERS).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut most = 0;
            for n in 0..400 {
                // Most of it is in an index that projects a part of the item.
                let item = Item::new()
                    .with("PK", format!("{writer}"))
                    .with("SK", format!("{n}"))
                    .with("G3", "g")
                    .with("G3S", "s")
                    .with("v", "x".repeat(2_000));
                store.write(Write::put(MAIN, item).flushed()).await.unwrap();
                most = most.max(store.backend().stats().dirty_bytes);
            }
            most
        })
    });
    let mut most = 0;
    for writer in writers.collect::<Vec<_>>() {
        most = most.max(writer.await.unwrap());
    }
    let checkpoints = store.backend().stats().checkpoints;
    assert!(checkpoints > 3, "{checkpoints} folds, so three generations were in memory at once");
    // Each writer may be one item past the bound when it is stopped.
    assert!(most <= 6 * MIB + WRITERS * 3 * 5_000, "{most} bytes");
}
