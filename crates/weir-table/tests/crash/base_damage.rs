//! A damaged journal of the base store: the log replaces what it held, or opening fails and keeps every byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_table::embedded::{Embedded, Options};
use weir_table::{Error, Item, Query, Store, Write};

use crate::check;
use crate::folder::{self, Folder};
use crate::workload::{self, MAIN};

const PAGE: usize = 4096;
const FOLDS: u64 = 6;
const ITEMS_OF_A_FOLD: u64 = 30;

fn options(data: &Path) -> Options {
    let mut options = Options::new(data);
    options.segment_bytes_max = 8 * 1024;
    options.checkpoint_interval = Duration::from_secs(600);
    options.sweep_interval = None;
    options
}

fn item(n: u64) -> Item {
    let item = Item::new().with("PK", "p").with("SK", format!("{n:04}")).with("n", n);
    item.with("G1", "a").with("G1S", n).with("pad", "x".repeat(200))
}

/// A store with several folds in its journal.
async fn folded(folder: &Folder) -> PathBuf {
    let data = folder.data();
    let store = workload::open(options(&data)).unwrap();
    workload::prepare(&store).await.unwrap();
    for fold in 0..FOLDS {
        for n in 0..ITEMS_OF_A_FOLD {
            let write = Write::put(MAIN, item(fold * ITEMS_OF_A_FOLD + n)).flushed();
            store.write(write).await.unwrap();
        }
        store.backend().checkpoint().await.unwrap();
    }
    data
}

async fn count(store: &Store<Embedded>) -> u64 {
    let items = check::scan(store, Query::scan(MAIN)).await;
    let indexed = check::scan(store, Query::scan(MAIN).index("all")).await;
    assert_eq!(items.len(), indexed.len());
    items.len() as u64
}

fn journal(data: &Path) -> PathBuf {
    data.join("store/0.jnl")
}

/// The journal up to the zeros at its end.
fn journal_len(data: &Path) -> usize {
    let bytes = fs::read(journal(data)).unwrap();
    bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1
}

fn zero(path: &Path, offset: usize, len: usize) {
    let mut bytes = fs::read(path).unwrap();
    let end = bytes.len().min(offset + len);
    bytes[offset..end].fill(0);
    fs::write(path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zeroed_page_anywhere_in_the_journal_is_replayed_from_the_log() {
    let folder = Folder::in_memory();
    let data = folded(&folder).await;
    let len = journal_len(&data);
    assert!(len > 10 * PAGE, "{len} bytes of journal");
    let last = (len - 1) / PAGE;
    for page in 0..=last {
        let damaged = folder.path().join(format!("page-{page}"));
        folder::copy(&data, &damaged);
        zero(&journal(&damaged), page * PAGE, PAGE);
        let store = workload::open(options(&damaged)).unwrap();
        assert!(store.backend().stats().replayed > 0, "page {page}");
        assert_eq!(count(&store).await, FOLDS * ITEMS_OF_A_FOLD, "page {page}");
        assert!(store.backend().verify().await.unwrap().is_sound(), "page {page}");
        let kept = fs::read_dir(damaged.join("damaged")).unwrap().count();
        assert_eq!(kept, 0, "nothing is kept that the log has");
        drop(store);
        fs::remove_dir_all(damaged).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_that_the_log_cannot_replace_is_reported_and_kept() {
    let folder = Folder::in_memory();
    let data = folder.data();
    let store = workload::open(options(&data)).unwrap();
    let [main, ..] = workload::specs();
    store.create_table(&main).await.unwrap();
    for n in 0..FOLDS * ITEMS_OF_A_FOLD {
        store.write(Write::put(MAIN, item(n)).flushed()).await.unwrap();
    }
    // Without consumers the log is trimmed: some of it is in the base store only.
    store.backend().close().await.unwrap();
    drop(store);
    let whole = fs::read(journal(&data)).unwrap();
    zero(&journal(&data), PAGE, PAGE);
    let damaged = fs::read(journal(&data)).unwrap();
    let refused = Embedded::open(options(&data));
    let Err(Error::Corrupt { what, .. }) = refused else { panic!("{refused:?}") };
    assert!(what.contains("weir repair"), "{what}");
    // The bytes that were cut are there, so the journal can be put together again.
    let kept: Vec<PathBuf> =
        fs::read_dir(data.join("damaged")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [kept] = kept.as_slice() else { panic!("{kept:?}") };
    let offset: usize = kept.extension().unwrap().to_str().unwrap().parse().unwrap();
    assert_eq!(fs::read(kept).unwrap(), damaged[offset..]);
    // A second try changes nothing more.
    Embedded::open(options(&data)).unwrap_err();
    fs::write(journal(&data), whole).unwrap();
    let store = workload::open(options(&data)).unwrap();
    assert_eq!(count(&store).await, FOLDS * ITEMS_OF_A_FOLD);
}
