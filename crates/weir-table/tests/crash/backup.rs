//! Backups taken under load, and what is made of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use weir_table::embedded::{self, Embedded, Options, Passphrase};
use weir_table::feed::Position;
use weir_table::{Error, Item, Query, Write};
use weir_testkit::eventually;

use crate::check::{self, Model};
use crate::folder::{self, Folder};
use crate::seed::{self, Random};
use crate::workload::{self, Ack, MAIN, Run};

/// Writes that are answered before a backup begins.
const ANSWERED_MIN: usize = 100;

fn options(data: &Path) -> Options {
    let mut options = Options::new(data);
    options.sweep_interval = None;
    options
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_is_the_store_at_one_moment() {
    for seed in seed::seeds(4, 100) {
        eprintln!("backup: WEIR_TEST_SEED={seed}");
        let mut random = Random::of(&[seed, 9]);
        let folder = Folder::new();
        let mut busy = workload::options(&folder.data(), &mut random);
        busy.sweep_interval = None;
        let store = workload::open(busy).unwrap();
        workload::prepare(&store).await.unwrap();
        let acks: Arc<Mutex<Vec<Ack>>> = Arc::default();
        let run = Run::new(seed, Model::new(seed).done());
        let writing = {
            let (run, store, acks) = (run.clone(), store.clone(), Arc::clone(&acks));
            tokio::spawn(
                async move { run.go(&store, move |ack| acks.lock().unwrap().push(ack)).await },
            )
        };
        eventually(async || (acks.lock().unwrap().len() >= ANSWERED_MIN).then_some(())).await;
        let before = acks.lock().unwrap().clone();
        let (to, restored) = (folder.path().join("backup"), folder.path().join("restored"));
        let report = store.backend().backup(&to, None, |_, _| {}).await.unwrap();
        let after = acks.lock().unwrap().clone();
        run.stop.store(true, Ordering::Relaxed);
        assert!(writing.await.unwrap().is_empty());
        let made = embedded::restore(&to, &restored, None, &|_, _| {}).unwrap();
        assert_eq!(made, report);
        let copy = workload::open(options(&restored)).unwrap();
        let stats = copy.backend().stats();
        assert_eq!((stats.last_seq, stats.replayed), (report.seq, 0));
        // All that was answered before it, and nothing that was asked after it.
        let mut model = Model::new(seed);
        model.forget_feed();
        model.note(after);
        model.check_with(&copy, &before).await;
        // The copy is a store of its own.
        let run = Run { steps_max: 5, ..Run::new(seed, model.done()) };
        let acks: Arc<Mutex<Vec<Ack>>> = Arc::default();
        let received = Arc::clone(&acks);
        let failures = run.go(&copy, move |ack| received.lock().unwrap().push(ack)).await;
        assert!(failures.is_empty(), "{failures:?}");
        model.note(acks.lock().unwrap().drain(..));
        model.check(&copy).await;
    }
}

fn item(n: u64) -> Item {
    Item::new().with("PK", "p").with("SK", format!("{n:04}")).with("n", n)
}

/// A store of `count` items and its backup.
async fn backed_up(folder: &Folder, count: u64) -> std::path::PathBuf {
    let store = workload::open(options(&folder.data())).unwrap();
    workload::prepare(&store).await.unwrap();
    for n in 0..count {
        store.write(Write::put(MAIN, item(n)).flushed()).await.unwrap();
    }
    let to = folder.path().join("backup");
    store.backend().backup(&to, None, |_, _| {}).await.unwrap();
    to
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_is_refused_and_leaves_nothing() {
    let folder = Folder::new();
    let from = backed_up(&folder, 50).await;
    let to = folder.path().join("restored");
    let restore = || embedded::restore(&from, &to, None, &|_, _| {});
    let (data, manifest) = (from.join("data.weir"), from.join("manifest.json"));
    let (sound, finished) = (fs::read(&data).unwrap(), fs::read(&manifest).unwrap());
    let assert_nothing = || assert!(!to.exists() || fs::read_dir(&to).unwrap().next().is_none());
    let mut random = Random::new(3);
    for _ in 0..30 {
        fs::write(&data, &sound).unwrap();
        folder::flip(&data, random.below(sound.len() as u64) as usize);
        let refused = restore();
        assert!(matches!(refused, Err(Error::Corrupt { .. })), "{refused:?}");
        assert_nothing();
    }
    for len in [0, 1, sound.len() / 2, sound.len() - 1] {
        fs::write(&data, &sound[..len]).unwrap();
        assert!(matches!(restore(), Err(Error::Corrupt { .. })));
        assert_nothing();
    }
    fs::write(&data, &sound).unwrap();
    // A backup that did not finish has no manifest, or half of one.
    fs::write(&manifest, &finished[..finished.len() / 2]).unwrap();
    assert!(restore().is_err());
    fs::remove_file(&manifest).unwrap();
    let refused = restore().unwrap_err();
    assert!(refused.to_string().contains("not a finished backup"));
    assert_nothing();
    fs::write(&manifest, &finished).unwrap();
    restore().unwrap();
    let store = workload::open(options(&to)).unwrap();
    assert_eq!(check::scan(&store, Query::scan(MAIN)).await.len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_beside_the_store_are_backed_up_and_restored() {
    let folder = Folder::new();
    let data = folder.data();
    let backup_folders = vec!["files".to_owned(), "missing".to_owned()];
    let store = workload::open(Options { backup_folders, ..options(&data) }).unwrap();
    fs::create_dir_all(data.join("files/a/ö")).unwrap();
    fs::create_dir_all(data.join("others")).unwrap();
    let files = [("files/1", &b"one"[..]), ("files/a/ö/2.json", b""), ("files/a/3", &[7; 70_000])];
    for (name, content) in files.into_iter().chain([("others/4", &b"four"[..])]) {
        fs::write(data.join(name), content).unwrap();
    }
    let (from, to) = (folder.path().join("backup"), folder.path().join("restored"));
    let report = store.backend().backup(&from, None, |_, _| {}).await.unwrap();
    assert_eq!(report.files.unwrap().count, 3);
    assert_eq!(embedded::restore(&from, &to, None, &|_, _| {}).unwrap(), report);
    for (name, content) in files {
        assert!(fs::read(to.join(name)).unwrap() == content, "{name}");
    }
    assert!(!to.join("others").exists());
    // A damaged file is found before anything is written.
    let packed = from.join("files.weir");
    folder::flip(&packed, fs::read(&packed).unwrap().len() / 2);
    let again = folder.path().join("again");
    let refused = embedded::restore(&from, &again, None, &|_, _| {});
    assert!(matches!(refused, Err(Error::Corrupt { .. })), "{refused:?}");
    assert!(!again.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_newer_format_is_refused() {
    let folder = Folder::new();
    let from = backed_up(&folder, 3).await;
    let manifest = from.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"format\": 1", "\"format\": 2")).unwrap();
    let refused = embedded::restore(&from, &folder.path().join("restored"), None, &|_, _| {});
    assert!(matches!(refused, Err(Error::NewerFormat { found: 2, known: 1, .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_a_backup_nor_a_restore_writes_into_a_folder_in_use() {
    let folder = Folder::new();
    let from = backed_up(&folder, 3).await;
    let refused = embedded::restore(&from, &folder.data(), None, &|_, _| {});
    assert_eq!(refused.unwrap_err().field(), Some("folder"));
    let store = workload::open(options(&folder.data())).unwrap();
    let refused = store.backend().backup(&from, None, |_, _| {}).await;
    assert_eq!(refused.unwrap_err().field(), Some("folder"));
    assert_eq!(check::scan(&store, Query::scan(MAIN)).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_was_killed_is_not_taken_for_a_store() {
    let folder = Folder::new();
    let from = backed_up(&folder, 3).await;
    let to = folder.path().join("restored");
    embedded::restore(&from, &to, None, &|_, _| {}).unwrap();
    // What stands in the folder until the last byte of it is durable.
    fs::write(to.join("RESTORING"), "").unwrap();
    let refused = Embedded::open(options(&to)).unwrap_err();
    assert!(refused.to_string().contains("did not finish"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_continues_after_a_restore() {
    let folder = Folder::new();
    let from = backed_up(&folder, 30).await;
    let store = workload::open(options(&folder.data())).unwrap();
    let read = |store: &weir_table::Store<Embedded>, from: Position| {
        let store = store.clone();
        async move { store.feed_read(MAIN, "log", &from, 100).await }
    };
    let old = store.feed_read(MAIN, "log", &Position::Oldest, 10).await.unwrap().next;
    let at_the_backup = read(&store, Position::Oldest).await.unwrap().next;
    for n in 30..60 {
        store.write(Write::put(MAIN, item(n))).await.unwrap();
    }
    let ahead = read(&store, at_the_backup.clone()).await.unwrap().next;
    drop(store);
    let to = folder.path().join("restored");
    embedded::restore(&from, &to, None, &|_, _| {}).unwrap();
    let store = workload::open(options(&to)).unwrap();
    store.write(Write::put(MAIN, item(99))).await.unwrap();
    // Who had read everything up to the backup goes on; the others must look at everything.
    let page = read(&store, at_the_backup).await.unwrap();
    assert_eq!(page.changes.len(), 1);
    assert_eq!(page.changes[0].images().unwrap().1, Some(item(99)));
    for position in [old, ahead] {
        let changes = read(&store, position).await;
        assert!(matches!(changes, Err(Error::Trimmed)), "{changes:?}");
    }
    let page = read(&store, Position::Oldest).await.unwrap();
    assert_eq!(page.changes.len(), 1);
}

/// Modes of a folder and everything below it, without the type of the file.
fn modes(path: &Path) -> Vec<(bool, u32)> {
    let about = fs::symlink_metadata(path).unwrap();
    let mut all = vec![(about.is_dir(), about.permissions().mode() & 0o777)];
    if about.is_dir() {
        let entries = fs::read_dir(path).unwrap();
        all.extend(entries.flat_map(|entry| modes(&entry.unwrap().path())));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_encrypted_with_the_passphrase_and_restored_with_it() {
    let folder = Folder::new();
    let keyed =
        Options { key_files: vec!["app.key".into(), "none.key".into()], ..options(&folder.data()) };
    let store = workload::open(keyed).unwrap();
    fs::write(folder.data().join("app.key"), "a key of the application").unwrap();
    let (from, to) = (folder.path().join("backup"), folder.path().join("restored"));
    let passphrase = Passphrase::new("correct horse battery").unwrap();
    let backup = store.backend().backup(&from, Some(passphrase.clone()), |_, _| {});
    let report = backup.await.unwrap();
    assert_eq!(report.keys.unwrap().count, 2);
    for (is_folder, mode) in modes(&from) {
        assert_eq!(mode, if is_folder { 0o700 } else { 0o600 });
    }
    let sealed = fs::read_to_string(from.join("keys.weir")).unwrap();
    assert!(!sealed.contains("application") && !sealed.contains("app.key"), "{sealed}");

    let restore = |passphrase: Option<&Passphrase>, to: &Path| {
        embedded::restore(&from, to, passphrase, &|_, _| {})
    };
    let wrong = Passphrase::new("correct horse batterie").unwrap();
    assert_eq!(restore(Some(&wrong), &to).unwrap_err().field(), Some("passphrase"));
    assert!(!to.exists());
    restore(Some(&passphrase), &to).unwrap();
    for key in ["app.key", "cursor.key"] {
        let read = |folder: &Path| fs::read(folder.join(key)).unwrap();
        assert_eq!(read(&to), read(&folder.data()), "{key}");
        assert_eq!(modes(&to.join(key)), [(false, 0o600)]);
    }
    let without = folder.path().join("without");
    restore(None, &without).unwrap();
    assert!(!without.join("app.key").exists() && !without.join("cursor.key").exists());

    fs::write(from.join("keys.weir"), sealed.replacen('A', "B", 1)).unwrap();
    let damaged = restore(Some(&passphrase), &folder.path().join("again"));
    assert!(matches!(damaged, Err(Error::Corrupt { .. })), "{damaged:?}");
}
