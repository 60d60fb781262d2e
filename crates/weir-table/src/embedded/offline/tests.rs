//! Stores with one fault each: verified, repaired, and opened again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::swap::REPAIRED;
use super::{Effect, FolderReport, RepairReport, repair_folder, verify_folder};
use crate::embedded::base::Base;
use crate::embedded::catalog::table_key;
use crate::embedded::dirty::Space;
use crate::embedded::keys::KeyRange;
use crate::embedded::open::{REPAIRING, write_durably};
use crate::embedded::{Embedded, Options};
use crate::error::Error;
use crate::feed::{POSITIONS_TABLE, positions_spec};
use crate::item::Item;
use crate::request::{Query, Write};
use crate::spec::{IndexSpec, TableSpec};
use crate::store::Store;
use crate::value::Kind;

const TABLE: &str = "things";
/// Folders of the base store.
const ITEMS_KEYSPACE: u32 = 1;
const INDEX_KEYSPACE: u32 = 2;

#[tokio::test]
async fn a_log_on_a_disk_of_its_own_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 20, 20, false).await;
    let (log, aside) = (dir.path().join("log"), dir.path().join("aside"));
    fs::rename(&log, &aside).unwrap();
    fs::create_dir(&log).unwrap();
    let Some(_disk) = weir_testkit::SmallDisk::mount_at(&log, 64) else { return };
    for entry in fs::read_dir(&aside).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), log.join(entry.file_name())).unwrap();
    }
    let repaired = repair_folder(dir.path(), false, &|_, _| {});
    let Err(Error::Invalid { problem, .. }) = repaired else { panic!("{repaired:?}") };
    assert!(problem.contains("is a disk of its own"), "{problem}");
    // Nothing was changed.
    assert!(!dir.path().join(REPAIRING).exists());
    let store = open(dir.path());
    assert_eq!(store.query(&Query::scan(TABLE)).await.unwrap().items.len(), 40);
}

fn options(dir: &Path) -> Options {
    let mut options = Options::new(dir);
    options.segment_bytes_max = 4 * 1024;
    options.memtable_bytes = Some(16 * 1024);
    options.checkpoint_interval = Duration::from_secs(600);
    options.sweep_interval = None;
    options
}

fn open(dir: &Path) -> Store<Embedded> {
    let embedded = Embedded::open(options(dir)).unwrap();
    let key = embedded.cursor_key();
    Store::new(embedded, key)
}

fn item(n: u64) -> Item {
    let item = Item::new().with("PK", format!("p{}", n % 7)).with("SK", format!("{n:05}"));
    item.with("owner", "o").with("n", n).with("ttl", 4_000_000_000u64).with("pad", "x".repeat(150))
}

/// A store with `folded` items in the base store and `logged` more in the log only. A consumer keeps the whole log if
/// `keeps_log`.
async fn written(dir: &Path, folded: u64, logged: u64, keeps_log: bool) {
    write(&open(dir), folded, logged, keeps_log).await;
}

/// A store whose items and index entries are in table files and nowhere else. A thread of the base store writes these files some
/// time after the fold, so the store stays open until they are there.
async fn written_in_tables(dir: &Path, items: u64) {
    let store = open(dir);
    write(&store, items, 0, false).await;
    let is_missing = |keyspace: &u32| table_files(dir, *keyspace).is_empty();
    while [ITEMS_KEYSPACE, INDEX_KEYSPACE].iter().any(is_missing)
        || !store.backend().engine.base.is_calm()
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn write(store: &Store<Embedded>, folded: u64, logged: u64, keeps_log: bool) {
    let spec = TableSpec::new(TABLE, "PK", Kind::S)
        .sort("SK", Kind::S)
        .attribute("owner", Kind::S)
        .index(IndexSpec::new("by-owner", "owner"))
        .ttl("ttl")
        .feed();
    store.create_table(&spec).await.unwrap();
    if keeps_log {
        store.create_table(&positions_spec(POSITIONS_TABLE)).await.unwrap();
        let consumer = Item::new().with("PK", format!("FEED#{TABLE}#c")).with("SK", "SHARD#log");
        store.write(Write::put(POSITIONS_TABLE, consumer)).await.unwrap();
    }
    for n in 0..folded {
        store.write(Write::put(TABLE, item(n)).flushed()).await.unwrap();
    }
    store.backend().checkpoint().await.unwrap();
    for n in folded..folded + logged {
        store.write(Write::put(TABLE, item(n))).await.unwrap();
    }
}

/// The numbers of the items that a store has; the index must have the same.
async fn numbers(dir: &Path) -> Vec<i64> {
    let store = open(dir);
    let mut lists = Vec::new();
    for query in [Query::scan(TABLE), Query::scan(TABLE).index("by-owner")] {
        let items = store.query(&query).await.unwrap().items;
        let mut numbers: Vec<i64> = items.iter().map(|item| item.i64("n").unwrap()).collect();
        numbers.sort_unstable();
        lists.push(numbers);
    }
    assert_eq!(lists[0], lists[1], "items and index");
    assert!(store.backend().verify().await.unwrap().is_sound());
    lists.remove(0)
}

fn verify(dir: &Path) -> FolderReport {
    verify_folder(dir, &|_, _| {}).unwrap()
}

fn effects(report: &FolderReport) -> Vec<Effect> {
    report.damages.iter().map(|damage| damage.effect).collect()
}

/// Repairs, checks that a dry run reports the same, and that the result is sound.
fn repair(dir: &Path) -> RepairReport {
    let before = files(dir);
    let dry = repair_folder(dir, true, &|_, _| {}).unwrap();
    assert_eq!(files(dir), before, "a dry run changes nothing");
    let report = repair_folder(dir, false, &|_, _| {}).unwrap();
    assert_eq!(RepairReport { kept: None, ..report.clone() }, dry);
    let kept = report.kept.as_ref().unwrap();
    assert!(kept.join("store").exists() && kept.join("log").exists());
    let after = verify(dir);
    assert_eq!(after.damages, []);
    assert_eq!((after.items, after.seq), (report.items, report.seq));
    report
}

fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    files(&dir.join("log")).into_keys().collect()
}

fn flip(path: &Path, offset: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn with_base(dir: &Path, change: impl FnOnce(&Base)) {
    let base = Base::open(&dir.join("store"), 0).unwrap();
    change(&base);
    base.persist().unwrap();
}

fn all_to(last: i64) -> Vec<i64> {
    (0..last).collect()
}

#[tokio::test]
async fn a_sound_store_is_verified_without_a_change() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 300, 20, true).await;
    let before = files(dir.path());
    let report = verify(dir.path());
    assert_eq!(report.damages, []);
    assert!(report.table_files > 0, "{report:?}");
    // The consumer's position is an item too.
    assert_eq!((report.tables, report.items, report.index_entries), (2, 321, 320));
    assert_eq!(report.ttl_entries, 320);
    assert_eq!(report.log_records, report.seq);
    assert_eq!(files(dir.path()), before);
    assert_eq!(numbers(dir.path()).await, all_to(320));
}

#[tokio::test]
async fn a_store_in_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 3, 0, true).await;
    let _open = open(dir.path());
    let refused = verify_folder(dir.path(), &|_, _| {}).unwrap_err();
    assert!(matches!(refused, Error::InUse { .. }), "{refused:?}");
    let refused = repair_folder(dir.path(), false, &|_, _| {}).unwrap_err();
    assert!(matches!(refused, Error::InUse { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_flipped_byte_at_the_head_of_the_log_concerns_the_feed_only() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 100, 10, true).await;
    let first = segments(dir.path()).remove(0);
    flip(&first, 80);
    let report = verify(dir.path());
    assert_eq!(effects(&report), [Effect::FeedOnly]);
    assert_eq!((&report.damages[0].path, report.damages[0].offset), (&first, Some(16)));
    assert_eq!(numbers(dir.path()).await, all_to(110));
    let report = repair(dir.path());
    assert_eq!((report.losses.len(), report.replayed), (0, 0));
    assert_eq!(numbers(dir.path()).await, all_to(110));
}

#[tokio::test]
async fn a_flipped_byte_in_the_middle_of_the_log_costs_one_commit() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 100, 40, true).await;
    let logs = segments(dir.path());
    let middle = &logs[logs.len() - 2];
    flip(middle, 60);
    let report = verify(dir.path());
    assert_eq!(effects(&report), [Effect::Lost]);
    assert_eq!(report.damages[0].path, *middle);
    assert!(!report.is_sound());
    let refused = Embedded::open(options(dir.path())).unwrap_err();
    assert!(refused.to_string().contains("weir repair"), "{refused}");
    let report = repair(dir.path());
    assert_eq!(report.losses.len(), 1, "{report:?}");
    assert!(report.losses[0].what.contains("commit"), "{report:?}");
    assert_eq!(report.replayed, 39);
    assert_eq!(numbers(dir.path()).await.len(), 139);
}

#[tokio::test]
async fn a_torn_tail_of_the_log_is_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 100, 10, true).await;
    let last = segments(dir.path()).pop().unwrap();
    let bytes = fs::read(&last).unwrap();
    fs::write(&last, &bytes[..bytes.len() - 30]).unwrap();
    let report = verify(dir.path());
    assert_eq!(effects(&report), [Effect::Recovered]);
    assert!(report.is_sound());
    assert_eq!(repair(dir.path()).losses, []);
    assert_eq!(numbers(dir.path()).await, all_to(109));
}

#[tokio::test]
async fn a_missing_segment_costs_its_commits() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 100, 60, true).await;
    let logs = segments(dir.path());
    fs::remove_file(&logs[logs.len() - 2]).unwrap();
    let report = verify(dir.path());
    assert_eq!(effects(&report), [Effect::Lost]);
    assert_eq!(report.damages[0].path, logs[logs.len() - 1]);
    let report = repair(dir.path());
    assert_eq!(report.losses.len(), 1, "{report:?}");
    let left = numbers(dir.path()).await;
    assert!((101..160).contains(&left.len()), "{}", left.len());
    assert_eq!(left[..100], all_to(100));
}

#[tokio::test]
async fn a_missing_log_leaves_the_base_store() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 100, 10, true).await;
    let logs = segments(dir.path());
    for (number, path) in logs.iter().enumerate().rev() {
        fs::remove_file(path).unwrap();
        // The last segment has commits that are not folded, and the one before has the last folded ones.
        if number < logs.len() - 2 {
            assert_eq!(effects(&verify(dir.path())), [Effect::Lost], "segment {number}");
            Embedded::open(options(dir.path())).unwrap_err();
        }
    }
    assert_eq!(repair(dir.path()).items, 101);
    assert_eq!(numbers(dir.path()).await, all_to(100));
}

fn table_files(dir: &Path, keyspace: u32) -> Vec<PathBuf> {
    let folder = dir.join(format!("store/keyspaces/{keyspace}/tables"));
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[tokio::test]
async fn a_damaged_table_file_is_named_and_the_rest_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    // The log is trimmed: only the base store has the first items.
    written_in_tables(dir.path(), 400).await;
    let table = table_files(dir.path(), ITEMS_KEYSPACE).remove(0);
    flip(&table, 2_000);
    let report = verify(dir.path());
    assert!(!report.is_sound());
    let named = report.damages.iter().find(|damage| damage.what.contains("checksum is wrong"));
    let named = named.unwrap_or_else(|| panic!("{report:?}"));
    assert_eq!((&named.path, named.effect), (&table, Effect::Lost));
    let report = repair(dir.path());
    assert!(!report.losses.is_empty());
    let left = numbers(dir.path()).await.len() as u64;
    assert_eq!(report.items, left);
    assert!((200..400).contains(&left), "{left} items");
}

#[tokio::test]
async fn a_damaged_index_is_rebuilt_without_loss() {
    let dir = tempfile::tempdir().unwrap();
    written_in_tables(dir.path(), 400).await;
    fs::remove_file(table_files(dir.path(), INDEX_KEYSPACE).remove(0)).unwrap();
    assert_eq!(effects(&verify(dir.path())).first(), Some(&Effect::Lost));
    let report = repair(dir.path());
    assert!(report.losses.iter().all(|loss| loss.effect == Effect::Entries), "{report:?}");
    assert_eq!(numbers(dir.path()).await, all_to(400));
}

#[tokio::test]
async fn an_unreadable_base_store_leaves_what_the_log_has() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 100, 10, true).await;
    fs::write(dir.path().join("store/keyspaces/0/current"), b"nothing").unwrap();
    assert_eq!(effects(&verify(dir.path())), [Effect::Lost]);
    let report = repair(dir.path());
    assert_eq!(numbers(dir.path()).await, all_to(110), "{report:?}");
}

#[tokio::test]
async fn a_missing_base_store_leaves_what_the_log_has() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 100, 10, true).await;
    fs::remove_dir_all(dir.path().join("store")).unwrap();
    assert_eq!(effects(&verify(dir.path())), [Effect::Lost]);
    let report = repair_folder(dir.path(), false, &|_, _| {}).unwrap();
    assert_eq!((report.items, report.replayed), (111, 113));
    assert_eq!(numbers(dir.path()).await, all_to(110));
    let mode = |name: &str| {
        let meta = fs::metadata(dir.path().join(name)).unwrap();
        std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o777
    };
    assert_eq!(mode("damaged"), 0o700);
}

#[tokio::test]
async fn missing_and_orphaned_entries_are_found_and_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 50, 0, true).await;
    with_base(dir.path(), |base| {
        for space in [Space::Index, Space::Ttl] {
            let range = KeyRange { low: Vec::new(), high: vec![0xff; 8] };
            let entries: Vec<_> = base.range(space, &range, false).map(Result::unwrap).collect();
            let ((key, value), rest) = entries.split_first().unwrap();
            base.remove(space, vec![key.clone()]).unwrap();
            let mut orphan = key.to_vec();
            let at = if space == Space::Ttl { 7 } else { orphan.len() - 3 };
            orphan[at] ^= 1;
            base.load([(space, orphan, value.to_vec())], None).unwrap();
            assert!(!rest.is_empty());
        }
    });
    let report = verify(dir.path());
    assert_eq!(effects(&report), [Effect::Entries; 4], "{report:?}");
    assert_eq!(repair(dir.path()).losses, []);
    assert_eq!(numbers(dir.path()).await, all_to(50));
}

#[tokio::test]
async fn a_damaged_catalog_is_taken_from_the_log() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 50, 5, true).await;
    with_base(dir.path(), |base| {
        base.load([(Space::Meta, table_key(TABLE), b"{".to_vec())], None).unwrap();
    });
    assert!(effects(&verify(dir.path())).contains(&Effect::Lost));
    assert_eq!(repair(dir.path()).losses, []);
    assert_eq!(numbers(dir.path()).await, all_to(55));
}

#[tokio::test]
async fn a_declaration_that_is_nowhere_is_reported_with_its_items() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 100, 5, false).await;
    with_base(dir.path(), |base| {
        base.load([(Space::Meta, table_key(TABLE), b"{".to_vec())], None).unwrap();
    });
    let report = repair(dir.path());
    let said: Vec<&str> = report.losses.iter().map(|loss| loss.what.as_str()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("\"things\""), "{said:?}");
    assert!(said[1].starts_with("100 items and 5 later changes"), "{said:?}");
}

#[tokio::test]
async fn a_repair_that_was_killed_is_finished_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 50, 0, true).await;
    let path = dir.path();
    // Killed after the first of two renames of the base store.
    repair_folder(path, false, &|_, _| {}).unwrap();
    fs::create_dir(path.join(REPAIRED)).unwrap();
    fs::rename(path.join("store"), path.join(REPAIRED).join("store")).unwrap();
    write_durably(path, REPAIRING, b"2\n").unwrap();
    let refused = Embedded::open(options(path)).unwrap_err();
    assert!(refused.to_string().contains("run `weir repair` again"), "{refused}");
    assert!(repair_folder(path, false, &|_, _| {}).unwrap().finished_interrupted);
    assert_eq!(numbers(path).await, all_to(50));
}

#[tokio::test]
async fn a_damaged_cursor_key_and_format_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), 5, 0, true).await;
    fs::write(dir.path().join("cursor.key"), b"short").unwrap();
    fs::write(dir.path().join("FORMAT"), b"?").unwrap();
    let report = repair_folder(dir.path(), false, &|_, _| {}).unwrap();
    let paths: Vec<_> = report.losses.iter().filter_map(|loss| loss.path.file_name()).collect();
    assert_eq!(paths, ["FORMAT", "cursor.key"]);
    assert_eq!(numbers(dir.path()).await, all_to(5));
}
