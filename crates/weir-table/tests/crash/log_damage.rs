//! Damaged logs: a torn end is cut, damage before what was synced is reported, nothing is skipped.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_table::embedded::{Embedded, Options};
use weir_table::feed::Position;
use weir_table::{Error, Item, Query, Store, Write};

use crate::check;
use crate::folder::{self, Folder};
use crate::seed::Random;
use crate::workload::{self, MAIN};

/// Bytes before the first record of a file, and of a record before its body.
const FILE_HEADER: usize = 16;
const RECORD_HEADER: usize = 40;

fn options(data: &Path) -> Options {
    let mut options = Options::new(data);
    options.segment_bytes_max = 2_000;
    // Nothing is folded: opening has to replay the whole log.
    options.checkpoint_interval = Duration::from_secs(600);
    options.sync_interval = Duration::from_secs(600);
    options.sweep_interval = None;
    options
}

fn item(n: u64) -> Item {
    Item::new().with("PK", "p").with("SK", format!("{n:04}")).with("G1", "a").with("G1S", n)
}

/// A store with `count` items, one record each.
async fn written(folder: &Folder, count: u64, synced: bool) -> PathBuf {
    let data = folder.data();
    let store = workload::open(options(&data)).unwrap();
    workload::prepare(&store).await.unwrap();
    for n in 0..count {
        let write = Write::put(MAIN, item(n));
        let write = if synced { write } else { write.flushed() };
        store.write(write).await.unwrap();
    }
    data
}

async fn count(store: &Store<Embedded>) -> u64 {
    let items = check::scan(store, Query::scan(MAIN)).await;
    let indexed = check::scan(store, Query::scan(MAIN).index("all")).await;
    assert_eq!(items.len(), indexed.len());
    for n in 0..items.len() as u64 {
        assert!(items.contains(&item(n)), "item {n} of {}", items.len());
    }
    items.len() as u64
}

/// Where the records of a file are.
fn records(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = FILE_HEADER;
    while at < bytes.len() {
        assert_eq!(&bytes[at..at + 4], b"WrC1");
        let body = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap());
        let end = at + RECORD_HEADER + body as usize;
        found.push(at..end);
        at = end;
    }
    found
}

fn put_back(log: &[(PathBuf, Vec<u8>)]) {
    for (path, bytes) in log {
        fs::write(path, bytes).unwrap();
    }
}

/// Opening names the place of the damage and leaves the log as it is.
fn assert_refused(data: &Path, path: &Path, offset: usize) {
    let before = folder::log_bytes(data);
    let refused = Embedded::open(options(data));
    let Err(Error::Corrupt { path: found, offset: at, .. }) = &refused else {
        panic!("damage at {offset} of {}: {refused:?}", path.display())
    };
    assert_eq!((found.as_path(), *at), (path, offset as u64));
    assert_eq!(folder::log_bytes(data), before, "nothing is changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_torn_at_any_byte_is_cut() {
    let folder = Folder::new();
    let data = written(&folder, 20, true).await;
    let log = folder::log_bytes(&data);
    let (path, bytes) = log.last().unwrap();
    let last = records(bytes).pop().unwrap();
    for end in last.clone() {
        put_back(&log);
        fs::write(path, &bytes[..end]).unwrap();
        let store = workload::open(options(&data)).unwrap();
        let cut = store.backend().stats().cut_bytes;
        assert_eq!(cut, (end - last.start) as u64);
        assert_eq!(count(&store).await, 19);
        if end % 16 == 0 {
            // What is written after a cut is found again.
            store.write(Write::put(MAIN, item(19))).await.unwrap();
            drop(store);
            let store = workload::open(options(&data)).unwrap();
            assert_eq!(store.backend().stats().cut_bytes, 0);
            assert_eq!(count(&store).await, 20);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_after_the_last_record_is_cut() {
    let folder = Folder::new();
    let data = written(&folder, 20, true).await;
    let log = folder::log_bytes(&data);
    let (path, bytes) = log.last().unwrap();
    let mut random = Random::new(1);
    let noise = |len: u64, random: &mut Random| -> Vec<u8> {
        (0..len).map(|_| random.below(256) as u8).collect()
    };
    let first = records(&log[0].1)[0].clone();
    let stale = log[0].1[first.clone()].to_vec();
    let mut tails = vec![vec![0; 1], vec![0; 4096], b"WrC1".to_vec(), stale];
    tails.push(bytes[bytes.len() - 60..].to_vec());
    tails.extend((0..20).map(|_| {
        let len = 1 + random.below(3000);
        noise(len, &mut random)
    }));
    for tail in tails {
        put_back(&log);
        fs::write(path, [bytes.as_slice(), &tail].concat()).unwrap();
        let store = workload::open(options(&data)).unwrap();
        assert_eq!(store.backend().stats().cut_bytes, tail.len() as u64);
        assert_eq!(count(&store).await, 20);
        store.write(Write::put(MAIN, item(20))).await.unwrap();
        drop(store);
        let store = workload::open(options(&data)).unwrap();
        assert_eq!(count(&store).await, 21);
        drop(store);
        for path in folder::segments(&data) {
            fs::remove_file(path).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_bit_in_the_last_record_is_cut() {
    let folder = Folder::new();
    let data = written(&folder, 20, true).await;
    let log = folder::log_bytes(&data);
    let (path, bytes) = log.last().unwrap();
    let last = records(bytes).pop().unwrap();
    for offset in last.clone() {
        put_back(&log);
        folder::flip(path, offset);
        let store = workload::open(options(&data)).unwrap();
        assert_eq!(store.backend().stats().cut_bytes, last.len() as u64);
        assert_eq!(count(&store).await, 19);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_before_a_synced_record_is_reported() {
    let folder = Folder::new();
    let data = written(&folder, 80, true).await;
    let log = folder::log_bytes(&data);
    assert!(log.len() > 3, "{} files", log.len());
    let all = log
        .iter()
        .flat_map(|(path, bytes)| records(bytes).into_iter().map(move |range| (path, range)));
    let all: Vec<_> = all.collect();
    let mut random = Random::new(2);
    for (path, range) in &all[..all.len() - 1] {
        for offset in [
            range.start,
            range.start + RECORD_HEADER - 1,
            range.start + random.below(range.len() as u64) as usize,
        ] {
            put_back(&log);
            folder::flip(path, offset);
            assert_refused(&data, path, range.start);
        }
    }
    for (path, _) in &log[..log.len() - 1] {
        for offset in [0, 7, 8, 15] {
            put_back(&log);
            folder::flip(path, offset);
            assert_refused(&data, path, 0);
        }
    }
    put_back(&log);
    assert_eq!(count(&workload::open(options(&data)).unwrap()).await, 80);
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_among_records_that_were_never_synced_is_cut() {
    let folder = Folder::new();
    let data = written(&folder, 40, false).await;
    let log = folder::log_bytes(&data);
    for (number, (path, bytes)) in log.iter().enumerate().skip(1) {
        put_back(&log);
        let second = &records(bytes)[1];
        folder::flip(path, second.start + 50);
        let store = workload::open(options(&data)).unwrap();
        let later: usize = log[number + 1..].iter().map(|(_, bytes)| bytes.len()).sum();
        let cut = bytes.len() - second.start + later;
        assert_eq!(store.backend().stats().cut_bytes, cut as u64);
        let left = count(&store).await;
        assert!((1..40).contains(&left));
        store.write(Write::put(MAIN, item(left))).await.unwrap();
        drop(store);
        let store = workload::open(options(&data)).unwrap();
        assert_eq!(count(&store).await, left + 1);
        drop(store);
        for path in folder::segments(&data) {
            fs::remove_file(path).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_file_is_reported() {
    let folder = Folder::new();
    let data = written(&folder, 60, true).await;
    let log = folder::log_bytes(&data);
    // One in the middle: the next does not follow.
    fs::remove_file(&log[2].0).unwrap();
    assert_refused(&data, &log[3].0, 0);
    put_back(&log);
    // The first that is needed.
    fs::remove_file(&log[0].0).unwrap();
    assert_refused(&data, &log[1].0, 0);
    put_back(&log);
    // All, or the last ones, of a store that has been folded further.
    let store = workload::open(options(&data)).unwrap();
    store.backend().close().await.unwrap();
    drop(store);
    let log = folder::log_bytes(&data);
    for (path, _) in &log {
        fs::remove_file(path).unwrap();
    }
    assert_refused(&data, &data.join("log"), 0);
    put_back(&log);
    fs::remove_file(&log.last().unwrap().0).unwrap();
    assert_refused(&data, &data.join("log"), 0);
    put_back(&log);
    assert_eq!(count(&workload::open(options(&data)).unwrap()).await, 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_only_begun_is_no_damage() {
    let folder = Folder::new();
    let data = written(&folder, 30, true).await;
    let store = workload::open(options(&data)).unwrap();
    let next = store.backend().stats().last_seq + 1;
    drop(store);
    let path = data.join("log").join(format!("{next:020}.log"));
    let header = [b"WEIRLOG\x01".as_slice(), &next.to_le_bytes()].concat();
    for len in [0, 1, 7, 15, 16] {
        fs::write(&path, &header[..len]).unwrap();
        let store = workload::open(options(&data)).unwrap();
        assert_eq!(count(&store).await, 30);
        drop(store);
    }
    // A header that never reached the disk, and records that did not either.
    fs::write(&path, vec![0; 500]).unwrap();
    let store = workload::open(options(&data)).unwrap();
    assert_eq!(store.backend().stats().cut_bytes, 500);
    assert_eq!(count(&store).await, 30);
    store.write(Write::put(MAIN, item(30))).await.unwrap();
    drop(store);
    let store = workload::open(options(&data)).unwrap();
    assert_eq!(count(&store).await, 31);
}

async fn read_feed(store: &Store<Embedded>) -> Result<usize, Error> {
    let (mut from, mut count) = (Position::Oldest, 0);
    loop {
        let page = store.feed_read(MAIN, "log", &from, 7).await?;
        if page.changes.is_empty() {
            return Ok(count);
        }
        count += page.changes.len();
        from = page.next;
    }
}

/// Reads the feed as a consumer does: after damage it continues with the latest change.
async fn read_feed_to_damage(store: &Store<Embedded>) -> usize {
    let (mut from, mut count) = (Position::Oldest, 0);
    loop {
        match store.feed_read(MAIN, "log", &from, 7).await {
            Ok(page) => {
                assert!(!page.changes.is_empty(), "the feed passed over damage after {count}");
                count += page.changes.len();
                from = page.next;
            }
            Err(error) => {
                assert!(matches!(error, Error::Trimmed), "{error:?}");
                return count;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_never_passes_over_damage() {
    let folder = Folder::new();
    let data = written(&folder, 60, true).await;
    let store = workload::open(options(&data)).unwrap();
    store.backend().close().await.unwrap();
    assert_eq!(read_feed(&store).await.unwrap(), 60);
    drop(store);
    // Older than anything that opening has to replay, so only a reader of the feed meets it.
    let log = folder::log_bytes(&data);
    let damaged = |what: &'static str| {
        let data = data.clone();
        async move {
            let store = workload::open(options(&data)).unwrap();
            assert_eq!(count(&store).await, 60);
            let before = read_feed_to_damage(&store).await;
            assert!((1..60).contains(&before), "{what}: {before} changes");
        }
    };
    folder::flip(&log[1].0, records(&log[1].1)[1].start + 45);
    damaged("a changed bit").await;
    put_back(&log);
    fs::remove_file(&log[1].0).unwrap();
    damaged("a missing file").await;
    put_back(&log);
    let second = records(&log[1].1)[1].clone();
    fs::write(&log[1].0, &log[1].1[..second.start]).unwrap();
    damaged("a file cut between two records").await;
    fs::write(&log[1].0, &log[1].1[..second.start + 20]).unwrap();
    damaged("a file cut within a record").await;
    put_back(&log);
    let store = workload::open(options(&data)).unwrap();
    assert_eq!(read_feed(&store).await.unwrap(), 60);
}

/// Every record is folded; the last file of the log is read on opening all the same.
async fn folded(folder: &Folder, count: u64) -> PathBuf {
    let data = written(folder, count, true).await;
    let store = workload::open(options(&data)).unwrap();
    store.backend().close().await.unwrap();
    data
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_in_the_folded_part_of_the_log_blocks_nothing() {
    let folder = Folder::new();
    let data = folded(&folder, 20).await;
    let log = folder::log_bytes(&data);
    let (path, bytes) = log.last().unwrap();
    let all = records(bytes);
    assert!(all.len() > 2, "{} records", all.len());
    let mut random = Random::new(7);
    let in_records = all.iter().flat_map(|range| {
        let body = range.start + RECORD_HEADER + random.below(range.len() as u64 - 40) as usize;
        [range.start, range.start + 5, range.start + 13, range.start + 39, body]
    });
    let offsets: Vec<usize> = [0, 9].into_iter().chain(in_records).collect();
    for offset in offsets {
        let data = folder.path().join(format!("flipped-{offset}"));
        folder::copy(&folder.data(), &data);
        folder::flip(&data.join("log").join(path.file_name().unwrap()), offset);
        let store = workload::open(options(&data)).unwrap();
        assert_eq!(count(&store).await, 20, "byte {offset}");
        let backup = folder.path().join(format!("backup-{offset}"));
        store.backend().backup(&backup, None, |_, _| {}).await.unwrap();
        // A consumer that restarts from the latest change follows what is written from now on.
        let latest = store.feed_read(MAIN, "log", &Position::Latest, 7).await.unwrap();
        store.write(Write::put(MAIN, item(20))).await.unwrap();
        let next = store.feed_read(MAIN, "log", &latest.next, 7).await.unwrap();
        assert_eq!(next.changes.len(), 1, "byte {offset}");
        drop(store);
        let store = workload::open(options(&data)).unwrap();
        assert_eq!(count(&store).await, 21, "byte {offset}");
        assert!(store.backend().verify().await.unwrap().is_sound());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_in_the_unfolded_part_of_the_log_points_to_repair() {
    let folder = Folder::new();
    let data = folded(&folder, 20).await;
    let store = workload::open(options(&data)).unwrap();
    for n in 20..25 {
        store.write(Write::put(MAIN, item(n))).await.unwrap();
    }
    drop(store);
    let log = folder::log_bytes(&data);
    let (path, bytes) = log.last().unwrap();
    let all = records(bytes);
    let unfolded = &all[all.len() - 4];
    folder::flip(path, unfolded.start + 45);
    // Damage before it changes nothing.
    folder::flip(path, all[0].start + 45);
    let refused = Embedded::open(options(&data));
    let Err(Error::Corrupt { offset, what, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(offset, unfolded.start as u64);
    assert!(what.contains("weir repair"), "{what}");
}
